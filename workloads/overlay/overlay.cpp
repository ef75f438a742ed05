// SPDX-License-Identifier: Apache-2.0
// Steps and roles chosen, lanes aligned, what came of it summed up.
#include "workloads/overlay/overlay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <tuple>

#include "sim/core/errors.hpp"
#include "workloads/overlay/tokens.hpp"

namespace warploom {

namespace {

constexpr std::size_t most_pairs = 20;
constexpr double forward_share = 0.9;  // of what the whole step explains of the products, the forward pass alone does

bool holds(const RankBox& box, Rank rank) {
  for (std::int64_t i = 0; i < box.size(); ++i) {
    if (box.at(i) == rank) return true;
  }
  return false;
}

std::optional<RoleId> role_of_rank(const Program& program, Rank rank) {
  for (RoleId role = 0; role < program.roles.size(); ++role) {
    for (const auto& box : program.roles[role].ranks) {
      if (holds(box, rank)) return role;
    }
  }
  return std::nullopt;
}

// Of the operations: launched within the window. Those without a launch that is known count from the first of these on:
// before it the device ran what an earlier step had launched.
std::vector<bool> launched_within(const Capture& capture, Interval window) {
  std::vector<bool> counts(capture.device_ops.size());
  Nanoseconds first = window.end;
  bool any = false;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const auto& op = capture.device_ops[i];
    if (op.launch == nothing) continue;
    const Nanoseconds at = capture.calls[op.launch].start;
    counts[i] = at >= window.begin && at < window.end;
    if (counts[i]) first = std::min(first, op.start);
    any = any || counts[i];
  }
  if (!any) first = window.begin;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const auto& op = capture.device_ops[i];
    if (op.launch == nothing) counts[i] = op.start >= first && op.start < window.end;
  }
  return counts;
}

// Products and attention: what tells passes apart; of known shapes, where there are such.
std::vector<OverlayToken> landmarks(const std::vector<OverlayToken>& tokens) {
  std::vector<OverlayToken> large;
  std::vector<OverlayToken> shaped;
  for (const auto& token : tokens) {
    if (token.op_class != OpClass::gemm && token.op_class != OpClass::attention) continue;
    large.push_back(token);
    if (token.shape != 0) shaped.push_back(token);
  }
  return shaped.empty() ? large : shaped;
}

WindowMetrics totals(const std::vector<DeviceOp>& ops) {
  if (ops.empty()) return {};
  Interval span{ops.front().start, ops.front().end()};
  for (const auto& op : ops) span = {std::min(span.begin, op.start), std::max(span.end, op.end())};
  return window_metrics(ops, span);
}

struct LoneKey {
  std::string name;
  std::string operation;
  OpClass op_class;
  auto operator<=>(const LoneKey&) const = default;
};
using Lones = std::map<LoneKey, OverlaySide>;

class Layer {
 public:
  Layer(const CapturedRun& run, const Program& program, const Timeline& timeline, const OverlayOptions& options)
      : run_(run), program_(program), timeline_(timeline), options_(options) {}

  Overlay run(std::string experiment) {
    overlay_.experiment = std::move(experiment);
    choose_step();
    for (std::uint32_t i = 0; i < run_.captures.size(); ++i) lay(i);
    if (overlay_.ranks.empty()) {
      throw UserError("the traces hold no work of a device that could be compared",
                      "kernels are recorded where the profiler was given the device's activity");
    }
    finish();
    return std::move(overlay_);
  }

 private:
  void note(std::string text) {
    if (std::find(overlay_.notes.begin(), overlay_.notes.end(), text) == overlay_.notes.end()) {
      overlay_.notes.push_back(std::move(text));
    }
  }

  void choose_step() {
    step_ = options_.step;
    if (step_) return;
    for (const auto& capture : run_.captures) {
      auto steps = captured_steps(capture);
      if (steps.empty()) continue;
      const auto middle = steps.begin() + static_cast<std::ptrdiff_t>((steps.size() - 1) / 2);
      std::nth_element(steps.begin(), middle, steps.end(),
                       [](const auto& a, const auto& b) { return a.first.duration < b.first.duration; });
      step_ = middle->second;
      if (steps.size() > 1) note(fmt::format("of {} steps the one of median length: {}", steps.size(), *step_));
      return;
    }
  }

  // Which operations of a capture are compared; nothing: it lacks the step.
  std::optional<std::vector<bool>> counted(const Capture& capture) {
    const auto steps = captured_steps(capture);
    const auto own = std::find_if(steps.begin(), steps.end(), [&](const auto& one) { return one.second == step_; });
    if (own != steps.end()) {
      return launched_within(capture, {own->first.start, own->first.start + own->first.duration});
    }
    if (options_.step) throw UserError(fmt::format("{}: there is no step {}", capture.file, *options_.step));
    if (!steps.empty()) {
      note(fmt::format("{} has no step {}: left out", capture.file, step_.value_or(-1)));
      return std::nullopt;
    }
    note("no steps are marked: the whole capture is taken for one");
    return std::vector<bool>(capture.device_ops.size(), true);
  }

  RoleId role_of(const Capture& capture) {
    const auto rank = known_rank(capture);
    if (rank) {
      if (const auto role = role_of_rank(program_, *rank)) return *role;
      note(fmt::format("rank {} is none of the experiment's {} devices: compared with rank 0", *rank,
                       program_.device_count()));
    } else if (program_.roles.size() > 1) {
      note("a capture's rank is not known: compared with rank 0");
    }
    return role_of_rank(program_, 0).value_or(0);
  }

  GeneratedPart part() const {
    if (overlay_.is_one_pass) return GeneratedPart::one_forward_pass;
    return overlay_.is_forward_only ? GeneratedPart::forward_passes : GeneratedPart::step;
  }

  const GeneratedSide& generated(RoleId role) {
    const auto [place, is_new] = generated_.try_emplace(role);
    if (is_new) place->second = generated_side(program_, timeline_, role, part());
    return place->second;
  }

  void find_out_passes(const CapturedSide& captured, RoleId role) {
    const auto trace = landmarks(captured.lanes[0].tokens);
    const auto score = [&](GeneratedPart part) {
      return align(trace, landmarks(generated_side(program_, timeline_, role, part).lanes[0].tokens)).score;
    };
    const auto explains = [](std::int64_t some, std::int64_t all) {
      return static_cast<double>(some) >= forward_share * static_cast<double>(all);
    };
    const std::int64_t whole = score(GeneratedPart::step);
    const std::int64_t forward = score(GeneratedPart::forward_passes);
    const auto& phases = program_.phase;
    const bool has_more =
        std::any_of(phases.begin(), phases.end(), [](Phase phase) { return phase == Phase::backward; });
    if (!has_more || whole == 0 || !explains(forward, whole)) return;
    overlay_.is_forward_only = true;
    overlay_.is_one_pass = explains(score(GeneratedPart::one_forward_pass), forward);
    if (!overlay_.is_one_pass) {
      note("the model's forward passes lie between backward passes: its totals hold gaps that the trace has not");
    }
  }

  void lay(std::uint32_t index) {
    const Capture& capture = run_.captures[index];
    const auto counts = counted(capture);
    if (!counts) return;
    CapturedSide captured = captured_side(run_, index, *counts);
    if (captured.ops.empty()) return;
    const RoleId role = role_of(capture);
    joined_ += join_split_products(captured, generated_side(program_, timeline_, role, GeneratedPart::step).products);
    if (overlay_.ranks.empty()) find_out_passes(captured, role);
    const GeneratedSide& model = generated(role);
    OverlayRank rank;
    rank.rank = known_rank(capture);
    rank.file = capture.file;
    rank.role = program_.roles[role].name;
    rank.step = captured_steps(capture).empty() ? -1 : step_.value_or(-1);
    rank.trace = totals(captured.ops);
    rank.model = totals(model.ops);
    overlay_.waiting += captured.waiting;
    for (std::size_t lane = 0; lane < 2; ++lane) {
      lay_lane(capture, captured.lanes[lane], model.lanes[lane], rank);
    }
    overlay_.ranks.push_back(std::move(rank));
  }

  void lay_lane(const Capture& capture, const OverlayLane<std::uint32_t>& trace, const OverlayLane<RowId>& model,
                OverlayRank& rank) {
    const Alignment alignment = align(trace.tokens, model.tokens);
    overlay_.is_exact = overlay_.is_exact && alignment.is_exact;
    std::vector<bool> trace_is_paired(trace.ids.size());
    std::vector<bool> model_is_paired(model.ids.size());
    for (const auto& [i, j] : alignment.pairs) {
      trace_is_paired[i] = model_is_paired[j] = true;
      add_pair(capture, rank, trace.tokens[i], model.tokens[j], trace.ids[i], model.ids[j]);
      rank.trace_paired.count += trace.parts[i] - 1;
    }
    for (std::size_t i = 0; i < trace.ids.size(); ++i) {
      const auto& token = trace.tokens[i];
      count(rank.trace_all, token.duration, trace.parts[i]);
      products_with_shapes_ += token.op_class == OpClass::gemm && token.shape != 0 ? 1 : 0;
      if (trace_is_paired[i]) continue;
      count(class_of(token).only_trace, token.duration, trace.parts[i]);
      const auto& op = capture.device_ops[trace.ids[i]];
      const std::string_view operation =
          op.host_op == nothing ? std::string_view() : capture.texts[capture.host_ops[op.host_op].name];
      count(only_trace_[{std::string(capture.texts[op.name]), std::string(operation), token.op_class}], token.duration,
            trace.parts[i]);
    }
    for (std::size_t j = 0; j < model.ids.size(); ++j) {
      const auto& token = model.tokens[j];
      count(rank.model_all, token.duration);
      if (model_is_paired[j]) continue;
      count(class_of(token).only_model, token.duration);
      count(only_model_[{name_of(model.ids[j]), {}, token.op_class}], token.duration);
    }
  }

  static void count(OverlaySide& side, Nanoseconds time, std::int64_t operations = 1) {
    side.count += operations;
    side.time += time;
  }
  OverlayClass& class_of(const OverlayToken& token) {
    return overlay_.classes[static_cast<std::size_t>(token.op_class)];
  }
  std::string name_of(RowId row) const {
    const NameId name = program_.row_name[row];
    return name == none ? "?" : program_.names[name];
  }

  void add_pair(const Capture& capture, OverlayRank& rank, const OverlayToken& own, const OverlayToken& other,
                std::uint32_t op, RowId row) {
    const bool same_shape = own.shape != 0 && own.shape == other.shape;
    count(rank.trace_paired, own.duration);
    if (same_shape) count(rank.trace_same_shape, own.duration);
    count(rank.model_paired, other.duration);
    OverlayClass& sums = class_of(own);
    ++sums.pairs;
    sums.same_shape += same_shape ? 1 : 0;
    sums.trace += own.duration;
    sums.model += other.duration;
    if (own.duration > 0) {
      ratios_[static_cast<std::size_t>(own.op_class)].push_back(static_cast<double>(other.duration) /
                                                                static_cast<double>(own.duration));
    }
    OverlayLayer& layer = layers_[program_.layer[row]];
    layer.layer = program_.layer[row];
    ++layer.pairs;
    layer.trace += own.duration;
    layer.model += other.duration;
    const std::string model = name_of(row);
    const std::string kernel(capture.texts[capture.device_ops[op].name]);
    OverlayGroup& group = groups_[{model, kernel}];
    group.model = model;
    group.kernel = kernel;
    group.op_class = own.op_class;
    group.phase = program_.phase[row];
    ++group.count;
    group.same_shape += same_shape ? 1 : 0;
    group.trace += own.duration;
    group.model_time += other.duration;
    keep_largest({rank.rank.value_or(-1), op, row, model, kernel, program_.layer[row], own.duration, other.duration});
  }

  void keep_largest(OverlayPair pair) {
    const auto difference = [](const OverlayPair& one) { return std::llabs(one.model_time - one.trace); };
    auto& largest = overlay_.largest;
    if (largest.size() == most_pairs && difference(pair) <= difference(largest.back())) return;
    const auto place = std::find_if(largest.begin(), largest.end(),
                                    [&](const OverlayPair& one) { return difference(one) < difference(pair); });
    largest.insert(place, std::move(pair));
    if (largest.size() > most_pairs) largest.pop_back();
  }

  static std::vector<OverlayLone> longest_first(const Lones& lones) {
    std::vector<OverlayLone> list;
    for (const auto& [key, sum] : lones) list.push_back({key.name, key.operation, key.op_class, sum});
    std::stable_sort(list.begin(), list.end(),
                     [](const OverlayLone& a, const OverlayLone& b) { return a.sum.time > b.sum.time; });
    return list;
  }

  void finish() {
    overlay_.only_trace = longest_first(only_trace_);
    overlay_.only_model = longest_first(only_model_);
    for (auto& [key, group] : groups_) overlay_.groups.push_back(std::move(group));
    std::stable_sort(overlay_.groups.begin(), overlay_.groups.end(), [](const OverlayGroup& a, const OverlayGroup& b) {
      return std::llabs(a.difference()) > std::llabs(b.difference());
    });
    for (const auto& [number, layer] : layers_) overlay_.layers.push_back(layer);
    for (std::size_t i = 0; i < ratios_.size(); ++i) {
      auto& ratios = ratios_[i];
      if (ratios.empty()) continue;
      std::sort(ratios.begin(), ratios.end());
      const auto at = [&](std::size_t tenths) { return ratios[(ratios.size() - 1) * tenths / 10]; };
      overlay_.classes[i].ratio = {at(1), at(5), at(9)};
    }
    const auto& products = overlay_.classes[static_cast<std::size_t>(OpClass::gemm)];
    if (products_with_shapes_ > 0 && products.same_shape == 0) {
      note("no product of the trace has the shape of one of the model: another model, batch or layout?");
    }
    if (joined_ > 0) {
      note(fmt::format(
          "{} products of the trace are further parts of one of the model (projections that are not joined)", joined_));
    }
    if (!overlay_.is_exact) note("too long for the best alignment: aligned piece by piece");
  }

  const CapturedRun& run_;
  const Program& program_;
  const Timeline& timeline_;
  const OverlayOptions& options_;
  std::optional<std::int64_t> step_;
  Overlay overlay_;
  std::map<RoleId, GeneratedSide> generated_;
  std::map<std::pair<std::string, std::string>, OverlayGroup> groups_;
  std::map<std::int32_t, OverlayLayer> layers_;
  std::int64_t joined_ = 0;
  std::int64_t products_with_shapes_ = 0;  // of the trace
  Lones only_trace_;
  Lones only_model_;
  std::array<std::vector<double>, 7> ratios_;
};

double covered(const std::vector<OverlayRank>& ranks, OverlaySide OverlayRank::* paired,
               OverlaySide OverlayRank::* all) {
  double part = 0;
  double whole = 0;
  for (const auto& rank : ranks) {
    part += static_cast<double>((rank.*paired).time);
    whole += static_cast<double>((rank.*all).time);
  }
  return whole > 0 ? part / whole : 0;
}

}  // namespace

double Overlay::trace_coverage() const { return covered(ranks, &OverlayRank::trace_paired, &OverlayRank::trace_all); }
double Overlay::trace_coverage_by_shape() const {
  return covered(ranks, &OverlayRank::trace_same_shape, &OverlayRank::trace_all);
}
double Overlay::model_coverage() const { return covered(ranks, &OverlayRank::model_paired, &OverlayRank::model_all); }

Overlay lay_over(const CapturedRun& run, const Program& program, const Timeline& timeline, std::string experiment,
                 const OverlayOptions& options) {
  return Layer(run, program, timeline, options).run(std::move(experiment));
}

}  // namespace warploom
