// SPDX-License-Identifier: Apache-2.0
// The list of library families: one file and one line each.
#include "network/collectives/families.hpp"

#include "network/collectives/families/hccl.hpp"
#include "network/collectives/families/nccl.hpp"

namespace warploom {

FamilyRegistry family_registry() {
  FamilyRegistry r;
  r.add<NcclFamily>("nccl", "rings, trees, in-switch reductions; the choice by NCCL's tuning model");
  r.add<HcclFamily>("hccl", "an algorithm a level of the network; the choice by alpha, beta and gamma");
  return r;
}

}  // namespace warploom
