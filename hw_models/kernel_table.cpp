// SPDX-License-Identifier: Apache-2.0
// Reading a table of kernels, and log-log interpolation between its rows.
#include "hw_models/kernel_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "hw_models/kernels.hpp"
#include "sim/core/csv.hpp"
#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"

namespace warploom {

namespace {

constexpr std::size_t most_rows = 1'000'000;

std::vector<std::string> known_columns() {
  std::set<std::string> names = {"family", "dtype", "weight_dtype", "output_dtype", "latency_us"};
  for (const KernelFamily* family : kernel_families()) {
    for (const KernelParameter& parameter : family->parameters()) names.emplace(parameter.name);
    for (const KernelFlag& flag : family->flags()) names.emplace(flag.name);
  }
  return {names.begin(), names.end()};
}

void check_columns(const CsvReader& table) {
  table.require({"family", "latency_us"});
  const auto known = known_columns();
  for (const std::string& column : table.columns()) {
    if (column.starts_with("x-") || std::ranges::find(known, column) != known.end()) continue;
    throw UserError(Origin(table.file(), 1, 0), fmt::format("no kernel family has a {}", warploom::quoted(column)),
                    suggestion(column, known, "notes of your own go into columns that start with `x-`"));
  }
}

const KernelFamily& family_of(const CsvRow& row) {
  const std::string_view text = row.text("family");
  const auto found = std::ranges::find(kernel_families(), text, &KernelFamily::name);
  if (found != kernel_families().end()) return **found;
  std::vector<std::string> names;
  for (const KernelFamily* family : kernel_families()) names.emplace_back(family->name());
  throw UserError(row.origin(), fmt::format("no kernel family is called {}", warploom::quoted(text)),
                  suggestion(text, names, "the families are " + join(names)));
}

DataType type_of(const CsvRow& row, std::string_view column, DataType usual) {
  const auto text = row.optional_text(column);
  if (!text) return usual;
  if (const auto type = find_data_type(*text)) return *type;
  std::vector<std::string> names;
  for (const auto& [type, name] : data_type_names) names.emplace_back(name);
  throw UserError(row.origin(),
                  fmt::format("column `{}`: expected a data type, got {}", column, warploom::quoted(*text)),
                  suggestion(*text, names, "the types are " + join(names)));
}

Kernel kernel_of(const CsvRow& row) {
  const KernelFamily& family = family_of(row);
  Kernel kernel;
  kernel.family = family.name();
  for (std::size_t i = 0; i < family.parameters().size(); ++i) {
    const KernelParameter& parameter = family.parameters()[i];
    const auto size = row.optional_integer(parameter.name);
    if (!size && !parameter.usual) {
      throw UserError(row.origin(),
                      fmt::format("a `{}` kernel needs `{}`: {}", family.name(), parameter.name, parameter.meaning));
    }
    kernel.size[i] = size ? *size : *parameter.usual;
  }
  for (const KernelFlag& flag : family.flags()) {
    const auto value = row.optional_integer(flag.name);
    if (value && *value != 0 && *value != 1) {
      throw UserError(row.origin(), fmt::format("column `{}`: expected 0 or 1, got {}", flag.name, *value));
    }
    if (value && *value == 1) kernel.flags |= flag.bit;
  }
  kernel.input = type_of(row, "dtype", DataType::bf16);
  kernel.weight = type_of(row, "weight_dtype", kernel.input);
  kernel.output = type_of(row, "output_dtype", family.usual_output(kernel.input));
  try {
    family.check(kernel);
  } catch (const UserError& error) {
    throw UserError(row.origin(), error.message(), error.hint());
  }
  return kernel;
}

// The two values of an ascending list that a size lies between (one where it is met); none outside.
std::optional<std::array<std::int64_t, 2>> neighbours(const std::vector<std::int64_t>& values, std::int64_t size) {
  const auto above = std::ranges::lower_bound(values, size);
  if (above == values.end()) return std::nullopt;
  if (*above == size) return std::array{size, size};
  if (above == values.begin()) return std::nullopt;
  return std::array{*(above - 1), *above};
}

// Where between two values, by logarithms; sizes of 0 are their own.
double share_between(const std::array<std::int64_t, 2>& ends, std::int64_t size) {
  if (ends[0] == ends[1]) return 0;
  const auto log = [](std::int64_t value) { return std::log(static_cast<double>(std::max<std::int64_t>(value, 1))); };
  return ends[0] <= 0 ? static_cast<double>(size - ends[0]) / static_cast<double>(ends[1] - ends[0])
                      : (log(size) - log(ends[0])) / (log(ends[1]) - log(ends[0]));
}

}  // namespace

std::size_t KernelTable::SizesHash::operator()(const Sizes& sizes) const noexcept {
  Kernel kernel;
  kernel.size = sizes;
  return KernelHash{}(kernel);
}

std::string KernelTable::slice_key(const Kernel& kernel) const {
  const auto type = [](bool has, DataType data_type) { return has ? name(data_type) : std::string_view("*"); };
  return fmt::format("{} {} {} {} {}", kernel.family, kernel.flags, type(has_type_, kernel.input),
                     type(has_weight_type_, kernel.weight), type(has_output_type_, kernel.output));
}

KernelTable KernelTable::load(const std::string& path) {
  CsvReader reader = CsvReader::open(path);
  check_columns(reader);
  KernelTable table;
  table.has_type_ = reader.has("dtype");
  table.has_weight_type_ = reader.has("weight_dtype");
  table.has_output_type_ = reader.has("output_dtype");
  CsvRow row;
  while (reader.next(row)) {
    if (++table.rows_ > most_rows) {
      throw UserError(row.origin(), fmt::format("more than {} rows", most_rows), "keep the kernels that you need");
    }
    const Kernel kernel = kernel_of(row);
    Slice& slice = table.slices_[table.slice_key(kernel)];
    Mean& mean = slice.rows[kernel.size];
    mean.sum += std::log(row.positive_number("latency_us") * 1e-6);
    mean.count += 1;
    for (std::size_t i = 0; i < kernel.size.size(); ++i) slice.values[i].push_back(kernel.size[i]);
  }
  if (table.rows_ == 0) throw UserError(Origin(path, 1, 0), "the table has no row");
  for (auto& [key, slice] : table.slices_) {
    for (auto& values : slice.values) {
      std::ranges::sort(values);
      values.erase(std::unique(values.begin(), values.end()), values.end());
    }
  }
  return table;
}

std::optional<Time> KernelTable::time(const Kernel& kernel) const {
  const auto found = slices_.find(slice_key(kernel));
  if (found == slices_.end()) return std::nullopt;
  const Slice& slice = found->second;
  std::array<std::array<std::int64_t, 2>, dimensions> ends{};
  std::array<double, dimensions> share{};
  for (std::size_t i = 0; i < dimensions; ++i) {
    const auto pair = neighbours(slice.values[i], kernel.size[i]);
    if (!pair) return std::nullopt;
    ends[i] = *pair;
    share[i] = share_between(*pair, kernel.size[i]);
  }
  double log_seconds = 0;
  for (std::size_t corner = 0; corner < (std::size_t{1} << dimensions); ++corner) {
    Sizes sizes{};
    double weight = 1;
    for (std::size_t i = 0; i < dimensions && weight > 0; ++i) {
      const bool is_upper = (corner >> i & 1) != 0;
      sizes[i] = ends[i][is_upper ? 1 : 0];
      weight *= is_upper ? share[i] : 1 - share[i];
    }
    if (weight == 0) continue;
    const auto row = slice.rows.find(sizes);
    if (row == slice.rows.end()) return std::nullopt;
    log_seconds += weight * row->second.sum / row->second.count;
  }
  return Time::from_seconds(std::exp(log_seconds));
}

}  // namespace warploom
