// SPDX-License-Identifier: Apache-2.0
// Sums over a program's roles and groups.
#include "hw_models/programs/kernel_program.hpp"

namespace warploom {

int KernelProgram::warps() const {
  int warps = 0;
  for (const WarpRole& role : roles) warps += role.warps;
  return warps;
}

int KernelProgram::registers() const {
  int registers = 0;
  for (const WarpRole& role : roles) registers += role.warps * 32 * role.registers;
  return registers;
}

std::int64_t KernelProgram::block_count() const {
  std::int64_t count = 0;
  for (const BlockGroup& group : blocks) count += group.blocks;
  return count;
}

}  // namespace warploom
