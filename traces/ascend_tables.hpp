// SPDX-License-Identifier: Apache-2.0
// Reads the tables beside an Ascend trace: kernel_details.csv, communication.json and its matrix, step_trace_time.csv,
// profiler_info_N.json, profiler_metadata.json. Each may be missing, and gzipped.
#pragma once

#include <optional>
#include <string>

#include "traces/ascend_capture.hpp"
#include "traces/byte_source.hpp"

namespace warploom::ascend {

// Contents are held as a whole while they are read, 1 GiB at most. Broken content is a UserError naming the file.
void read_kernel_details(ByteSource& source, Builder& builder);
void read_communication(ByteSource& source, Builder& builder);
void read_communication_matrix(ByteSource& source, Builder& builder);
void read_step_times(ByteSource& source, Builder& builder);
void read_profiler_info(ByteSource& source, Builder& builder);
void read_profiler_metadata(ByteSource& source, Builder& builder);

}  // namespace warploom::ascend
