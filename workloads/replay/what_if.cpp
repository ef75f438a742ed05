// SPDX-License-Identifier: Apache-2.0
// Patterns over names, medians over ranks.
#include "workloads/replay/what_if.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>

#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"
#include "traces/communication_cause.hpp"
#include "traces/median.hpp"
#include "traces/metrics.hpp"
#include "traces/recorded_time.hpp"

namespace warploom {

namespace {

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

// Which texts of a capture fit a pattern, decided once a text.
class Fitting {
 public:
  Fitting(const Capture& capture, std::string_view pattern) : fits_(capture.texts.size()) {
    for (TextId id = 0; id < fits_.size(); ++id) fits_[id] = matches(pattern, capture.texts[id]);
  }
  bool operator()(const DeviceOp& op) const { return op.name != nothing && fits_[op.name]; }

 private:
  std::vector<bool> fits_;
};

class Editing {
 public:
  Editing(const CapturedRun& run, Retiming& retiming) : run_(run), retiming_(retiming) {
    if (retiming_.durations.empty()) {
      for (std::size_t i = 0; i < run.captures.size(); ++i) {
        auto& durations = retiming_.durations.emplace_back();
        for (std::size_t k = 0; k < run.captures[i].device_ops.size(); ++k) {
          const std::uint32_t matched = run.matching.of_op[i][k];
          durations.push_back(matched == nothing ? run.captures[i].device_ops[k].duration
                                                 : run.matching.collectives[matched].transfer);
        }
      }
    }
    for (const auto& capture : run.captures) retiming_.follows.emplace_back(capture.device_ops.size(), false);
    for (std::size_t i = 0; i < run.captures.size(); ++i) {
      auto& thinks = retiming_.thinks.emplace_back();
      for (const auto& step : run.graphs[i].steps) thinks.push_back(step.think);
    }
    retiming_.slow_downs.assign(run.captures.size(), 1.0);
  }

  void scale(const ScaleEdit& edit) {
    for_each(edit.kernels, [&](std::size_t capture, std::size_t op) { multiply(capture, op, edit.by); });
  }
  void remove(const RemoveEdit& edit) {
    for_each(edit.kernels, [&](std::size_t capture, std::size_t op) {
      retiming_.durations[capture][op] = 0;
      retiming_.follows[capture][op] = true;
      drop_call(capture, op);
    });
  }
  void add(const AddEdit& edit) {
    for_each(edit.after, [&](std::size_t capture, std::size_t op) {
      retiming_.durations[capture][op] += nanoseconds(edit.duration) + run_.graphs[capture].lags.typical_queue();
    });
  }

  // Of neighbours on a stream the later ones belong to the first.
  void fuse(const FuseEdit& edit) {
    bool any = false;
    for (std::size_t i = 0; i < run_.captures.size(); ++i) {
      const auto& capture = run_.captures[i];
      const Fitting fits(capture, edit.kernels);
      for (std::size_t k = 0; k < capture.device_ops.size(); ++k) {
        const std::uint32_t before = run_.graphs[i].before[k];
        if (before == nothing || !fits(capture.device_ops[k]) || !fits(capture.device_ops[before])) continue;
        any = true;
        retiming_.follows[i][k] = true;
        multiply(i, k, edit.by);
        if (!retiming_.follows[i][before]) multiply(i, before, edit.by);
      }
    }
    if (!any) nothing_fits("fuse", edit.kernels);
  }

  void slow(const StragglerEdit& edit) { retiming_.slow_downs[capture_of(edit.rank)] *= edit.slow_down; }

  // Thread times and kernels of these ranks become the median of the other ranks', place by place.
  void even_out(const std::vector<std::int64_t>& ranks) {
    std::vector<bool> is_straggler(run_.captures.size(), false);
    for (const auto rank : ranks) is_straggler[capture_of(rank)] = true;
    for (std::size_t i = 0; i < run_.captures.size(); ++i) {
      if (!is_straggler[i]) continue;
      even_starts(i, is_straggler);
      even_thinks(i, is_straggler);
      even_kernels(i, is_straggler);
    }
  }

  void host(const HostEdit& edit) {
    retiming_.think_scale *= edit.scale;
    if (edit.launch) retiming_.launch_latency = nanoseconds(*edit.launch);
    // One launch for all: the host does nothing between kernels, and nothing waits for it.
    retiming_.graphs = retiming_.graphs || edit.graphs;
    if (edit.graphs) retiming_.think_scale = 0;
  }

 private:
  template <class Visit>
  void for_each(const std::string& pattern, Visit visit) {
    bool any = false;
    for (std::size_t i = 0; i < run_.captures.size(); ++i) {
      const Fitting fits(run_.captures[i], pattern);
      for (std::size_t k = 0; k < run_.captures[i].device_ops.size(); ++k) {
        if (!fits(run_.captures[i].device_ops[k])) continue;
        any = true;
        visit(i, k);
      }
    }
    if (!any) nothing_fits("kernels", pattern);
  }

  [[noreturn]] void nothing_fits(std::string_view key, const std::string& pattern) const {
    std::vector<std::string> names;
    for (const auto& capture : run_.captures) {
      for (const auto& op : capture.device_ops) {
        if (names.size() < 10'000 && is_work(op)) names.emplace_back(capture.texts[op.name]);
      }
    }
    throw UserError(fmt::format("`{}`: no device operation is called {}", key, warploom::quoted(pattern)),
                    suggestion(pattern, names, "`*` stands for any text: `*gemm*`; `warploom inspect` lists names"));
  }

  void multiply(std::size_t capture, std::size_t op, double by) {
    auto& duration = retiming_.durations[capture][op];
    duration = static_cast<Nanoseconds>(std::llround(static_cast<double>(duration) * by));
  }

  // The call that launched it takes no time either; the host goes on at once.
  void drop_call(std::size_t capture, std::size_t op) {
    const std::uint32_t launch = run_.captures[capture].device_ops[op].launch;
    if (launch == nothing) return;
    const auto& graph = run_.graphs[capture];
    const std::uint32_t step = graph.step_of_call[launch];
    if (step == nothing || step + 1 >= graph.steps.size()) return;
    const auto& next = graph.steps[step + 1];
    const auto& calls = run_.captures[capture].calls;
    if (calls[next.call].thread != calls[launch].thread || graph.steps[step].blocks()) return;
    auto& think = retiming_.thinks[capture][step + 1];
    think = std::max<Nanoseconds>(0, think - calls[launch].duration);
  }

  std::size_t capture_of(std::int64_t rank) const {
    for (std::size_t i = 0; i < run_.captures.size(); ++i) {
      if (known_rank(run_.captures[i]).value_or(static_cast<std::int64_t>(i)) == rank) return i;
    }
    throw UserError(fmt::format("rank {} is not among the captures", rank), "`warploom inspect` lists their ranks");
  }

  void even_starts(std::size_t straggler, const std::vector<bool>& is_straggler) {
    std::vector<Nanoseconds> begins;
    for (std::size_t i = 0; i < run_.captures.size(); ++i) {
      Nanoseconds first = std::numeric_limits<Nanoseconds>::max();
      for (const auto& op : run_.captures[i].device_ops) first = std::min(first, op.start);
      for (const auto& call : run_.captures[i].calls) first = std::min(first, call.start);
      if (!is_straggler[i]) begins.push_back(first - run_.captured.origin[i]);
    }
    retiming_.starts.resize(run_.captures.size());
    if (!begins.empty()) retiming_.starts[straggler] = upper_median(begins);
  }

  // Ranks of one program make the same launches: the k-th operation of a rank is the k-th of the others.
  void even_thinks(std::size_t straggler, const std::vector<bool>& is_straggler) {
    const auto times_to_launch = [&](std::size_t capture) {
      std::vector<std::uint32_t> launching;
      for (const auto& op : run_.captures[capture].device_ops) {
        if (op.launch == nothing) continue;
        const std::uint32_t step = run_.graphs[capture].step_of_call[op.launch];
        if (step != nothing) launching.push_back(step);
      }
      std::sort(launching.begin(), launching.end());
      launching.erase(std::unique(launching.begin(), launching.end()), launching.end());
      return launching;
    };
    const auto own = times_to_launch(straggler);
    std::vector<std::vector<std::uint32_t>> others;
    std::vector<std::size_t> captures;
    for (std::size_t i = 0; i < run_.captures.size(); ++i) {
      if (is_straggler[i]) continue;
      auto steps = times_to_launch(i);
      if (steps.size() != own.size()) continue;
      others.push_back(std::move(steps));
      captures.push_back(i);
    }
    if (others.empty()) {
      throw UserError("`even_out`: no other rank makes as many launches: there is no median to take");
    }
    for (std::size_t k = 0; k < own.size(); ++k) {
      std::vector<Nanoseconds> thinks;
      for (std::size_t i = 0; i < others.size(); ++i)
        thinks.push_back(run_.graphs[captures[i]].steps[others[i][k]].think);
      retiming_.thinks[straggler][own[k]] = upper_median(thinks);
    }
  }

  void even_kernels(std::size_t straggler, const std::vector<bool>& is_straggler) {
    auto& durations = retiming_.durations[straggler];
    for (std::size_t k = 0; k < durations.size(); ++k) {
      const auto& op = run_.captures[straggler].device_ops[k];
      if (op.op_class == OpClass::communication || !is_work(op)) continue;
      std::vector<Nanoseconds> others;
      for (std::size_t i = 0; i < run_.captures.size(); ++i) {
        if (is_straggler[i] || run_.captures[i].device_ops.size() != durations.size()) continue;
        const auto& other = run_.captures[i].device_ops[k];
        if (run_.captures[i].texts[other.name] == run_.captures[straggler].texts[op.name]) {
          others.push_back(retiming_.durations[i][k]);
        }
      }
      if (!others.empty()) durations[k] = upper_median(others);
    }
  }

  const CapturedRun& run_;
  Retiming& retiming_;
};

// Those of data parallelism, or as asked for.
bool grows(std::string_view description, const ReplicasEdit& edit, bool any_is_data) {
  if (!edit.group.empty()) return matches(edit.group, description);
  return any_is_data && communication_cause(description) == Cause::exposed_dp;
}

void add_replicas(const ReplicasEdit& edit, const CapturedRun& run, Retiming& retiming) {
  if (retiming.devices < 1) {
    throw UserError("`data_parallel` needs a network to grow on", "name a cluster: `--on CLUSTER`");
  }
  bool any_is_data = false;
  for (const auto& capture : run.captures) {
    for (const auto& group : capture.groups) {
      any_is_data = any_is_data || communication_cause(group.description) == Cause::exposed_dp;
    }
  }
  const Stride replicas{edit.times, retiming.devices};
  std::vector<bool> is_larger(retiming.groups.size(), false);
  for (std::size_t i = 0; i < run.matching.collectives.size(); ++i) {
    if (i >= retiming.collectives.size() || !retiming.collectives[i]) continue;
    const auto& member = run.matching.collectives[i].members.front();
    const auto& capture = run.captures[member.capture];
    const auto& op = capture.device_ops[member.op];
    if (grows(group_description(capture, op), edit, any_is_data)) is_larger[retiming.collectives[i]->call.group] = true;
  }
  if (std::none_of(is_larger.begin(), is_larger.end(), [](bool larger) { return larger; })) {
    throw UserError(
        "`data_parallel`: no process group of the traces says that it is data-parallel",
        "say which groups grow by their description: `data_parallel: {times: 2, group: \"default_pg\"}`, or "
        "`group: \"*\"` for all");
  }
  for (std::size_t i = 0; i < retiming.groups.size(); ++i) {
    auto& group = retiming.groups[i];
    if (is_larger[i]) {
      group.members.digits.push_back(replicas);
    } else {
      for (auto& box : group.instances) box.digits.push_back(replicas);
    }
  }
  retiming.replicas = edit.times;
}

}  // namespace

bool matches(std::string_view pattern, std::string_view name) {
  // The last star takes as much as needed: backtracking to it alone is enough.
  std::size_t p = 0;
  std::size_t n = 0;
  std::size_t star = std::string_view::npos;
  std::size_t taken = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || lower(pattern[p]) == lower(name[n]))) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++taken;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

WhatIf read_what_if(const std::string& path) {
  const ConfigValue config = load_config(path);
  Diagnostics diagnostics;
  auto what_if = read<WhatIf>(config, diagnostics);
  if (!diagnostics.has_errors()) report_unread(config, diagnostics);
  diagnostics.throw_if_any();
  return what_if;
}

std::string what_if_schema() { return json_schema<WhatIf>("Warploom what-if"); }

void apply(const WhatIf& what_if, const CapturedRun& run, Retiming& retiming) {
  Editing editing(run, retiming);
  for (const auto& edit : what_if.scale) editing.scale(edit);
  for (const auto& edit : what_if.fuse) editing.fuse(edit);
  for (const auto& edit : what_if.add) editing.add(edit);
  for (const auto& edit : what_if.remove) editing.remove(edit);
  if (!what_if.even_out.empty()) editing.even_out(what_if.even_out);
  for (const auto& edit : what_if.straggler) editing.slow(edit);
  if (what_if.host) editing.host(*what_if.host);
  if (what_if.data_parallel) add_replicas(*what_if.data_parallel, run, retiming);
  retiming.is_serial = !what_if.overlap;
}

}  // namespace warploom
