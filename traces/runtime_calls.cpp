// SPDX-License-Identifier: Apache-2.0
// Names by their starts.
#include "traces/runtime_calls.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace warploom {

namespace {

using Rule = std::pair<std::string_view, CallKind>;

// After the vendor's prefix: the start of the rest. The first that fits; `LaunchHostFunc` runs a function of the host.
constexpr std::array rules = {
    Rule{"LaunchHostFunc", CallKind::other},
    Rule{"GraphLaunch", CallKind::graph_launch},
    Rule{"Launch", CallKind::launch},  // Kernel, KernelExC, CooperativeKernel, CooperativeKernelMultiDevice, Grid
    Rule{"ModuleLaunch", CallKind::launch},
    Rule{"ExtLaunch", CallKind::launch},
    Rule{"ExtModuleLaunch", CallKind::launch},
    Rule{"HccModuleLaunch", CallKind::launch},
    Rule{"DrvLaunch", CallKind::launch},
    Rule{"Memcpy", CallKind::copy},
    Rule{"DrvMemcpy", CallKind::copy},
    Rule{"Memset", CallKind::fill},
    Rule{"EventRecord", CallKind::event_record},
    Rule{"StreamWaitEvent", CallKind::stream_wait},
    Rule{"EventSynchronize", CallKind::event_sync},
    Rule{"StreamSynchronize", CallKind::stream_sync},
    Rule{"DeviceSynchronize", CallKind::device_sync},
    Rule{"ThreadSynchronize", CallKind::device_sync},
    Rule{"CtxSynchronize", CallKind::device_sync},
};
constexpr std::array prefixes = {std::string_view("cuda"), std::string_view("cu"), std::string_view("hip"),
                                 std::string_view("musa"), std::string_view("mu")};

// Whole names of interfaces that share no scheme.
constexpr std::array whole = {
    Rule{"urEnqueueKernelLaunch", CallKind::launch},
    Rule{"piEnqueueKernelLaunch", CallKind::launch},
    Rule{"zeCommandListAppendLaunchKernel", CallKind::launch},
    Rule{"zeCommandListAppendMemoryCopy", CallKind::copy},
    Rule{"urEnqueueUSMMemcpy", CallKind::copy},
    Rule{"piextUSMEnqueueMemcpy", CallKind::copy},
    Rule{"urEnqueueUSMFill", CallKind::fill},
    Rule{"piextUSMEnqueueMemset", CallKind::fill},
    Rule{"zeCommandListAppendMemoryFill", CallKind::fill},
    Rule{"urQueueFinish", CallKind::stream_sync},
    Rule{"zeCommandQueueSynchronize", CallKind::stream_sync},
    Rule{"urEventWait", CallKind::event_sync},
    Rule{"zeEventHostSynchronize", CallKind::event_sync},
};

}  // namespace

CallKind call_kind(std::string_view name) {
  for (const auto prefix : prefixes) {
    if (!name.starts_with(prefix)) continue;
    const auto rest = name.substr(prefix.size());
    const auto rule =
        std::find_if(rules.begin(), rules.end(), [&](const Rule& r) { return rest.starts_with(r.first); });
    if (rule != rules.end()) return rule->second;
  }
  const auto rule = std::find_if(whole.begin(), whole.end(), [&](const Rule& r) { return name == r.first; });
  return rule == whole.end() ? CallKind::other : rule->second;
}

}  // namespace warploom
