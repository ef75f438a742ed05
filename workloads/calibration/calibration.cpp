// SPDX-License-Identifier: Apache-2.0
// Rows, the constants that decide them, fits of what belongs together, scores.
#include "workloads/calibration/calibration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>
#include <set>

#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"
#include "workloads/calibration/parameters.hpp"
#include "workloads/validation/statistics.hpp"
#include "workloads/validation/validation.hpp"

namespace warploom {

namespace {

constexpr std::size_t folds_without_sets = 5;
constexpr std::size_t most_sets = 12;
constexpr double least_fall = 0.001;  // of the error over the last 4% of a range, for a fit that would go on
constexpr double least_worth =
    0.0002;  // of a constant's move: what it takes off the mean error of the rows that it reaches
constexpr double unreadable = 1e6;  // the error of constants that cannot be read, or that make a row impossible

// A row that can be predicted, with what decides where it belongs.
struct Row {
  const TableKind* kind = nullptr;
  CsvRow row;
  int measurement = 0;  // of those that the row holds
  std::string source;   // the table's file
  std::string file;     // whose constants decide it
  std::string set, device, fold_key;
  std::string dtype, band_class;
  double measured_us = 0;
  double ratio = 0;  // predicted / measured, after the last fit
  std::optional<double> left_out_ratio;
  bool was_fitted = false;

  double out_of_sample() const { return left_out_ratio.value_or(ratio); }
};

using Rows = std::vector<Row*>;

double mape_of(const Rows& rows, const std::function<double(const Row&)>& ratio) {
  double sum = 0;
  for (const Row* row : rows) sum += std::abs(ratio(*row) - 1);
  return rows.empty() ? 0 : sum / static_cast<double>(rows.size());
}

Rows thinned(const Rows& rows, std::size_t most) {
  if (rows.size() <= most) return rows;
  Rows result;
  for (std::size_t i = 0; i < most; ++i) result.push_back(rows[i * rows.size() / most]);
  return result;
}

// Of predicted / measured: like its distance to 1 where that is small; what is far out (a row that a mechanism is
// missing for, an outlier) counts little more than what is out by half.
double robust_error(double ratio) {
  constexpr double half_way = 0.3;
  return half_way * std::log1p(std::abs(std::log(ratio)) / half_way);
}

// Without a key of its own a row is kin to those of its group, without a group to nothing.
std::string fold_key_of(const Predicted& predicted, const CsvRow& row) {
  if (!predicted.fold_key.empty()) return predicted.fold_key;
  std::string key;
  for (const auto& [name, value] : predicted.group) key += value + " ";
  return key.empty() ? std::to_string(row.number_in_file()) : key;
}

// FNV-1a: the same fold on every machine.
std::size_t stable_hash(const std::string& text) {
  std::uint64_t hash = 1469598103934665603ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return static_cast<std::size_t>(hash);
}

}  // namespace

struct Calibrator::Implementation {
  ValidationContext& context;
  CalibrationOptions options;
  std::vector<DeclaredConstant> declared;
  std::vector<std::unique_ptr<Row>> rows, excluded;
  Calibration result;

  std::string first_reason;       // why a row was skipped, where and why
  std::set<std::string> matched;  // of options.excluded

  void skip(const UserError& error) {
    ++result.skipped;
    if (!first_reason.empty()) return;
    const std::string place = error.origin().to_string();
    first_reason = place.empty() ? error.message() : place + ": " + error.message();
  }

  bool is_excluded(const Row& row) {
    const std::string stem = std::filesystem::path(row.source).stem().string();
    const auto is_meant = [&](const std::string& name) {
      return name == row.set || name == stem || name == row.source || (!row.device.empty() && name == row.device) ||
             (!row.device.empty() && context.canonical_device(name) == row.device);
    };
    const auto meant = std::find_if(options.excluded.begin(), options.excluded.end(), is_meant);
    if (meant != options.excluded.end()) matched.insert(*meant);
    return meant != options.excluded.end();
  }

  // A mistyped set would be fitted.
  void require_matched() const {
    std::set<std::string> known;
    for (const auto& row : rows) {
      known.insert(row->device);
      known.insert(row->set);
      known.insert(std::filesystem::path(row->source).stem().string());
    }
    known.erase("");
    for (const std::string& name : options.excluded) {
      if (matched.contains(name)) continue;
      const std::vector<std::string> names(known.begin(), known.end());
      throw UserError("`--exclude`: no row is of " + warploom::quoted(name),
                      suggestion(name, names, "there are " + join(names)));
    }
  }

  std::unique_ptr<Row> described(const TableKind& kind, const CsvRow& csv, int measurement, const std::string& file) {
    const Predicted predicted = kind.predict_one(csv, measurement, context);
    require_plausible(predicted.measured_us);
    if (predicted.interval_us) throw UserError("settings are left open");
    auto row = std::make_unique<Row>();
    row->row = csv;
    row->measurement = measurement;
    row->kind = &kind;
    row->source = file;
    row->device = predicted.device;
    row->file = predicted.tuned_by.empty() ? "devices/" + predicted.device : predicted.tuned_by;
    row->set = predicted.set;
    row->fold_key = fold_key_of(predicted, csv);
    row->dtype = predicted.dtype;
    RowGroup group;
    group.keys = predicted.group;
    group.set = predicted.set;
    group.size_class = predicted.size_class;
    row->band_class = band_class(group);
    row->measured_us = predicted.measured_us;
    row->ratio = predicted.predicted_us / predicted.measured_us;
    return row;
  }

  void add(CsvReader& table) {
    const TableKind& kind = table_kind_of(table);
    if (!options.kinds.empty() &&
        std::find(options.kinds.begin(), options.kinds.end(), kind.name()) == options.kinds.end())
      return;
    CsvRow row;
    for (bool more = true; more;) {
      try {
        more = table.next(row);
      } catch (const CsvRowError& error) {
        skip(error);
        continue;
      }
      if (!more) break;
      for (int measurement = 0; measurement < kind.measurements(); ++measurement) {
        try {
          auto one = described(kind, row, measurement, table.file());
          auto& place = is_excluded(*one) ? excluded : rows;
          place.push_back(std::move(one));
        } catch (const UserError& error) {
          skip(error);
        }
      }
      if (options.progress && table.rows_read() % 512 == 0)
        options.progress(fmt::format("reading {}: {} rows", table.file(), table.rows_read()));
    }
  }

  // The sum over one file's rows, remembered by what the file is overridden with: a step along one coordinate leaves
  // most files as they are.
  struct Remembered {
    std::vector<std::string> overrides;
    double sum = 0;
  };
  using Memory = std::map<std::string, std::vector<Remembered>>;

  double predict_again(Row& row) {
    try {
      row.ratio = row.kind->predict_one(row.row, row.measurement, context).predicted_us / row.measured_us;
      return robust_error(row.ratio);
    } catch (const UserError&) {
      return unreadable;
    }
  }

  // The mean error, notes the ratios where `memory` is null.
  double score(const Rows& scored, ParameterSet& parameters, const std::vector<double>& values,
               Memory* memory = nullptr) {
    constexpr std::size_t remembered_points = 4;
    parameters.apply(values);
    std::map<std::string, Rows> by_file;
    for (Row* row : scored) by_file[row->file].push_back(row);
    double sum = 0;
    for (const auto& [file, some] : by_file) {
      const auto overrides = context.overrides(file);
      if (memory != nullptr) {
        const auto& known = (*memory)[file];
        const auto found =
            std::find_if(known.begin(), known.end(), [&](const Remembered& one) { return one.overrides == overrides; });
        if (found != known.end()) {
          sum += found->sum;
          continue;
        }
      }
      double part = 0;
      for (Row* row : some) part += predict_again(*row);
      sum += part;
      if (memory == nullptr) continue;
      auto& known = (*memory)[file];
      if (known.size() == remembered_points) known.erase(known.begin());
      known.push_back({overrides, part});
    }
    return sum / static_cast<double>(scored.size());
  }

  // `held`: constants that stay where `start` has them.
  std::vector<double> fit(const Rows& fitted, ParameterSet& parameters, std::vector<double> start,
                          const std::string& stage, int rounds, const std::set<std::size_t>& held = {}) {
    std::vector<DescentRange> ranges = parameters.ranges();
    for (const std::size_t i : held) ranges[i] = {start[i], start[i], {}};
    DescentOptions descent = options.descent;
    descent.rounds = std::min(descent.rounds, rounds);
    int evaluations = 0;
    descent.progress = [&] {
      ++evaluations;
      if (options.progress) options.progress(fmt::format("{}: {} tries", stage, evaluations));
    };
    const Rows few = thinned(fitted, options.most_rows);
    Memory memory;
    const std::function<double(const std::vector<double>&)> objective = [&](const std::vector<double>& values) {
      return score(few, parameters, values, &memory);
    };
    return descend(ranges, std::move(start), objective, descent);
  }

  // The mean magnitude of log(predicted / measured), in which nothing that is far out is spared.
  double log_error(const Rows& scored, ParameterSet& parameters, const std::vector<double>& values) {
    score(scored, parameters, values);
    double sum = 0;
    for (const Row* row : scored) sum += std::abs(std::log(row->ratio));
    return sum / static_cast<double>(scored.size());
  }

  // Constants that a fit has moved onto an end of their range that means nothing (neither all nor none).
  static std::set<std::size_t> at_an_end(const ParameterSet& parameters, const std::vector<double>& best) {
    std::set<std::size_t> found;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const DeclaredConstant& declared = parameters.declared(i);
      const bool is_at_end = declared.is_at_low(best[i]) || declared.is_at_high(best[i]);
      if (!declared.closed && is_at_end && best[i] != parameters.start()[i]) found.insert(i);
    }
    return found;
  }

  // A constant that stays on an end of its range although the error still falls beyond it.
  void refuse_beyond(const Rows& fitted, ParameterSet& parameters, const std::vector<double>& best) {
    const Rows few = thinned(fitted, options.most_rows);
    std::optional<double> at_best;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const DeclaredConstant& declared = parameters.declared(i);
      const bool is_low = declared.is_at_low(best[i]);
      if (declared.closed || (!is_low && !declared.is_at_high(best[i]))) continue;
      // What lies beyond may not even be readable, so that the slope towards the end has to tell.
      std::vector<double> inside = best;
      inside[i] += (is_low ? 1 : -1) * 0.04 * (declared.high - declared.low);
      if (!at_best) at_best = log_error(few, parameters, best);
      const double at_end = *at_best;
      const double before_end = log_error(few, parameters, inside);
      if (before_end - at_end < least_fall) continue;
      throw UserError(
          parameters.written(i),
          fmt::format("`{}` would leave its physical range, {} to {}: at {} the mean error is {:.1f}% and still falls",
                      declared.path, constant_text(declared.low, declared), constant_text(declared.high, declared),
                      constant_text(is_low ? declared.low : declared.high, declared), 100 * std::expm1(at_end)),
          "nothing was written; is the table of this device, in microseconds? A mechanism may be missing, or the range "
          "be wrong: " +
              declared.origin.to_string());
    }
  }

  // Puts back what the rows do not decide: constants whose move takes nothing off the error that is more than noise.
  void put_back_undecided(const Rows& fitted, ParameterSet& parameters, std::vector<double>& best) {
    const Rows few = thinned(fitted, options.most_rows);
    Memory memory;
    double error = score(few, parameters, best, &memory);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (best[i] == parameters.start()[i]) continue;
      const auto& files = parameters.files(i);
      const auto reached = std::count_if(few.begin(), few.end(), [&](const Row* row) {
        return std::find(files.begin(), files.end(), row->file) != files.end();
      });
      std::vector<double> tried = best;
      tried[i] = parameters.start()[i];
      const double without = score(few, parameters, tried, &memory);
      const double share = static_cast<double>(reached) / static_cast<double>(few.size());
      if (without - error >= least_worth * share) continue;
      best = std::move(tried);
      error = without;
    }
  }

  // Whether the rest still decides every constant that the left rows use.
  static bool is_decided_without(const Rows& left, const Rows& fitted, const ParameterSet& parameters) {
    const std::set<Row*> without(left.begin(), left.end());
    std::set<std::string> left_files;
    std::set<std::string> rest_files;
    for (Row* row : fitted) (without.contains(row) ? left_files : rest_files).insert(row->file);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const auto& files = parameters.files(i);
      const auto reaches = [&](const std::set<std::string>& some) {
        return std::any_of(files.begin(), files.end(), [&](const std::string& file) { return some.contains(file); });
      };
      if (reaches(left_files) && !reaches(rest_files)) return false;
    }
    return true;
  }

  // What is left out in turn: sets of sources, else devices, where the rest decides their constants, too; else folds of
  // rows of the set that share no key.
  static std::vector<std::pair<std::string, Rows>> sets_of(const Rows& fitted, const ParameterSet& parameters) {
    std::map<std::string, Rows> sets;
    for (Row* row : fitted) sets[row->set.empty() ? row->source : row->set].push_back(row);
    if (sets.size() < 2) {
      sets.clear();
      for (Row* row : fitted) sets[row->device].push_back(row);
    }
    std::map<std::string, Rows> parts;
    std::map<std::size_t, Rows> folds;
    for (auto& [name, some] : sets) {
      if (is_decided_without(some, fitted, parameters)) {
        parts[name] = std::move(some);
        continue;
      }
      for (Row* row : some) folds[stable_hash(row->fold_key) % folds_without_sets].push_back(row);
    }
    // More sets than anybody waits for: several at once.
    if (parts.size() > most_sets) {
      std::map<std::string, Rows> fewer;
      for (auto& [name, some] : parts) {
        Rows& together = fewer[fmt::format("sets {} of {}", stable_hash(name) % most_sets + 1, most_sets)];
        together.insert(together.end(), some.begin(), some.end());
      }
      parts = std::move(fewer);
    }
    for (auto& [fold, some] : folds) parts[fmt::format("fold {} of {}", fold + 1, folds_without_sets)] = some;
    return {parts.begin(), parts.end()};
  }

  void leave_sets_out(FittedGroup& group, const Rows& fitted, ParameterSet& parameters,
                      const std::vector<double>& best) {
    const auto sets = sets_of(fitted, parameters);
    if (sets.size() < 2) return;
    for (const auto& [name, left] : sets) {
      const std::set<Row*> without(left.begin(), left.end());
      Rows rest;
      std::copy_if(fitted.begin(), fitted.end(), std::back_inserter(rest),
                   [&](Row* row) { return !without.contains(row); });
      if (rest.empty()) continue;
      const auto refit = fit(rest, parameters, best, fmt::format("{} without {}", group.kind, name), 6);
      score(left, parameters, refit);
      for (Row* row : left) row->left_out_ratio = row->ratio;
      group.left_out.push_back(name);
    }
    group.leave_one_set_out_mape = mape_of(fitted, &Row::out_of_sample);
  }

  void fit_component(const std::string& kind, const std::vector<std::string>& files, const Rows& fitted) {
    ParameterSet parameters(context, declared, kind, files);
    if (parameters.size() == 0) return;
    FittedGroup group;
    group.kind = kind;
    group.files = files;
    group.rows = static_cast<std::int64_t>(fitted.size());
    const std::string stage = fmt::format("{} of {}", kind, join(files));
    score(fitted, parameters, parameters.start());
    group.mape_before = mape_of(fitted, &Row::ratio);
    std::vector<double> best = parameters.start();
    std::set<std::size_t> held;
    if (!options.keeps_constants) {
      best = fit(fitted, parameters, parameters.start(), stage, options.descent.rounds);
      refuse_beyond(fitted, parameters, best);
      for (auto ends = at_an_end(parameters, best); !ends.empty(); ends = at_an_end(parameters, best)) {
        held.merge(ends);
        for (const std::size_t i : held) best[i] = parameters.start()[i];
        best = fit(fitted, parameters, best, stage, options.descent.rounds, held);
      }
      put_back_undecided(fitted, parameters, best);
      best = parameters.rounded(best);
      // The objective spares what is far out, the error that is told does not: a fit that raises it is none.
      score(fitted, parameters, best);
      if (mape_of(fitted, &Row::ratio) > group.mape_before) best = parameters.start();
    }
    if (options.leaves_sets_out) leave_sets_out(group, fitted, parameters, best);
    score(fitted, parameters, best);
    group.mape_after = mape_of(fitted, &Row::ratio);
    std::set<std::string> sources;
    for (Row* row : fitted) {
      row->was_fitted = true;
      sources.insert(row->set.empty() ? std::filesystem::path(row->source).filename().string() : row->set);
    }
    group.constants = parameters.fitted(best, {sources.begin(), sources.end()});
    for (const std::size_t i : held) group.constants[i].is_held = true;
    result.groups.push_back(std::move(group));
  }

  // Files that share a constant are fitted together.
  void fit_kind(const std::string& kind) {
    std::map<std::string, Rows> by_file;
    for (const auto& row : rows) {
      if (row->kind->name() == kind) by_file[row->file].push_back(row.get());
    }
    std::vector<std::string> files;
    for (const auto& [file, some] : by_file) files.push_back(file);
    for (const auto& component : files_that_share(context, declared, kind, files)) {
      Rows fitted;
      for (const std::string& file : component) fitted.insert(fitted.end(), by_file[file].begin(), by_file[file].end());
      fit_component(kind, component, fitted);
    }
  }

  // Everything once more with what was settled: later fits may have moved what earlier rows use.
  void score_all() {
    std::map<std::tuple<std::string, std::string, std::string, std::string>, Rows> classes;
    for (const auto& row : rows) {
      if (predict_again(*row) < unreadable)
        classes[{std::string(row->kind->name()), context.shown_device(row->device), row->dtype, row->band_class}]
            .push_back(row.get());
    }
    for (const auto& [key, some] : classes) result.bands.push_back(band_of(key, some));
    std::map<std::string, Rows> left;
    for (const auto& row : excluded) {
      if (predict_again(*row) < unreadable)
        left[row->set.empty() ? row->source + ", " + row->device : row->set].push_back(row.get());
    }
    for (const auto& [set, some] : left) {
      result.excluded.push_back({set, static_cast<std::int64_t>(some.size()), mape_of(some, &Row::ratio)});
    }
  }

  static ErrorBand band_of(const std::tuple<std::string, std::string, std::string, std::string>& key,
                           const Rows& some) {
    ErrorBand band;
    std::tie(band.kind, band.device, band.dtype, band.size_class) = key;
    band.rows = static_cast<std::int64_t>(some.size());
    band.mape = mape_of(some, &Row::ratio);
    const bool is_out_of_sample = std::all_of(
        some.begin(), some.end(), [](const Row* row) { return row->left_out_ratio.has_value() || !row->was_fitted; });
    if (is_out_of_sample) band.leave_one_set_out_mape = mape_of(some, &Row::out_of_sample);
    std::vector<double> ratios;
    for (const Row* row : some) ratios.push_back(row->out_of_sample());
    band.ratio_p10 = quantile(ratios, 0.1);
    band.ratio_p90 = quantile(ratios, 0.9);
    return band;
  }
};

Calibrator::Calibrator(ValidationContext& context, CalibrationOptions options)
    : implementation_(
          new Implementation{context, std::move(options), declared_constants(context.library()), {}, {}, {}, {}, {}}) {}

Calibrator::~Calibrator() = default;

void Calibrator::add(CsvReader table) { implementation_->add(table); }

Calibration Calibrator::run() {
  Implementation& self = *implementation_;
  if (self.rows.empty())
    throw UserError("no row of these tables can be predicted; of the first: " + self.first_reason,
                    "`warploom validate` says more");
  self.require_matched();
  std::vector<std::string> kinds;
  for (const DeclaredConstant& constant : self.declared) {
    if (std::find(kinds.begin(), kinds.end(), constant.kind) == kinds.end()) kinds.push_back(constant.kind);
  }
  for (const std::string& kind : kinds) self.fit_kind(kind);
  self.score_all();
  return std::move(self.result);
}

}  // namespace warploom
