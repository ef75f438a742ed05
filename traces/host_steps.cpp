// SPDX-License-Identifier: Apache-2.0
// Steps, what they waited for, and which thread took over from which.
#include "traces/host_steps.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <unordered_map>

#include "sim/core/text.hpp"
#include "traces/launch_queue.hpp"

namespace warploom {

namespace {

constexpr Nanoseconds silence = 100'000;  // a thread without a call for so long may have waited for another
constexpr std::size_t farthest_look = 64;
constexpr std::size_t most_streams = 64;  // that one call is taken to wait for

// Freeing memory waits for the device: nobody says so in a trace, the call is just long.
bool may_block(const Capture& capture, const HostCall& call) {
  switch (call.kind) {
    case CallKind::event_sync:
    case CallKind::stream_sync:
    case CallKind::device_sync:
      return true;
    case CallKind::other: {
      const std::string_view name = capture.texts[call.name];
      return name.find("Free") != std::string_view::npos;
    }
    default:
      return false;
  }
}

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
    std::uint32_t thread = nothing;
    Nanoseconds done = 0;  // up to here the thread's time is told
    for (std::uint32_t i = 0; i < capture_.calls.size(); ++i) {
      const auto& call = capture_.calls[i];
      HostStep step;
      step.call = i;
      step.first_wait = static_cast<std::uint32_t>(graph_.waits.size());
      find_waits(i, step);
      if (!step.blocks && order_.ops_of_call(i).empty()) continue;
      step.wait_count = static_cast<std::uint32_t>(graph_.waits.size()) - step.first_wait;
      if (call.thread != thread) {
        thread = call.thread;
        done = origin();
        ++graph_.counts.timed_gaps;
      }
      // Nested calls (a driver call inside a runtime call) begin before the outer one has returned.
      step.think = std::max<Nanoseconds>(0, call.start - done);
      done = std::max(done, step.blocks ? call.end() : call.start);
      graph_.step_of_call[i] = static_cast<std::uint32_t>(graph_.steps.size());
      graph_.steps.push_back(step);
    }
  }

  void guess_hand_offs() {
    std::vector<std::uint32_t> by_start(graph_.steps.size());
    std::iota(by_start.begin(), by_start.end(), 0U);
    const auto start = [&](std::uint32_t i) { return call_of(i).start; };
    std::stable_sort(by_start.begin(), by_start.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return start(a) < start(b); });
    for (std::size_t place = 1; place < by_start.size(); ++place) {
      const std::uint32_t i = by_start[place];
      const std::uint32_t giver = by_start[place - 1];
      if (call_of(giver).thread == call_of(i).thread || graph_.steps[i].think < silence) continue;
      const auto& from = call_of(giver);
      const Nanoseconds given = graph_.steps[giver].blocks ? from.end() : from.start;
      const bool goes_on = giver + 1 < graph_.steps.size() && call_of(giver + 1).thread == from.thread &&
                           start(giver + 1) < start(i) + silence;
      if (given > start(i) || goes_on) continue;
      graph_.steps[i].handed_by = giver;
      graph_.steps[i].think = start(i) - given;
      ++graph_.counts.inferred;
    }
  }

 private:
  const HostCall& call_of(std::uint32_t step) const { return capture_.calls[graph_.steps[step].call]; }

  Nanoseconds origin() const {
    if (origin_ == nothing_yet) {
      for (const auto& op : capture_.device_ops) origin_ = std::min(origin_, op.start);
      for (const auto& call : capture_.calls) origin_ = std::min(origin_, call.start);
    }
    return origin_;
  }

  void wait_for(std::uint32_t op) {
    if (op != nothing) graph_.waits.push_back(op);
  }

  // The call returned once `latest` had ended.
  void block(HostStep& step, Nanoseconds latest) const {
    const auto& call = capture_.calls[step.call];
    step.blocks = true;
    step.hold = latest > call.start ? std::max<Nanoseconds>(0, call.end() - latest) : call.duration;
  }

  void find_waits(std::uint32_t index, HostStep& step) {
    const auto& call = capture_.calls[index];
    if (call.kind == CallKind::copy) {
      const auto own = order_.ops_of_call(index);
      // A copy that had ended when its call returned was waited for.
      if (own.empty() || capture_.device_ops[own.front()].end() > call.end() + near_) return;
      wait_for(own.front());
      return block(step, capture_.device_ops[own.front()].end());
    }
    if (const auto full = full_queues_.find(index); full != full_queues_.end()) {
      wait_for(full->second);
      ++graph_.counts.inferred;
      return block(step, capture_.device_ops[full->second].end());
    }
    if (!may_block(capture_, call)) return;
    if (const auto sync = sync_of_.find(call.correlation); call.correlation != 0 && sync != sync_of_.end()) {
      if (recorded_wait(capture_.syncs[sync->second], call, step)) return;
    }
    guess_wait(call, step);
  }

  bool recorded_wait(const Sync& sync, const HostCall& call, HostStep& step) {
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
    if (!any) return false;
    ++graph_.counts.recorded;
    block(step, latest);
    return true;
  }

  // Of all that was launched before the call, what ended last before it returned; nothing where that was over before.
  void guess_wait(const HostCall& call, HostStep& step) {
    std::uint32_t last = nothing;
    for (std::uint32_t stream = 0; stream < std::min(order_.stream_count(), most_streams); ++stream) {
      const std::uint32_t op =
          order_.last_ended(stream, call.start, call.end() + near_, capture_.device_ops, farthest_look);
      if (op == nothing) continue;
      if (last == nothing || capture_.device_ops[op].end() > capture_.device_ops[last].end()) last = op;
    }
    if (last == nothing || capture_.device_ops[last].end() <= call.start) return;
    wait_for(last);
    if (call.kind == CallKind::device_sync) wait_for_all_streams(call, last);
    ++graph_.counts.inferred;
    block(step, capture_.device_ops[last].end());
  }

  // On other hardware another stream may be the last.
  void wait_for_all_streams(const HostCall& call, std::uint32_t known) {
    for (std::uint32_t stream = 0; stream < std::min(order_.stream_count(), most_streams); ++stream) {
      const std::uint32_t op = order_.last_before(stream, call.start);
      if (op != nothing && op != known && capture_.device_ops[op].end() <= call.end() + near_) wait_for(op);
    }
  }

  static constexpr Nanoseconds nothing_yet = std::numeric_limits<Nanoseconds>::max();

  const Capture& capture_;
  const LaunchOrder& order_;
  CaptureGraph& graph_;
  Nanoseconds near_;
  std::unordered_map<std::uint32_t, std::uint32_t> full_queues_;  // launch calls that waited for a place
  std::unordered_map<std::uint64_t, std::uint32_t> sync_of_;
  mutable Nanoseconds origin_ = nothing_yet;
};

}  // namespace

void find_host_steps(const Capture& capture, const LaunchOrder& order, bool guess_hand_offs, CaptureGraph& graph) {
  StepFinder finder(capture, order, graph);
  finder.run();
  if (guess_hand_offs) finder.guess_hand_offs();
}

}  // namespace warploom
