// SPDX-License-Identifier: Apache-2.0
// Reads the records of the last calibration; the nearest class that has one.
#include "workloads/validation/error_bands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>
#include <span>
#include <tuple>

#include "sim/core/config_value.hpp"
#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"
#include "workloads/device_lookup.hpp"
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

// Records of files that a user has calibrated may name devices that the library lacks.
std::vector<BandDevice> devices_of(const std::vector<ErrorBand>& bands, const Library& library) {
  std::set<std::string> names;
  for (const ErrorBand& band : bands) names.insert(band.device);
  std::vector<BandDevice> devices;
  for (const std::string& name : names) {
    if (library.find("devices/" + name).size() != 1) continue;
    devices.push_back(band_device(name, load_device("devices/" + name, {}, library).spec));
  }
  return devices;
}

// The class of a collective: "all_reduce one 8 64 MiB and more".
struct CollectiveClass {
  std::string operation, nodes, size_class;
  std::int64_t ranks = 0;
};

std::optional<CollectiveClass> collective_class(const std::string& text) {
  const auto words = split(text, ' ');
  if (words.size() < 4) return {};
  CollectiveClass result{words[0], words[1], join(std::span(words).subspan(3), " "), 0};
  const auto [end, error] = std::from_chars(words[2].data(), words[2].data() + words[2].size(), result.ranks);
  if (error != std::errc() || end != words[2].data() + words[2].size() || result.ranks < 1) return {};
  return result;
}

// How far apart in proportion: 8 and 16 are as near as 16 and 32.
double log_distance(double a, double b) {
  return a > 0 && b > 0 ? std::abs(std::log(a / b)) : std::numeric_limits<double>::infinity();
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

ErrorBands ErrorBands::load_with_devices(const Library& library) {
  ErrorBands bands = load(library);
  bands.devices_ = devices_of(bands.bands_, library);
  return bands;
}

const ErrorBand* ErrorBands::find(std::string_view kind, std::string_view device, std::string_view dtype,
                                  std::string_view size_class) const {
  const auto found = std::find_if(bands_.begin(), bands_.end(), [&](const ErrorBand& band) {
    return band.kind == kind && band.device == device && band.dtype == dtype && band.size_class == size_class;
  });
  return found == bands_.end() ? nullptr : &*found;
}

bool ErrorBands::has_architecture(std::string_view architecture) const {
  return std::ranges::find(devices_, architecture, &BandDevice::architecture) != devices_.end();
}

const BandDevice* ErrorBands::traits_of(std::string_view device) const {
  const auto found = std::ranges::find(devices_, device, &BandDevice::name);
  return found == devices_.end() ? nullptr : &*found;
}

std::optional<ErrorBand> ErrorBands::band(std::string_view kind, const BandDevice& device, std::string_view dtype,
                                          std::string_view size_class) const {
  if (const ErrorBand* exact = find(kind, device.name, dtype, size_class)) return *exact;
  const ErrorBand* best = nullptr;
  std::tuple<bool, double, std::int64_t> best_distance;  // of another architecture, memory, fewest rows last
  for (const ErrorBand& band : bands_) {
    if (band.kind != kind || band.dtype != dtype || band.size_class != size_class) continue;
    const BandDevice* other = traits_of(band.device);
    if (other == nullptr) continue;
    const std::tuple distance(other->architecture != device.architecture,
                              log_distance(other->bandwidth, device.bandwidth), -band.rows);
    if (best != nullptr && !(distance < best_distance)) continue;
    best = &band;
    best_distance = distance;
  }
  if (best == nullptr) return std::nullopt;
  ErrorBand borrowed = *best;
  borrowed.is_borrowed = true;
  return borrowed;
}

std::optional<ErrorBand> ErrorBands::collective_band(std::string_view device, std::string_view operation,
                                                     std::string_view nodes, std::int64_t ranks,
                                                     std::string_view size_class, std::string_view kind) const {
  const ErrorBand* best = nullptr;
  std::pair<double, std::int64_t> best_distance;
  std::int64_t best_ranks = 0;
  for (const ErrorBand& band : bands_) {
    if (band.kind != kind || band.device != device) continue;
    const auto known = collective_class(band.size_class);
    if (!known || known->operation != operation || known->nodes != nodes || known->size_class != size_class) continue;
    const std::pair distance(log_distance(static_cast<double>(known->ranks), static_cast<double>(ranks)), -band.rows);
    if (best != nullptr && !(distance < best_distance)) continue;
    best = &band;
    best_distance = distance;
    best_ranks = known->ranks;
  }
  if (best == nullptr) return std::nullopt;
  ErrorBand found = *best;
  found.is_borrowed = best_ranks != ranks;
  return found;
}

BandDevice band_device(const std::string& name, const DeviceSpec& device) {
  // "Hopper, FlashAttention-2": with other libraries the same.
  const std::string& architecture = device.architecture.name;
  return {name, architecture.substr(0, architecture.find(',')), device.memory.bandwidth.value()};
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
