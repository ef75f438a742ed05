// SPDX-License-Identifier: Apache-2.0
// How many blocks fit an SM, by each of its limits.
#include <fmt/format.h>

#include <algorithm>

#include "hw_models/detailed.hpp"
#include "sim/core/errors.hpp"

namespace warploom {

namespace {

[[noreturn]] void no_room(const KernelProgram& program, const std::string& needs, const std::string& has) {
  throw UserError(
      fmt::format("a block of `{}` does not fit an SM: it needs {}; the SM has {}", program.name, needs, has),
      "a smaller tile or fewer stages need less");
}

}  // namespace

int resident_blocks(const KernelProgram& program, const DeviceSpec& device) {
  const SmSpec& sm = device.sm;
  const std::int64_t threads = 32LL * program.warps();
  const std::int64_t shared = program.shared_memory.count() + reserved_shared_memory;
  if (threads > sm.threads) {
    no_room(program, fmt::format("{} warps x 32 = {} threads", program.warps(), threads), std::to_string(sm.threads));
  }
  if (program.registers() > sm.registers) {
    std::string sum;
    for (const WarpRole& role : program.roles) {
      sum += fmt::format("{}{} x 32 x {}", sum.empty() ? "" : " + ", role.warps, role.registers);
    }
    no_room(program, fmt::format("{} = {} registers", sum, program.registers()), std::to_string(sm.registers));
  }
  if (shared > sm.shared_memory.count()) {
    no_room(program,
            fmt::format("{} + {} reserved = {} bytes of shared memory", program.shared_memory.count(),
                        reserved_shared_memory, shared),
            std::to_string(sm.shared_memory.count()));
  }
  if (program.tensor_columns > sm.tensor_memory_columns) {
    no_room(program, fmt::format("{} columns of tensor memory", program.tensor_columns),
            std::to_string(sm.tensor_memory_columns));
  }
  std::int64_t blocks = std::min<std::int64_t>(sm.blocks, sm.threads / threads);
  blocks = std::min(
      {blocks, sm.registers / std::max<std::int64_t>(program.registers(), 1), sm.shared_memory.count() / shared});
  if (program.tensor_columns > 0) {
    blocks = std::min<std::int64_t>(blocks, sm.tensor_memory_columns / program.tensor_columns);
  }
  return static_cast<int>(blocks);
}

}  // namespace warploom
