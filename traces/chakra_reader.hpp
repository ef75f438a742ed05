// SPDX-License-Identifier: Apache-2.0
// Reads Chakra execution traces: `.et` (length-delimited protobuf, also gzip) and the JSON form (`workload_graph`).
//
// Facts of the format. `.et`: one GlobalMetadata, then Nodes to the end of the file, each behind its length; no magic,
// no checksum (traces/chakra.proto). A missing id is 0. Times are whole microseconds; start times are rarely written.
// Producers write one attribute as different types (comm_size as int64, uint64 or uint32; is_cpu_op as bool or int32):
// whatever holds a whole number is taken. JSON: {"workload_graph": [{"Id", "Name", "NodeType", "ctrlDeps", "data_deps",
// "runtime" (us), "is_cpu_op", ...}]}. Sources: mlcommons/chakra 21585d8 (schema, feeders), astra-sim/astra-sim
// 518bd51 (which attributes are read), 130 files in the wild.
//
// Attributes read: is_cpu_op, num_ops, tensor_size, comm_type, comm_size, comm_src, comm_dst, comm_tag, comm_priority,
// pg_name, involved_dim, stream, tid; ours: duration_ns and start_ns (what microseconds do not hold). Others are
// skipped.
#pragma once

#include <string_view>

#include "traces/byte_source.hpp"
#include "traces/execution_graph.hpp"
#include "traces/readers.hpp"

namespace warploom {

// By the first bytes of the decompressed content.
bool is_chakra(std::string_view first_bytes);
bool is_chakra_json(std::string_view first_bytes);

// Throws UserError naming file, record, byte and reason: broken messages, two nodes of one id, an unknown schema.
// Does not look for cycles (topological_order does).
ExecutionGraph read_chakra(ByteSource& source, const ReadOptions& options = {});
ExecutionGraph read_chakra_json(ByteSource& source, const ReadOptions& options = {});
// Either, by content.
ExecutionGraph read_execution_graph(ByteSource& source, const ReadOptions& options = {});

}  // namespace warploom
