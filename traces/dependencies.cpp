// SPDX-License-Identifier: Apache-2.0
// Stream order, events, and the assembly of a capture's graph; host_steps.cpp does the threads.
#include "traces/dependencies.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <tuple>

#include "sim/core/parallel.hpp"
#include "traces/host_steps.hpp"
#include "traces/launch_order.hpp"

namespace warploom {

namespace {

// How far back an operation that overlaps its neighbours looks for one that ended before it began.
constexpr std::size_t overlap_window = 16;

// What was seen of a stream so far.
struct StreamState {
  std::uint32_t last = nothing;  // what ends last
  Nanoseconds last_end = 0;
  std::array<std::uint32_t, overlap_window> recent{};  // a ring
  std::size_t seen = 0;
};

void find_stream_order(const Capture& capture, CaptureGraph& graph) {
  const Nanoseconds near = tolerance(capture);
  graph.before.assign(capture.device_ops.size(), nothing);
  std::vector<StreamState> streams(capture.streams.size());
  for (std::uint32_t i = 0; i < capture.device_ops.size(); ++i) {
    const auto& op = capture.device_ops[i];
    auto& before = graph.before[i];
    auto& stream = streams[op.stream];
    if (stream.last != nothing && stream.last_end <= op.start + near) {
      before = stream.last;
    } else {
      Nanoseconds latest = 0;
      for (std::size_t k = 0; k < std::min(stream.seen, overlap_window); ++k) {
        const std::uint32_t other = stream.recent[k];
        const Nanoseconds end = capture.device_ops[other].end();
        if (end > op.start + near) continue;
        if (before != nothing && std::tuple(end, other) < std::tuple(latest, before)) continue;
        before = other;
        latest = end;
      }
    }
    if (stream.last == nothing || op.end() >= stream.last_end) {
      stream.last = i;
      stream.last_end = op.end();
    }
    stream.recent[stream.seen++ % overlap_window] = i;
    if (before != nothing) ++graph.counts.ordered;
    ++(op.launch != nothing ? graph.counts.recorded : graph.counts.timed_gaps);
  }
}

// Operations and the calls in their order stand by start.
Nanoseconds first_event(const Capture& capture, const LaunchOrder& order) {
  Nanoseconds first = std::numeric_limits<Nanoseconds>::max();
  if (!capture.device_ops.empty()) first = capture.device_ops.front().start;
  if (!order.calls().empty()) first = std::min(first, capture.calls[order.calls().front()].start);
  return first == std::numeric_limits<Nanoseconds>::max() ? 0 : first;
}

class EdgeFinder {
 public:
  EdgeFinder(const Capture& capture, const LaunchOrder& order, CaptureGraph& graph)
      : capture_(capture), order_(order), graph_(graph), near_(tolerance(capture)) {}

  void run(bool guess_events) {
    for (const auto& edge : capture_.device_edges) add(edge.from, edge.to, !edge.is_inferred);
    const bool has_records = std::any_of(capture_.syncs.begin(), capture_.syncs.end(),
                                         [](const Sync& sync) { return sync.kind == SyncKind::stream_wait; });
    if (has_records) {
      for (const auto& sync : capture_.syncs) recorded_wait(sync);
    } else if (guess_events) {
      guess_waits();
    }
    auto& edges = graph_.edges;
    const auto key = [](const OpEdge& edge) { return std::tuple(edge.to, edge.from, !edge.is_recorded); };
    const auto earlier = [&](const OpEdge& a, const OpEdge& b) { return key(a) < key(b); };
    if (!std::is_sorted(edges.begin(), edges.end(), earlier)) std::sort(edges.begin(), edges.end(), earlier);
    edges.erase(std::unique(edges.begin(), edges.end(),
                            [](const OpEdge& a, const OpEdge& b) { return a.to == b.to && a.from == b.from; }),
                edges.end());
    for (const auto& edge : edges) ++(edge.is_recorded ? graph_.counts.recorded : graph_.counts.inferred);
  }

 private:
  void add(std::uint32_t from, std::uint32_t to, bool is_recorded) {
    if (from == nothing || to == nothing || from == to) return;
    const auto& first = capture_.device_ops[from];
    const auto& second = capture_.device_ops[to];
    // What begins first comes first in the program: an edge back in time has no place there.
    if (first.end() > second.start + near_ || from > to) {
      ++graph_.counts.contradicted;
      return;
    }
    graph_.edges.push_back({from, to, is_recorded});
  }

  // What the event's stream was given before the record, and what the waiting stream was given after the wait.
  void recorded_wait(const Sync& sync) {
    if (sync.kind != SyncKind::stream_wait || sync.stream == nothing || sync.recorded_on == nothing) return;
    if (sync.recorded_on == sync.stream) return;
    const auto record = order_.start_of_call(sync.record_correlation);
    const auto wait = order_.start_of_call(sync.correlation);
    if (!record || !wait) return;
    add(order_.last_before(sync.recorded_on, *record), order_.first_after(sync.stream, *wait), true);
  }

  // The two streams that were given work last.
  struct Recent {
    std::uint32_t last = nothing;
    std::uint32_t last_elsewhere = nothing;  // on another stream than `last`
  };

  void guess_waits() {
    std::vector<std::vector<Recent>> pending(capture_.threads.size());  // waits that no launch has followed yet
    Recent recent;
    for (const std::uint32_t index : order_.calls()) {
      const auto& call = capture_.calls[index];
      if (call.kind == CallKind::stream_wait) {
        if (pending[call.thread].size() < overlap_window) pending[call.thread].push_back(recent);
        continue;
      }
      const auto launched = order_.ops_of_call(index);
      if (launched.empty()) continue;
      for (const std::uint32_t op : launched) {
        for (const auto& known : pending[call.thread]) add_guess(known, op);
      }
      pending[call.thread].clear();
      for (const std::uint32_t op : launched) take(recent, op);
    }
  }

  void add_guess(const Recent& known, std::uint32_t op) {
    const auto stream_of = [&](std::uint32_t i) { return capture_.device_ops[i].stream; };
    const std::uint32_t stream = stream_of(op);
    std::uint32_t from = known.last;
    if (from != nothing && stream_of(from) == stream) from = known.last_elsewhere;
    if (from == nothing || stream_of(from) == stream) return;
    if (capture_.streams[stream_of(from)].device != capture_.streams[stream].device) return;
    add(from, op, false);
  }

  void take(Recent& recent, std::uint32_t op) const {
    if (recent.last != nothing && capture_.device_ops[recent.last].stream != capture_.device_ops[op].stream) {
      recent.last_elsewhere = recent.last;
    }
    recent.last = op;
  }

  const Capture& capture_;
  const LaunchOrder& order_;
  CaptureGraph& graph_;
  Nanoseconds near_;
};

}  // namespace

// What does not need each other runs side by side: one large capture is most of a run of one rank.
CaptureGraph find_dependencies(const Capture& capture, const InferenceOptions& options) {
  CaptureGraph graph;
  std::optional<LaunchOrder> order;
  in_parallel([&] { order.emplace(capture); }, [&] { find_stream_order(capture, graph); });
  graph.begin = first_event(capture, *order);
  EdgeFinder(capture, *order, graph).run(options.events);
  in_parallel([&] { graph.lags = LagModel(capture, graph.before, graph.edges); },
              [&] { find_host_steps(capture, *order, options.hand_offs, graph); });
  return graph;
}

}  // namespace warploom
