// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes are either a plan whose transfers lie among its ranks, or a UserError; never a crash.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "network/collectives/msccl_xml.hpp"
#include "sim/core/errors.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace warploom;
  try {
    const MscclPlan plan = parse_msccl(std::string(reinterpret_cast<const char*>(data), size), "fuzz.xml");
    for (const auto& level : plan.content().levels) {
      for (const MemberPair& pair : *level.pairs) {
        const bool is_inside = pair.from >= 0 && pair.to >= 0 && pair.from < plan.content().ranks &&
                               pair.to < plan.content().ranks && pair.from != pair.to && pair.weight > 0;
        if (!is_inside) std::abort();
      }
    }
  } catch (const UserError& error) {
    if (error.message().empty()) std::abort();
  }
  return 0;
}
