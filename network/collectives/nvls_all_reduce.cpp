// SPDX-License-Identifier: Apache-2.0
// Plan and schedule of the in-switch all-reduce.
#include "network/collectives/nvls_all_reduce.hpp"

#include <algorithm>

#include "network/collectives/pace.hpp"

namespace warploom {

Bandwidth nvls_port_rate(const Setting& setting) { return setting.topology.port() * setting.library.nvls.efficiency; }

Time nvls_step(const Setting& setting, std::int64_t heads, double chunk) {
  const NvlsSpec& nvls = setting.library.nvls;
  constexpr double one_round = 65'536;  // of a channel's threads
  const double moved = chunk * static_cast<double>(nvls.channels * (heads + 1));
  const Time fixed = nvls.step + (chunk < one_round ? nvls.small_step : Time::zero());
  return fixed + Time::from_seconds(moved / nvls_port_rate(setting).value());
}

NvlsPace nvls_pace(const Setting& setting, std::int64_t heads) {
  const NvlsSpec& nvls = setting.library.nvls;
  const std::int64_t bytes = setting.call.bytes.count();
  const std::int64_t round = nvls.channels * heads;
  std::int64_t chunk = nvls.chunk.count();
  constexpr std::int64_t kib = 1024;
  if (bytes < 64 * round * chunk) chunk = std::min(chunk, 64 * kib);
  if (bytes < 8 * round * chunk) chunk = std::min(chunk, 32 * kib);
  if (bytes < 2 * round * chunk) chunk = std::min(chunk, 16 * kib);
  NvlsPace pace;
  pace.loops = std::max<std::int64_t>((bytes + round * chunk - 1) / (round * chunk), 1);
  pace.port_rate = nvls_port_rate(setting);
  pace.port_bytes = setting.call.bytes * (heads + 1) / heads;
  // A small call wakes fewer channels with whole chunks, at last one with as much as there is.
  const double most = static_cast<double>(bytes) / static_cast<double>(heads);
  pace.step = nvls_step(setting, heads, std::min(static_cast<double>(chunk), most));
  // Of a call below one loop all chunks are as if whole: its steps hide in the latency.
  if (pace.loops > 1) pace.missing = Bytes((pace.loops * round * chunk - bytes) * (heads + 1) / heads) / pace.port_rate;
  return pace;
}

bool NvlsAllReduce::is_possible(const Setting& setting, Protocol protocol) const {
  return setting.library.nvls.enabled && protocol == Protocol::simple && setting.profile.in_node() &&
         setting.topology.reduces_in_node();
}

Plan NvlsAllReduce::plan(const Setting& setting, Protocol /*protocol*/) const {
  const NvlsPace pace = nvls_pace(setting, setting.ranks());
  const Time played = pace.step * (static_cast<double>(pace.loops) + setting.library.nvls.fill) - pace.missing;
  const Time alone = std::max(played, setting.library.nvls.base);
  Plan plan;
  plan.sms = setting.library.nvls.channels;
  plan.hbm_bytes_per_wire_byte = 2;  // out: a byte read; in: a byte written
  plan.steps.push_back({alone - pace.port_bytes / pace.port_rate,
                        {bundle_of(setting, FlowPattern::ports, pace.port_bytes, pace.port_rate)}});
  return plan;
}

// Chunk h is the head's slice. What the switch adds on the way is added where it arrives.
Schedule NvlsAllReduce::schedule(int ranks) const {
  Schedule schedule{ranks, ranks, {}};
  for (int head = 0; head < ranks; ++head) {
    for (int rank = 0; rank < ranks; ++rank) {
      if (rank == head) continue;
      schedule.transfers.push_back({0, rank, head, head, true});
      schedule.transfers.push_back({1, head, rank, head, false});
    }
  }
  return schedule;
}

}  // namespace warploom
