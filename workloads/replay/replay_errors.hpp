// SPDX-License-Identifier: Apache-2.0
// How far operations that were predicted from a capture have been from what they took on the other device, by class of
// kernel and by what the prediction rested on (configs/calibration/replay_errors.yaml).
#pragma once

#include <string>

#include "sim/core/config.hpp"
#include "sim/core/library.hpp"

namespace warploom {

// Mean of |predicted / measured - 1|, shares of 1.
struct ClassErrors {
  double gemm = 0;
  double attention = 0;
  double other = 0;  // norms, softmax, element-wise, what has no class
  double communication = 0;
  static auto fields() {
    return field_list(field("gemm", &ClassErrors::gemm, "products and convolutions").in(0, 10),
                      field("attention", &ClassErrors::attention, "fused attention").in(0, 10),
                      field("other", &ClassErrors::other, "all other kernels").in(0, 10),
                      field("communication", &ClassErrors::communication, "collectives and messages").in(0, 10));
  }
};

struct ReplayErrors {
  ClassErrors anchored;
  ClassErrors unmeasured;
  ClassErrors scaled;
  ClassErrors kept;
  static auto fields() {
    return field_list(
        field("anchored", &ReplayErrors::anchored, "shapes recorded: measured x predicted there / predicted here"),
        field("unmeasured", &ReplayErrors::unmeasured, "the same, where a device's kernels were never measured"),
        field("scaled", &ReplayErrors::scaled, "no shapes: as a kernel of the class that takes as long"),
        field("kept", &ReplayErrors::kept, "as long as it was captured, although the device is another"));
  }
};

ReplayErrors load_replay_errors(const Library& library);

}  // namespace warploom
