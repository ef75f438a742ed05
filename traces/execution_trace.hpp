// SPDX-License-Identifier: Apache-2.0
// A PyTorch execution trace (facebookresearch/param et_replay@1e115ff, schemas 1.0.1 to 1.1.1): the operators of a step
// with their shapes and, for communication, sizes; no times. Beside a Kineto trace of the same program it tells what
// old versions of Kineto did not.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "traces/byte_source.hpp"
#include "traces/capture.hpp"
#include "traces/readers.hpp"

namespace warploom {

struct ExecutionNode {
  std::int64_t id = 0;  // in the order of execution
  std::int64_t thread = 0;
  std::int64_t record_id = -1;  // `rf_id`
  TextId name = nothing;
  TextId shapes = nothing;  // as Kineto writes them
  TextId types = nothing;
  std::uint32_t collective = nothing;
};

struct ExecutionTrace {
  std::string file;
  std::string schema;
  std::vector<ExecutionNode> nodes;  // by id
  std::vector<CollectiveRecord> collectives;
  std::vector<ProcessGroup> groups;
  StringTable texts;
  Repairs repairs;
};

bool is_execution_trace(std::string_view first_bytes);
// Throws UserError for what is none, and for a schema that is not known.
ExecutionTrace read_execution_trace(ByteSource& source, const ReadOptions& options = {});

// Gives the capture's operators the shapes and collectives that the trace has and they lack, and their communication
// kernels those collectives. Operators are the same by record id, where both have it, else the k-th of their name on
// the thread that is most alike. Returns how many operators were joined. The capture is linked (`link_launches`).
std::int64_t add_execution_trace(Capture& capture, const ExecutionTrace& trace);

}  // namespace warploom
