// SPDX-License-Identifier: Apache-2.0
// Reads the records of the last calibration; the nearest class that has one.
#include "workloads/validation/error_bands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "sim/core/config_value.hpp"
#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"
#include "workloads/validation/validation.hpp"

namespace warploom {

namespace {

constexpr const char* records_name = "calibration/residuals";

std::string text_of(const ConfigValue& record, std::string_view key) {
  const auto value = record.find(key);
  return value ? value->text() : std::string();
}

std::optional<double> number_of(const ConfigValue& record, std::string_view key) {
  const auto value = record.find(key);
  if (!value || value->is_null()) return {};
  const std::string& text = value->text();
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) return number;
  throw ConfigError(Diagnostic{value->origin(), Severity::error, value->path(),
                               "expected a number, got " + value->description(),
                               "`warploom calibrate` writes this file"});
}

ErrorBand band_of(const ConfigValue& record) {
  ErrorBand band;
  band.kind = text_of(record, "kind");
  band.device = text_of(record, "device");
  band.dtype = text_of(record, "dtype");
  band.size_class = text_of(record, "class");
  band.rows = static_cast<std::int64_t>(number_of(record, "rows").value_or(0));
  band.mape = number_of(record, "mape").value_or(0);
  band.leave_one_set_out_mape = number_of(record, "leave_one_set_out_mape");
  band.ratio_p10 = number_of(record, "p10").value_or(1);
  band.ratio_p90 = number_of(record, "p90").value_or(1);
  return band;
}

}  // namespace

ErrorBands ErrorBands::load(const Library& library) {
  if (library.find(records_name).empty()) return {};
  const ConfigValue file = load_config(library.path_of(records_name), {}, library);
  std::vector<ErrorBand> bands;
  if (const auto records = file.find("records")) {
    for (const ConfigValue& record : records->items()) bands.push_back(band_of(record));
  }
  return ErrorBands(std::move(bands));
}

const ErrorBand* ErrorBands::find(std::string_view kind, std::string_view device, std::string_view dtype,
                                  std::string_view size_class) const {
  const auto found = std::find_if(bands_.begin(), bands_.end(), [&](const ErrorBand& band) {
    return band.kind == kind && band.device == device && band.dtype == dtype && band.size_class == size_class;
  });
  return found == bands_.end() ? nullptr : &*found;
}

std::optional<ErrorBand> ErrorBands::band(std::string_view kind, std::string_view device, std::string_view dtype,
                                          std::string_view size_class) const {
  if (const ErrorBand* exact = find(kind, device, dtype, size_class)) return *exact;
  const auto widest = [&](auto&& admits) {
    std::optional<ErrorBand> best;
    for (const ErrorBand& band : bands_) {
      if (band.kind != kind || !admits(band)) continue;
      if (!best || band.ratio_p90 / band.ratio_p10 > best->ratio_p90 / best->ratio_p10) best = band;
    }
    return best;
  };
  if (auto same = widest([&](const ErrorBand& b) { return b.device == device && b.dtype == dtype; })) return same;
  auto other = widest([&](const ErrorBand& b) { return b.device == device && b.size_class == size_class; });
  if (!other) other = widest([&](const ErrorBand& b) { return b.size_class == size_class && b.dtype == dtype; });
  if (!other) other = widest([&](const ErrorBand& b) { return b.size_class == size_class; });
  if (!other) other = widest([&](const ErrorBand&) { return true; });
  if (other) other->is_borrowed = true;
  return other;
}

const ErrorBands& error_bands(ValidationContext& context) {
  return context.lasting_memo<ErrorBands>("error_bands", [&] { return ErrorBands::load(context.library()); });
}

std::string band_class(const RowGroup& group) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : group.keys) parts.push_back(value);
  parts.push_back(group.size_class.empty() ? group.set : group.size_class);
  std::erase(parts, "");
  return join(parts, " ");
}

}  // namespace warploom
