// SPDX-License-Identifier: Apache-2.0
// Sorting that keeps references, joins by correlation, containment on a thread.
#include "traces/link.hpp"

#include <algorithm>
#include <tuple>

#include "traces/reorder.hpp"

namespace warploom {

namespace {

// Intervals of a thread nest: the outer comes first.
template <class Item>
bool on_thread_before(const Item& a, const Item& b) {
  return std::tuple(a.thread, a.start, -a.duration) < std::tuple(b.thread, b.start, -b.duration);
}

void sort_all(Capture& capture) {
  const auto new_host_op = reorder(capture.host_ops, on_thread_before<HostOp>);
  const auto new_call = reorder(capture.calls, on_thread_before<HostCall>);
  const auto new_op = reorder(capture.device_ops, [](const DeviceOp& a, const DeviceOp& b) {
    return std::tuple(a.start, -a.duration) < std::tuple(b.start, -b.duration);
  });
  for (auto& call : capture.calls) follow(call.host_op, new_host_op);
  for (auto& op : capture.device_ops) {
    follow(op.host_op, new_host_op);
    follow(op.launch, new_call);
  }
  for (auto& edge : capture.device_edges) {
    follow(edge.from, new_op);
    follow(edge.to, new_op);
  }
  for (auto& detail : capture.details) follow(detail.op, new_op);
  std::stable_sort(capture.annotations.begin(), capture.annotations.end(),
                   [](const Annotation& a, const Annotation& b) {
                     return std::tuple(a.start, -a.duration) < std::tuple(b.start, -b.duration);
                   });
  std::stable_sort(capture.syncs.begin(), capture.syncs.end(),
                   [](const Sync& a, const Sync& b) { return a.start < b.start; });
}

// The innermost operator that encloses each call, for calls of which the file says nothing.
void contain_calls(Capture& capture) {
  std::vector<std::uint32_t> open;
  std::size_t next = 0;
  std::uint32_t thread = nothing;
  for (auto& call : capture.calls) {
    if (call.thread != thread) {
      thread = call.thread;
      open.clear();
      while (next < capture.host_ops.size() && capture.host_ops[next].thread < thread) ++next;
    }
    while (next < capture.host_ops.size() && capture.host_ops[next].thread == thread &&
           capture.host_ops[next].start <= call.start) {
      while (!open.empty() && capture.host_ops[open.back()].end() <= capture.host_ops[next].start) open.pop_back();
      open.push_back(static_cast<std::uint32_t>(next));
      ++next;
    }
    while (!open.empty() && capture.host_ops[open.back()].end() < call.start) open.pop_back();
    if (call.host_op == nothing && !open.empty()) call.host_op = open.back();
  }
}

}  // namespace

KeyIndex calls_by_correlation(const Capture& capture) {
  return KeyIndex([&](auto emit) {
    for (std::uint32_t i = 0; i < capture.calls.size(); ++i) {
      if (capture.calls[i].correlation != 0) emit(capture.calls[i].correlation, i);
    }
  });
}

void link_launches(Capture& capture) {
  sort_all(capture);
  contain_calls(capture);
  const KeyIndex call_of = calls_by_correlation(capture);
  for (auto& op : capture.device_ops) {
    if (op.launch == nothing) op.launch = call_of.find(op.correlation);
    if (op.launch != nothing && op.host_op == nothing) op.host_op = capture.calls[op.launch].host_op;
  }
}

LaunchLinks count_links(const Capture& capture) {
  LaunchLinks links;
  const KeyIndex first_call = calls_by_correlation(capture);
  for (std::uint32_t i = 0; i < capture.calls.size(); ++i) {
    const std::uint64_t correlation = capture.calls[i].correlation;
    if (correlation != 0 && first_call.find(correlation) != i) ++links.repeated_calls;
  }
  std::vector<std::int64_t> owned(capture.calls.size(), 0);
  for (const auto& op : capture.device_ops) {
    if (op.kind == DeviceOpKind::sync || op.kind == DeviceOpKind::graph) continue;
    if (op.launch == nothing) {
      ++links.without_call;
    } else {
      ++owned[op.launch];
    }
  }
  for (std::size_t i = 0; i < owned.size(); ++i) {
    if (capture.calls[i].kind != CallKind::graph_launch || owned[i] == 0) continue;
    ++links.graph_launches;
    links.from_graphs += owned[i];
  }
  return links;
}

}  // namespace warploom
