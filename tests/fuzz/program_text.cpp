// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes are either a program within the bounds, or a UserError with a line; never a crash.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "hw_models/programs/program_text.hpp"
#include "sim/core/errors.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace warploom;
  try {
    const KernelProgram program = parse_program({reinterpret_cast<const char*>(data), size}, "fuzz.txt");
    if (program.warps() < 1 || program.warps() > 64 || program.block_count() < 1) std::abort();
    for (const WarpRole& role : program.roles) {
      int open = 0;
      for (const Instruction& what : role.code) {
        open += what.op == Op::loop ? 1 : what.op == Op::end_loop ? -1 : 0;
        const auto rings = static_cast<int>(program.rings.size());
        const auto streams = static_cast<int>(program.streams.size());
        if (open < 0 || what.count < 0 || what.bytes < 0 || what.ring >= rings || what.stream >= streams) std::abort();
      }
      if (open != 0 || role.code.empty()) std::abort();
    }
  } catch (const UserError& error) {
    if (error.message().empty()) std::abort();
  }
  return 0;
}
