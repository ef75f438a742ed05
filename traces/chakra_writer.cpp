// SPDX-License-Identifier: Apache-2.0
// Writes by protobuf's own code, so that reader and writer check each other.
#include "traces/chakra_writer.hpp"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <simdjson.h>

#include <algorithm>
#include <fstream>

#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"
#include "traces/chakra.pb.h"

namespace warploom {

namespace {

namespace proto = ChakraProtoMsg;
using Index = ExecutionGraph::Index;

// Protobuf's strings are UTF-8; a byte of a name that is none becomes `?`.
std::string utf8(std::string_view text) {
  std::string result(text);
  if (simdjson::validate_utf8(result)) return result;
  for (char& byte : result) {
    if (static_cast<unsigned char>(byte) >= 0x80) byte = '?';
  }
  return result;
}

class Writing {
 public:
  Writing(const ExecutionGraph& graph, std::ostream& out) : graph_(graph), stream_(&out), coded_(&stream_) {}

  void run() {
    write(metadata());
    proto::Node node;
    for (const auto& group : graph_.groups) add_group(group);
    for (Index i = 0; i < graph_.size(); ++i) {
      node.Clear();
      fill(i, node);
      write(node);
    }
    coded_.Trim();
    if (coded_.HadError()) throw UserError(fmt::format("{}: cannot be written", graph_.file), "is the disk full?");
  }

 private:
  template <class Message>
  void write(const Message& message) {
    const auto size = message.ByteSizeLong();
    coded_.WriteVarint32(static_cast<std::uint32_t>(size));
    message.SerializeWithCachedSizes(&coded_);
  }

  proto::GlobalMetadata metadata() const {
    proto::GlobalMetadata metadata;
    metadata.set_version(graph_.version.empty() ? "0.0.4" : utf8(graph_.version));
    if (!graph_.schema.empty()) {
      auto& schema = *metadata.add_attr();
      schema.set_name("schema");
      schema.set_string_val(utf8(graph_.schema));
    }
    for (const auto& [key, value] : graph_.facts) {
      if (key == "schema") continue;
      auto& fact = *metadata.add_attr();
      fact.set_name(utf8(key));
      fact.set_string_val(utf8(value));
    }
    return metadata;
  }

  // Groups travel in the metadata node that they came in (fill); others are not written here.
  void add_group(const ProcessGroup& group) {
    if (!groups_.empty()) groups_ += ", ";
    std::string ranks;
    for (const auto rank : group.ranks) ranks += fmt::format("{}{}", ranks.empty() ? "" : ", ", rank);
    groups_ += fmt::format(R"({{"pg_name": {}, )", json_string(group.name));
    if (!group.description.empty()) groups_ += fmt::format(R"("pg_desc": {}, )", json_string(group.description));
    groups_ += fmt::format(R"("ranks": [{}]}})", ranks);
  }

  static proto::AttributeProto& attribute(proto::Node& node, const char* name) {
    auto& attribute = *node.add_attr();
    attribute.set_name(name);
    return attribute;
  }

  static std::uint64_t micros(Nanoseconds time) {
    return static_cast<std::uint64_t>(time > 0 ? std::max<Nanoseconds>(1, (time + 500) / 1000) : 0);
  }

  void fill(Index i, proto::Node& node) {
    node.set_id(graph_.id[i]);
    node.set_name(utf8(graph_.texts[graph_.name[i]]));
    node.set_type(static_cast<proto::NodeType>(graph_.type[i]));
    for (const Index before : graph_.control(i)) node.add_ctrl_deps(graph_.id[before]);
    for (const Index before : graph_.data(i)) node.add_data_deps(graph_.id[before]);
    if (graph_.start[i] >= 0) {
      node.set_start_time_micros(static_cast<std::uint64_t>(graph_.start[i] / 1000));
      if (graph_.start[i] % 1000 != 0 || graph_.start[i] == 0)
        attribute(node, "start_ns").set_int64_val(graph_.start[i]);
    }
    const bool is_folded = !graph_.folded_duration.empty();
    node.set_duration_micros(is_folded ? static_cast<std::uint64_t>(graph_.folded_duration[i] / 1000)
                                       : micros(graph_.duration[i]));
    if (is_folded || graph_.duration[i] % 1000 != 0) attribute(node, "duration_ns").set_int64_val(graph_.duration[i]);
    attribute(node, "is_cpu_op").set_bool_val(graph_.is_cpu_op[i]);
    if (graph_.stream[i] >= 0) attribute(node, "stream").set_int64_val(graph_.stream[i]);
    if (graph_.num_ops[i] >= 0) attribute(node, "num_ops").set_int64_val(graph_.num_ops[i]);
    if (graph_.tensor_size[i] >= 0) {
      attribute(node, "tensor_size").set_uint64_val(static_cast<std::uint64_t>(graph_.tensor_size[i]));
    }
    if (graph_.type[i] == NodeType::metadata && !groups_.empty()) {
      node.mutable_inputs()->set_values(utf8("[\"[" + groups_ + "]\"]"));
      groups_.clear();
    }
    if (graph_.comm[i] != nothing) fill_comm(graph_.comms[graph_.comm[i]], node);
  }

  void fill_comm(const NodeComm& comm, proto::Node& node) const {
    if (comm.kind != CommKind::none) attribute(node, "comm_type").set_int64_val(static_cast<std::int64_t>(comm.kind));
    if (comm.bytes >= 0) attribute(node, "comm_size").set_int64_val(comm.bytes);
    if (comm.source >= 0) attribute(node, "comm_src").set_int32_val(comm.source);
    if (comm.target >= 0) attribute(node, "comm_dst").set_int32_val(comm.target);
    if (comm.source >= 0 || comm.target >= 0 || comm.tag != 0) attribute(node, "comm_tag").set_int32_val(comm.tag);
    if (comm.priority != 0) attribute(node, "comm_priority").set_uint32_val(comm.priority);
    if (comm.group != nothing) attribute(node, "pg_name").set_string_val(utf8(graph_.texts[comm.group]));
    if (comm.is_involved_said) {
      auto& list = *attribute(node, "involved_dim").mutable_bool_list();
      // ASTRA-sim reads as many as the network has dimensions.
      for (unsigned d = 0; d < 8; ++d) list.add_values((comm.involved >> d & 1U) != 0);
    }
  }

  const ExecutionGraph& graph_;
  google::protobuf::io::OstreamOutputStream stream_;
  google::protobuf::io::CodedOutputStream coded_;
  std::string groups_;
};

}  // namespace

void write_chakra(const ExecutionGraph& graph, std::ostream& out) {
  Writing(graph, out).run();
  if (!out) throw UserError(fmt::format("{}: cannot be written", graph.file), "is the disk full?");
}

void write_chakra_file(const ExecutionGraph& graph, const std::string& path) {
  std::ofstream out(path, std::ios::binary);
  if (!out) throw UserError(fmt::format("cannot write `{}`", path));
  write_chakra(graph, out);
  out.close();
  if (!out) throw UserError(fmt::format("cannot write `{}`", path), "is the disk full?");
}

}  // namespace warploom
