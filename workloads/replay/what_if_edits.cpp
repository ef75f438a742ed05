// SPDX-License-Identifier: Apache-2.0
// Patterns over names, medians over ranks.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <set>

#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"
#include "traces/communication_cause.hpp"
#include "traces/median.hpp"
#include "traces/metrics.hpp"
#include "traces/recorded_time.hpp"
#include "workloads/replay/what_if.hpp"

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

// The words of names, with and without their digits: what a pattern between its stars can have meant.
std::vector<std::string> words_of(const std::vector<std::string>& names) {
  std::set<std::string> words(names.begin(), names.end());
  for (const bool digits_too : {true, false}) {
    for (const auto& name : names) {
      std::string word;
      for (const char c : name + " ") {
        const auto letter = static_cast<unsigned char>(c);
        const bool goes_on = (digits_too ? std::isalnum(letter) : std::isalpha(letter)) != 0;
        if (!goes_on && word.size() > 2) words.insert(word);
        if (goes_on) {
          word += c;
        } else {
          word.clear();
        }
      }
    }
  }
  return {words.begin(), words.end()};
}

class Editing {
 public:
  Editing(const WhatIf& what_if, const CapturedRun& run, Retiming& retiming)
      : what_if_(what_if), run_(run), retiming_(retiming) {
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
    retiming_.added.resize(run.captures.size());
    for (const auto& capture : run.captures) retiming_.removed.emplace_back(capture.device_ops.size(), false);
  }

  void run() {
    each("remove", what_if_.remove, [this](const RemoveEdit& edit) { remove(edit); });
    drop_calls();
    each("scale", what_if_.scale, [this](const ScaleEdit& edit) { scale(edit); });
    each("fuse", what_if_.fuse, [this](const FuseEdit& edit) { fuse(edit); });
    each("add", what_if_.add, [this](const AddEdit& edit) { add(edit); });
    place_ = "even_out";
    if (!what_if_.even_out.empty()) even_out(what_if_.even_out);
    each("straggler", what_if_.straggler, [this](const StragglerEdit& edit) { slow(edit); });
    if (what_if_.host) host(*what_if_.host);
    each("collective", what_if_.collective, [this](const CollectiveEdit& edit) { require_kind(edit); });
    place_ = "data_parallel";
    if (what_if_.data_parallel) add_replicas(*what_if_.data_parallel);
    retiming_.is_serial = !what_if_.overlap;
    mistakes_.throw_if_any();
  }

 private:
  template <class Edit, class Apply>
  void each(std::string_view list, const std::vector<Edit>& edits, Apply apply) {
    for (std::size_t i = 0; i < edits.size(); ++i) {
      place_ = fmt::format("{}[{}]", list, i);
      is_multiplied_.clear();
      apply(edits[i]);
    }
  }

  // Of the edit at hand; `key` may be empty.
  void mistake(std::string_view key, std::string message, std::string hint) {
    std::string path = key.empty() ? place_ : fmt::format("{}.{}", place_, key);
    mistakes_.error(place_of(what_if_.written, path), path, std::move(message), std::move(hint));
  }

  void scale(const ScaleEdit& edit) {
    for_each("kernels", edit.kernels, [&](std::size_t capture, std::size_t op) { multiply(capture, op, edit.by); });
  }
  void remove(const RemoveEdit& edit) {
    const auto visit = [&](std::size_t capture, std::size_t op) { retiming_.removed[capture][op] = true; };
    for_each("kernels", edit.kernels, visit, true);
  }
  void add(const AddEdit& edit) {
    for_each("after", edit.after, [&](std::size_t capture, std::size_t op) {
      retiming_.added[capture][static_cast<std::uint32_t>(op)] += nanoseconds(edit.duration);
    });
  }

  // Of neighbours on a stream the later ones belong to the first.
  void fuse(const FuseEdit& edit) {
    bool any = false;
    for (std::size_t i = 0; i < run_.captures.size(); ++i) {
      const auto& ops = run_.captures[i].device_ops;
      const Fitting fits(run_.captures[i], edit.kernels);
      std::vector<std::uint32_t> before = run_.graphs[i].before;  // what is left of it
      for (std::size_t k = 0; k < ops.size(); ++k) {
        if (before[k] != nothing && retiming_.removed[i][before[k]]) before[k] = before[before[k]];
        if (before[k] == nothing || retiming_.removed[i][k] || !fits(ops[k]) || !fits(ops[before[k]])) continue;
        any = true;
        retiming_.follows[i][k] = true;
        multiply(i, k, edit.by);
        if (!retiming_.follows[i][before[k]]) multiply(i, before[k], edit.by);
      }
    }
    if (!any) nothing_fits("kernels", edit.kernels, "no two neighbours on a stream are called");
  }

  void slow(const StragglerEdit& edit) {
    if (const auto capture = capture_of("rank", edit.rank)) retiming_.slow_downs[*capture] *= edit.slow_down;
  }

  // Thread times and kernels of these ranks become the median of the other ranks', place by place.
  void even_out(const std::vector<std::int64_t>& ranks) {
    std::vector<bool> is_straggler(run_.captures.size(), false);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      place_ = fmt::format("even_out[{}]", i);
      if (const auto capture = capture_of("", ranks[i])) is_straggler[*capture] = true;
    }
    if (std::find(is_straggler.begin(), is_straggler.end(), false) == is_straggler.end()) {
      place_ = "even_out";
      return mistake("", "every rank that was captured is evened out: nobody is left to take the median of",
                     "name the stragglers alone; `warploom inspect` says whom the others waited for");
    }
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

  template <class Visit>
  void for_each(std::string_view key, const std::string& pattern, Visit visit, bool removed_too = false) {
    bool any = false;
    for (std::size_t i = 0; i < run_.captures.size(); ++i) {
      const Fitting fits(run_.captures[i], pattern);
      for (std::size_t k = 0; k < run_.captures[i].device_ops.size(); ++k) {
        if ((retiming_.removed[i][k] && !removed_too) || !fits(run_.captures[i].device_ops[k])) continue;
        any = true;
        visit(i, k);
      }
    }
    if (!any) nothing_fits(key, pattern, "no device operation is called");
  }

  void nothing_fits(std::string_view key, const std::string& pattern, std::string_view problem) {
    constexpr std::size_t most_names = 10'000;
    std::set<std::string> names;
    bool any_removed = false;
    for (std::size_t i = 0; i < run_.captures.size(); ++i) {
      const auto& capture = run_.captures[i];
      for (std::size_t k = 0; k < capture.device_ops.size(); ++k) {
        const auto& op = capture.device_ops[k];
        any_removed = any_removed || (retiming_.removed[i][k] && matches(pattern, capture.texts[op.name]));
        if (names.size() < most_names && is_work(op)) names.emplace(capture.texts[op.name]);
      }
    }
    std::string plain = pattern;
    std::erase_if(plain, [](char c) { return c == '*' || c == '?'; });
    const auto near = nearest_name(plain, words_of({names.begin(), names.end()}));
    std::string hint = "`*` stands for any text: `*gemm*`; `warploom inspect` lists names";
    if (near) hint = fmt::format("did you mean `{}`?", names.contains(*near) ? *near : "*" + *near + "*");
    if (any_removed) hint = "those that are called so are removed: `remove` comes first";
    mistake(key, fmt::format("{} {}", problem, warploom::quoted(pattern)), std::move(hint));
  }

  void multiply(std::size_t capture, std::size_t op, double by) {
    auto& duration = retiming_.durations[capture][op];
    duration = static_cast<Nanoseconds>(std::llround(static_cast<double>(duration) * by));
    const std::uint32_t matched = run_.matching.of_op[capture][op];
    if (matched >= retiming_.collectives.size() || !retiming_.collectives[matched]) return;
    // Each of its members is met, and it is one.
    if (is_multiplied_.empty()) is_multiplied_.resize(retiming_.collectives.size());
    if (is_multiplied_[matched]) return;
    is_multiplied_[matched] = true;
    retiming_.collectives[matched]->stretch *= by;
    if (by == 0) retiming_.collectives[matched].reset();  // the members' durations say it
  }

  // Calls whose operations are all removed take no time either; the host goes on at once.
  void drop_calls() {
    for (std::size_t i = 0; i < run_.captures.size(); ++i) {
      std::vector<bool> is_needed(run_.captures[i].calls.size(), false);
      std::set<std::uint32_t> dropped;
      const auto& ops = run_.captures[i].device_ops;
      for (std::size_t k = 0; k < ops.size(); ++k) {
        if (ops[k].launch != nothing && !retiming_.removed[i][k]) is_needed[ops[k].launch] = true;
      }
      for (std::size_t k = 0; k < ops.size(); ++k) {
        if (ops[k].launch != nothing && !is_needed[ops[k].launch]) dropped.insert(ops[k].launch);
      }
      for (const std::uint32_t call : dropped) drop_call(i, call);
    }
  }

  void drop_call(std::size_t capture, std::uint32_t launch) {
    const auto& graph = run_.graphs[capture];
    const std::uint32_t step = graph.step_of_call[launch];
    if (step == nothing || step + 1 >= graph.steps.size()) return;
    const auto& next = graph.steps[step + 1];
    const auto& calls = run_.captures[capture].calls;
    if (calls[next.call].thread != calls[launch].thread || graph.steps[step].blocks()) return;
    auto& think = retiming_.thinks[capture][step + 1];
    think = std::max<Nanoseconds>(0, think - calls[launch].duration);
  }

  std::int64_t rank_of(std::size_t capture) const {
    return known_rank(run_.captures[capture]).value_or(static_cast<std::int64_t>(capture));
  }
  std::optional<std::size_t> capture_of(std::string_view key, std::int64_t rank) {
    for (std::size_t i = 0; i < run_.captures.size(); ++i) {
      if (rank_of(i) == rank) return i;
    }
    constexpr std::size_t most_ranks = 32;
    std::vector<std::int64_t> ranks;
    for (std::size_t i = 0; i < std::min(most_ranks, run_.captures.size()); ++i) ranks.push_back(rank_of(i));
    mistake(key, fmt::format("rank {} is not among the captures", rank),
            fmt::format("captured: {}{}", fmt::join(ranks, ", "), run_.captures.size() > most_ranks ? ", ..." : ""));
    return std::nullopt;
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
      place_ = "even_out";
      return mistake("",
                     fmt::format("no other rank makes as many launches as rank {}: there is no median to take",
                                 rank_of(straggler)),
                     "ranks that do the same work have each other's median");
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

  template <class Visit>
  void for_each_planned(Visit visit) const {
    for (std::size_t i = 0; i < retiming_.collectives.size(); ++i) {
      if (retiming_.collectives[i]) visit(i, *retiming_.collectives[i]);
    }
  }

  void require_kind(const CollectiveEdit& edit) {
    std::set<std::string> kinds;
    for_each_planned([&](std::size_t, const PlannedCall& planned) { kinds.emplace(name(planned.call.kind)); });
    if (edit.kind.empty() ? !kinds.empty() : kinds.contains(edit.kind)) return;
    const std::vector<std::string> known(kinds.begin(), kinds.end());
    mistake(edit.kind.empty() ? "" : "kind",
            fmt::format("no collective of the run that can be planned is {}",
                        edit.kind.empty() ? "there" : warploom::quoted(edit.kind)),
            known.empty() ? "their sizes and ranks are not recorded" : fmt::format("there are {}", join(known)));
  }

  // Groups of data parallelism, or as asked for, hold `times` as many ranks; of the others there are as many more.
  void add_replicas(const ReplicasEdit& edit) {
    std::set<std::string> descriptions;
    std::vector<bool> is_larger(retiming_.groups.size(), false);
    for_each_planned([&](std::size_t i, const PlannedCall& planned) {
      const auto& member = run_.matching.collectives[i].members.front();
      const auto& capture = run_.captures[member.capture];
      const std::string_view description = group_description(capture, capture.device_ops[member.op]);
      descriptions.emplace(description);
      if (edit.group.empty() ? communication_cause(description) == Cause::exposed_dp
                             : matches(edit.group, description)) {
        is_larger[planned.call.group] = true;
      }
    });
    if (std::none_of(is_larger.begin(), is_larger.end(), [](bool larger) { return larger; })) {
      return no_group_grows(edit, {descriptions.begin(), descriptions.end()});
    }
    const Stride replicas{edit.times, retiming_.devices};
    for (std::size_t i = 0; i < retiming_.groups.size(); ++i) {
      auto& group = retiming_.groups[i];
      if (is_larger[i]) {
        group.members.digits.push_back(replicas);
      } else {
        for (auto& box : group.instances) box.digits.push_back(replicas);
      }
    }
    retiming_.replicas = edit.times;
  }

  void no_group_grows(const ReplicasEdit& edit, std::vector<std::string> descriptions) {
    std::erase(descriptions, "");
    const std::string all = descriptions.empty()
                                ? std::string("no collective of the run can be planned: sizes and ranks are missing")
                                : fmt::format("there are {}", join(descriptions));
    if (!edit.group.empty()) {
      mistake("group", fmt::format("no process group is described as {}", warploom::quoted(edit.group)),
              suggestion(edit.group, descriptions, all));
    } else {
      mistake("", "no process group of the traces says that it is data-parallel",
              fmt::format("say which groups grow by their description: `group: \"default_pg\"`, or `group: \"*\"` for "
                          "all; {}",
                          all));
    }
  }

  const WhatIf& what_if_;
  const CapturedRun& run_;
  Retiming& retiming_;
  Diagnostics mistakes_;
  std::string place_;                // of the edit at hand: "scale[1]"
  std::vector<bool> is_multiplied_;  // by collective: by the edit at hand
};

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

void apply(const WhatIf& what_if, const CapturedRun& run, Retiming& retiming) { Editing(what_if, run, retiming).run(); }

}  // namespace warploom
