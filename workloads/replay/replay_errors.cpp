// SPDX-License-Identifier: Apache-2.0
// Read from the library.
#include "workloads/replay/replay_errors.hpp"

namespace warploom {

ReplayErrors load_replay_errors(const Library& library) {
  return read<ReplayErrors>(load_config("calibration/replay_errors", {}, library));
}

}  // namespace warploom
