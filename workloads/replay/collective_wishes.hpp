// SPDX-License-Identifier: Apache-2.0
// Whether collectives are done as a what-if wants them.
#pragma once

#include "sim/play/ports.hpp"
#include "workloads/replay/retime.hpp"
#include "workloads/replay/what_if.hpp"

namespace warploom {

// A library that cannot do a call as it is told chooses by itself, as NCCL does: that is no answer to a what-if. Throws
// ConfigError where an edit holds for no call that it is about; an edit for all calls that holds for some is a note.
void require_wishes(const WhatIf& what_if, const CollectivePlanner& planner, Retimed& retimed);

}  // namespace warploom
