// SPDX-License-Identifier: Apache-2.0
// Sums and shares of what an SM did.
#include "hw_models/detailed.hpp"

namespace warploom {

void SmCounts::add(const SmCounts& other, double times) {
  for (std::size_t i = 0; i < stalls.size(); ++i) stalls[i] += times * other.stalls[i];
  for (const auto member : {&SmCounts::issued, &SmCounts::tensor, &SmCounts::fma, &SmCounts::alu, &SmCounts::sfu,
                            &SmCounts::shared, &SmCounts::vector_flops, &SmCounts::tensor_flops, &SmCounts::to_sm,
                            &SmCounts::from_l2, &SmCounts::from_memory, &SmCounts::written, &SmCounts::to_memory}) {
    this->*member += times * (other.*member);
  }
}

double DetailedResult::stall_share(Stall stall) const {
  double all = 0;
  for (const double cycles : sm.stalls) all += cycles;
  return all > 0 ? sm.stalls[static_cast<std::size_t>(stall)] / all : 0;
}

Stall DetailedResult::top_stall() const {
  Stall top = Stall::launch;
  for (const auto& [stall, name] : EnumNames<Stall>::values) {
    if (stall == Stall::selected || stall == Stall::not_selected || stall == Stall::barrier) continue;
    if (stall_share(stall) > stall_share(top)) top = stall;
  }
  return top;
}

}  // namespace warploom
