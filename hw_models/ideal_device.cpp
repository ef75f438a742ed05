// SPDX-License-Identifier: Apache-2.0
// Which numbers of a device each resource has.
#include "hw_models/ideal_device.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"

namespace warploom {

namespace {

void make_free(Ideal ideal, DeviceSpec& device) {
  PipelineConstants& pipeline = device.architecture.pipeline;
  switch (ideal) {
    case Ideal::launch:
      device.launch.graph = device.launch.stream = Time::zero();
      pipeline.block_start = Cycles(0);
      return;
    case Ideal::l2: {
      // What lies behind it stays as far away as it was from the L2.
      const double beyond = device.memory.latency.value() - device.l2.latency.value();
      device.l2.bytes_per_cycle_per_sm *= free_factor;
      device.architecture.gemm.port_bytes_per_cycle *= free_factor;
      pipeline.l2_port *= free_factor;
      pipeline.far_latency = device.l2.latency = Cycles(0);
      device.memory.latency = Cycles(std::max(beyond, 0.0));
      return;
    }
    case Ideal::hbm:
      device.memory.bandwidth = device.memory.bandwidth * free_factor;
      device.memory.latency = device.l2.latency;
      return;
    case Ideal::network:
      return;
    case Ideal::tensor:
      for (auto& [type, flops] : device.tensor) flops *= free_factor;
      for (auto& [type, flops] : device.sparse_tensor) flops *= free_factor;
      pipeline.tensor_latency = Cycles(0);
      return;
    case Ideal::sfu:
      device.sm.special_function_lanes *= free_factor;
      pipeline.special_latency = Cycles(0);
      return;
    case Ideal::shared:
      device.sm.shared_memory_bytes_per_cycle *= free_factor;
      pipeline.shared_latency = Cycles(0);
      return;
    case Ideal::power:
      device.power.limit = device.power.limit * free_factor;
      return;
  }
}

std::vector<std::string> all_names() {
  std::vector<std::string> names;
  for (const auto& [ideal, name] : EnumNames<Ideal>::values) names.emplace_back(name);
  return names;
}

}  // namespace

std::vector<Ideal> parse_ideals(std::string_view text) {
  std::vector<Ideal> ideals;
  for (const std::string& part : split(text, ',')) {
    const std::string name(trim(part));
    const auto ideal = enum_from_name<Ideal>(name);
    if (!ideal) {
      throw UserError(fmt::format("`--ideal`: nothing is called {}", warploom::quoted(name)),
                      suggestion(name, all_names(), "what can be free: " + join(all_names())));
    }
    if (!has(ideals, *ideal)) ideals.push_back(*ideal);
  }
  return ideals;
}

std::string in_words(const std::vector<Ideal>& ideals) {
  std::string text;
  for (std::size_t i = 0; i < ideals.size(); ++i) {
    if (i > 0) text += i + 1 == ideals.size() ? " and " : ", ";
    text += enum_name(ideals[i]);
  }
  return text;
}

DeviceSpec with_free(DeviceSpec device, const std::vector<Ideal>& ideals) {
  // The memory first: it is as far as the L2, which may be free, too.
  for (const bool is_memory : {true, false}) {
    for (const Ideal ideal : ideals) {
      if ((ideal == Ideal::hbm) == is_memory) make_free(ideal, device);
    }
  }
  return device;
}

}  // namespace warploom
