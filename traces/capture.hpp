// SPDX-License-Identifier: Apache-2.0
// A captured run of one process: what ran on which stream of a device, who launched it, what was said of it.
//
// Every reader fills this and nothing downstream knows a format. Times are int64 nanoseconds of the file's own clock
// (an absolute epoch does not fit picoseconds); `base_time` leads from there to the epoch. Ids are indices into the
// vectors of the same capture; `nothing` where there is none.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "traces/repairs.hpp"

namespace warploom {

using Nanoseconds = std::int64_t;
using TextId = std::uint32_t;
inline constexpr std::uint32_t nothing = std::numeric_limits<std::uint32_t>::max();

// Texts that repeat (names, shapes), each held once.
class StringTable {
 public:
  StringTable() = default;
  StringTable(StringTable&&) = default;  // no copies: `texts_` points into `ids_`
  StringTable& operator=(StringTable&&) = default;

  TextId add(std::string_view text);  // same text, same id
  std::string_view operator[](TextId id) const { return id == nothing ? std::string_view() : *texts_[id]; }
  std::size_t size() const { return texts_.size(); }
  std::optional<TextId> find(std::string_view text) const;

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  std::unordered_map<std::string, TextId, Hash, std::equal_to<>> ids_;
  std::vector<const std::string*> texts_;  // keys of `ids_`, which do not move
};

// ---- Devices ------------------------------------------------------------------------------------------------------

enum class DeviceOpKind : std::uint8_t {
  kernel,  // communication kernels and HCCL operations among them
  copy,
  fill,   // memset
  sync,   // a task of the device that only records, waits or notifies (Ascend's EVENT_*, Notify): takes time, no work
  graph,  // a whole graph launch whose kernels were not captured: one opaque block
};

// What an operation is for; `classify` (traces/classify.hpp) says by name and by what the file recorded of it.
enum class OpClass : std::uint8_t { other, gemm, attention, norm, element_wise, communication, copy };

struct DeviceStream {
  std::int64_t device = 0;   // as the file numbers it
  std::int64_t context = 0;  // 0 where the format has none
  std::string name;          // the stream's id as the file writes it: "7", "stream 7", "Group 0 Communication"
};

struct DeviceOp {
  Nanoseconds start = 0;
  Nanoseconds duration = 0;
  std::uint64_t correlation = 0;  // joins with HostCall::correlation; 0: none
  TextId name = nothing;
  std::uint32_t stream = 0;            // in `streams`
  std::uint32_t launch = nothing;      // in `calls`; filled by `link_launches`
  std::uint32_t collective = nothing;  // in `collectives`
  std::uint32_t host_op = nothing;     // in `host_ops`: the operator it was launched for, where the file says
  std::int32_t graph_node = -1;        // node of a graph launch; -1: none
  DeviceOpKind kind = DeviceOpKind::kernel;
  OpClass op_class = OpClass::other;  // filled by `classify`
  std::int64_t bytes = 0;             // copies and fills

  Nanoseconds end() const { return start + duration; }
};

// A device task that waits for another, where the format records it as such (nsys and Kineto record calls, see Sync).
struct DeviceEdge {
  std::uint32_t from = 0;    // in `device_ops`: its end
  std::uint32_t to = 0;      // in `device_ops`: its start
  bool is_inferred = false;  // by order and times: the file does not name what was waited for
};

// What the file says of how an operation of the device was made, where it says so of kernels (Ascend).
struct DeviceOpDetail {
  std::uint32_t op = 0;     // in `device_ops`
  TextId type = nothing;    // "MatMulV2"
  TextId core = nothing;    // "AI_CORE", "AI_VECTOR_CORE", "MIX_AIV"
  TextId shapes = nothing;  // of the inputs, as the file writes them: "32,3,224,224;64,3,11,11"
  TextId types = nothing;   // "FLOAT;FLOAT"
  TextId output_shapes = nothing;
};

// ---- Hosts --------------------------------------------------------------------------------------------------------

enum class CallKind : std::uint8_t {
  launch,        // a kernel
  graph_launch,  // a captured graph
  copy,          // cudaMemcpy and the like; blocking ones (no Async) as well
  fill,
  event_record,
  stream_wait,  // a stream waits for an event
  event_sync,   // the host waits for an event
  stream_sync,
  device_sync,
  other,
};

struct HostThread {
  std::int64_t process = 0;
  std::int64_t id = 0;
  std::string name;
};

// A call of the device's runtime or driver.
struct HostCall {
  Nanoseconds start = 0;
  Nanoseconds duration = 0;
  std::uint64_t correlation = 0;
  TextId name = nothing;
  std::uint32_t thread = 0;
  std::uint32_t host_op = nothing;  // the operator (cpu_op) it was made for, where the file says
  CallKind kind = CallKind::other;

  Nanoseconds end() const { return start + duration; }
};

// An operator of the framework (aten::mm). Its texts are the file's own, such as "[[16, 1024], [1024, 4096]]".
struct HostOp {
  Nanoseconds start = 0;
  Nanoseconds duration = 0;
  std::uint64_t external_id = 0;  // "External id"; 0: none
  std::int64_t record_id = -1;    // "Record function id", joins with an execution trace's rf_id
  TextId name = nothing;
  std::uint32_t thread = 0;
  TextId shapes = nothing;  // "Input Dims"
  TextId types = nothing;   // "Input type"
  TextId values = nothing;  // "Concrete Inputs"
  std::uint32_t collective = nothing;

  Nanoseconds end() const { return start + duration; }
};

// A named interval: user annotations, NVTX ranges, ProfilerStep#N.
struct Annotation {
  Nanoseconds start = 0;
  Nanoseconds duration = 0;
  TextId name = nothing;
  std::uint32_t thread = nothing;  // in `threads`; `nothing` where it stands on a device
};

// What a synchronisation waited for, where the capture recorded it (Kineto's cuda_sync, nsys' SYNCHRONIZATION).
enum class SyncKind : std::uint8_t { stream_wait, event_sync, stream_sync, context_sync };
struct Sync {
  Nanoseconds start = 0;
  Nanoseconds duration = 0;
  std::uint64_t correlation = 0;         // of the call that waits
  std::uint64_t record_correlation = 0;  // of the call that recorded the event; 0: not seen
  std::uint32_t stream = nothing;        // that waits, or is waited for (stream_sync)
  std::uint32_t recorded_on = nothing;   // the stream of the event
  SyncKind kind = SyncKind::stream_wait;
};

// One thread hands work to another (forward to backward, Ascend's queue): a flow of the file.
struct HandOff {
  Nanoseconds from = 0;
  Nanoseconds to = 0;
  std::uint32_t from_thread = 0;
  std::uint32_t to_thread = 0;
};

// ---- Communication ------------------------------------------------------------------------------------------------

struct ProcessGroup {
  std::string name;  // a counter: the same name can mean different groups on different ranks
  std::string description;
  std::int64_t size = 0;            // 0: unknown
  std::vector<std::int64_t> ranks;  // global ranks, ascending as the file lists them; empty: not known
};

struct CollectiveRecord {
  TextId name = nothing;          // as the file writes it: "allreduce", "_allgather_base", "hcom_allReduce__586_0_1"
  TextId type = nothing;          // element type as the file writes it: "BFloat16", "FP32"
  std::int64_t in_elements = -1;  // of this rank's own tensors; -1: not recorded; below: no such number
  std::int64_t out_elements = -1;
  std::uint32_t group = nothing;  // in `groups`
  std::int64_t source = -1;       // point to point, broadcast: global rank
  std::int64_t target = -1;
  std::int64_t sequence = -1;  // within the group
  TextId in_splits = nothing;  // "[...]"
  TextId out_splits = nothing;
  TextId algorithm = nothing;  // "MESH-RING"
  Nanoseconds transfer = -1;   // of its duration, bytes moved and nobody was waited for; -1: not recorded
};

// ---- The capture --------------------------------------------------------------------------------------------------

struct CapturedDevice {
  std::int64_t id = 0;
  std::string name;  // "NVIDIA A100-SXM4-80GB"
  std::int64_t memory_bytes = 0;
  std::int64_t sm_count = 0;
};

struct Capture {
  std::string file;                          // as given, archive members as "a.tar.gz!member"
  std::string format;                        // the reader's name: "kineto", "nsight", ...
  std::optional<std::int64_t> rank;          // as the file says
  std::optional<std::int64_t> rank_in_name;  // of the file, where it says none itself and the names tell files apart
  std::optional<std::int64_t> world_size;
  std::optional<Nanoseconds> base_time;  // to be added to every time for the epoch's
  Nanoseconds resolution = 1;            // 1000: times are whole microseconds
  bool is_truncated = false;             // the file ends within its events
  std::int64_t event_count = 0;          // records in the file
  // First start and last end of all that hosts did, what is not kept (Python's functions) included; none: as kept.
  std::optional<std::pair<Nanoseconds, Nanoseconds>> host_span;
  std::map<std::string, std::int64_t> events_by_category;  // complete events, as the file spells the category
  std::map<std::string, std::string> facts;                // what else the file says of the run: versions, settings

  std::vector<CapturedDevice> devices;
  std::vector<DeviceStream> streams;
  std::vector<DeviceOp> device_ops;
  std::vector<DeviceEdge> device_edges;
  std::vector<DeviceOpDetail> details;  // one an operation at most
  std::vector<HostThread> threads;
  std::vector<HostCall> calls;
  std::vector<HostOp> host_ops;
  std::vector<Annotation> annotations;
  std::vector<Sync> syncs;
  std::vector<HandOff> hand_offs;
  std::vector<ProcessGroup> groups;
  std::vector<CollectiveRecord> collectives;
  StringTable texts;
  Repairs repairs;
};

// What the file says of a communication operation, of itself or of the operator it was launched for; null: nothing.
const CollectiveRecord* collective_of(const Capture& capture, const DeviceOp& op);
// "TENSOR_MODEL_PARALLEL_GROUP"; empty where no group is recorded.
std::string_view group_description(const Capture& capture, const DeviceOp& op);

inline std::optional<std::int64_t> known_rank(const Capture& capture) {
  return capture.rank ? capture.rank : capture.rank_in_name;
}

}  // namespace warploom
