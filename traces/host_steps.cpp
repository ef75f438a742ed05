// SPDX-License-Identifier: Apache-2.0
// Steps, what they waited for, and which thread took over from which.
#include "traces/host_steps.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "sim/core/text.hpp"
#include "traces/launch_queue.hpp"

namespace warploom {

namespace {

constexpr Nanoseconds silence = 100'000;  // a thread without a call for so long may have waited for another
constexpr std::size_t farthest_look = 64;
constexpr std::size_t most_streams = 64;  // that one call is taken to wait for

class StepFinder {
 public:
  StepFinder(const Capture& capture, const LaunchOrder& order, CaptureGraph& graph)
      : capture_(capture),
        order_(order),
        graph_(graph),
        near_(tolerance(capture)),
        full_queues_(find_full_queues(capture, graph.before)) {
    for (std::uint32_t i = 0; i < capture.syncs.size(); ++i) {
      if (capture.syncs[i].kind != SyncKind::stream_wait) sync_of_.emplace(capture.syncs[i].correlation, i);
    }
  }

  // Calls stand by thread and start.
  void run() {
    graph_.step_of_call.assign(capture_.calls.size(), nothing);
    graph_.steps.reserve(most_steps());
    std::uint32_t thread = nothing;
    Nanoseconds done = 0;  // up to here the thread's time is told
    for (std::uint32_t i = 0; i < capture_.calls.size(); ++i) {
      const auto& call = capture_.calls[i];
      HostStep step;
      step.call = i;
      find_return(i, step);
      if (!step.blocks() && order_.ops_of_call(i).empty()) continue;
      if (call.thread != thread) {
        thread = call.thread;
        done = graph_.begin;
        ++graph_.counts.timed_gaps;
      }
      // Nested calls (a driver call inside a runtime call) begin before the outer one has returned.
      step.think = std::max<Nanoseconds>(0, call.start - done);
      done = std::max(done, step.blocks() ? call.end() : call.start);
      graph_.step_of_call[i] = static_cast<std::uint32_t>(graph_.steps.size());
      graph_.steps.push_back(step);
    }
  }

  void guess_hand_offs() {
    std::uint32_t giver = nothing;
    for (const std::uint32_t call : order_.calls()) {
      const std::uint32_t i = graph_.step_of_call[call];
      if (i == nothing) continue;
      if (giver != nothing) guess_hand_off(giver, i);
      giver = i;
    }
  }

 private:
  const HostCall& call_of(std::uint32_t step) const { return capture_.calls[graph_.steps[step].call]; }

  std::size_t most_steps() {
    std::size_t count = 0;
    for (std::uint32_t i = 0; i < capture_.calls.size(); ++i) {
      if (!order_.ops_of_call(i).empty() || may_block(capture_.calls[i])) ++count;
    }
    return count;
  }

  bool may_block(const HostCall& call) {
    switch (call.kind) {
      case CallKind::event_sync:
      case CallKind::stream_sync:
      case CallKind::device_sync:
        return true;
      case CallKind::other:
        return frees(call.name);
      default:
        return false;
    }
  }

  // Freeing memory waits for the device: nobody says so in a trace, the call is just long.
  bool frees(TextId name) {
    if (name == nothing) return false;
    if (frees_.empty()) frees_.resize(capture_.texts.size());
    auto& known = frees_[name];
    if (!known) known = capture_.texts[name].find("Free") != std::string_view::npos;
    return *known;
  }

  // `giver` is the step before `taker` in time.
  void guess_hand_off(std::uint32_t giver, std::uint32_t taker) {
    auto& step = graph_.steps[taker];
    const auto& from = call_of(giver);
    const auto& to = call_of(taker);
    if (from.thread == to.thread || step.think < silence) return;
    const Nanoseconds given = graph_.steps[giver].blocks() ? from.end() : from.start;
    const bool goes_on = giver + 1 < graph_.steps.size() && call_of(giver + 1).thread == from.thread &&
                         call_of(giver + 1).start < to.start + silence;
    if (given > to.start || goes_on) return;
    step.handed_by = giver;
    step.think = to.start - given;
    ++graph_.counts.inferred;
  }

  void wait_for(std::uint32_t op) {
    if (op != nothing) graph_.waits.push_back(op);
  }

  // A call that has waits.
  void find_return(std::uint32_t index, HostStep& step) {
    const auto first = static_cast<std::uint32_t>(graph_.waits.size());
    const auto hold = find_waits(index);
    if (!hold) return;
    step.blocked = static_cast<std::uint32_t>(graph_.returns.size());
    graph_.returns.push_back({*hold, first, static_cast<std::uint32_t>(graph_.waits.size()) - first});
  }

  // How long after `latest` had ended the call returned.
  static Nanoseconds hold(const HostCall& call, Nanoseconds latest) {
    return latest > call.start ? std::max<Nanoseconds>(0, call.end() - latest) : call.duration;
  }

  // What the call waited for, at the end of `waits`, and how long it held the thread after that; nothing where it did
  // not wait.
  std::optional<Nanoseconds> find_waits(std::uint32_t index) {
    const auto& call = capture_.calls[index];
    if (call.kind == CallKind::copy) {
      const auto own = order_.ops_of_call(index);
      // A copy that had ended when its call returned was waited for.
      if (own.empty() || capture_.device_ops[own.front()].end() > call.end() + near_) return std::nullopt;
      wait_for(own.front());
      return hold(call, capture_.device_ops[own.front()].end());
    }
    if (const auto full = full_queues_.find(index); full != full_queues_.end()) {
      wait_for(full->second);
      ++graph_.counts.inferred;
      return hold(call, capture_.device_ops[full->second].end());
    }
    if (!may_block(call)) return std::nullopt;
    if (const auto sync = sync_of_.find(call.correlation); call.correlation != 0 && sync != sync_of_.end()) {
      if (const auto held = recorded_wait(capture_.syncs[sync->second], call)) return held;
    }
    return guess_wait(call);
  }

  std::optional<Nanoseconds> recorded_wait(const Sync& sync, const HostCall& call) {
    Nanoseconds latest = 0;
    bool any = false;
    const auto take = [&](std::uint32_t op) {
      if (op == nothing || capture_.device_ops[op].end() > call.end() + near_) return;
      wait_for(op);
      latest = any ? std::max(latest, capture_.device_ops[op].end()) : capture_.device_ops[op].end();
      any = true;
    };
    if (sync.kind == SyncKind::context_sync) {
      for (std::uint32_t stream = 0; stream < std::min(order_.stream_count(), most_streams); ++stream) {
        take(order_.last_before(stream, call.start));
      }
    } else if (sync.kind == SyncKind::stream_sync && sync.stream != nothing) {
      take(order_.last_before(sync.stream, call.start));
    } else if (sync.kind == SyncKind::event_sync && sync.recorded_on != nothing) {
      if (const auto record = order_.start_of_call(sync.record_correlation)) {
        take(order_.last_before(sync.recorded_on, *record));
      }
    }
    if (!any) return std::nullopt;
    ++graph_.counts.recorded;
    return hold(call, latest);
  }

  // Of all that was launched before the call, what ended last before it returned; nothing where that was over before.
  std::optional<Nanoseconds> guess_wait(const HostCall& call) {
    std::uint32_t last = nothing;
    for (std::uint32_t stream = 0; stream < std::min(order_.stream_count(), most_streams); ++stream) {
      const std::uint32_t op = order_.last_ended(stream, call.start, call.end() + near_, farthest_look);
      if (op == nothing) continue;
      if (last == nothing || capture_.device_ops[op].end() > capture_.device_ops[last].end()) last = op;
    }
    if (last == nothing || capture_.device_ops[last].end() <= call.start) return std::nullopt;
    wait_for(last);
    if (call.kind == CallKind::device_sync) wait_for_all_streams(call, last);
    ++graph_.counts.inferred;
    return hold(call, capture_.device_ops[last].end());
  }

  // On other hardware another stream may be the last.
  void wait_for_all_streams(const HostCall& call, std::uint32_t known) {
    for (std::uint32_t stream = 0; stream < std::min(order_.stream_count(), most_streams); ++stream) {
      const std::uint32_t op = order_.last_before(stream, call.start);
      if (op != nothing && op != known && capture_.device_ops[op].end() <= call.end() + near_) wait_for(op);
    }
  }

  const Capture& capture_;
  const LaunchOrder& order_;
  CaptureGraph& graph_;
  Nanoseconds near_;
  std::unordered_map<std::uint32_t, std::uint32_t> full_queues_;  // launch calls that waited for a place
  std::unordered_map<std::uint64_t, std::uint32_t> sync_of_;
  std::vector<std::optional<bool>> frees_;  // by name
};

}  // namespace

void find_host_steps(const Capture& capture, const LaunchOrder& order, bool guess_hand_offs, CaptureGraph& graph) {
  StepFinder finder(capture, order, graph);
  finder.run();
  if (guess_hand_offs) finder.guess_hand_offs();
}

}  // namespace warploom
