// SPDX-License-Identifier: Apache-2.0
// Stands for the detailed model in a build without SystemC.
#include "hw_models/detailed.hpp"
#include "sim/core/errors.hpp"

namespace warploom {

bool has_detailed_model() { return false; }

DetailedResult simulate_detailed(const KernelProgram&, const DeviceSpec&, Frequency, const DetailedOptions&) {
  throw UserError("this build has no detailed model: SystemC was not found",
                  "on Debian, `apt install libsystemc-dev` and build again; `--model analytic` needs nothing");
}

}  // namespace warploom
