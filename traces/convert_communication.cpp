// SPDX-License-Identifier: Apache-2.0
// Names and element types as profilers write them, and the table of groups.
#include "traces/convert_communication.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"

namespace warploom {

namespace {

const CollectiveRecord* record_of(const Capture& capture, const DeviceOp& op) {
  if (op.collective != nothing) return &capture.collectives[op.collective];
  if (op.host_op != nothing && capture.host_ops[op.host_op].collective != nothing) {
    return &capture.collectives[capture.host_ops[op.host_op].collective];
  }
  return nullptr;
}

// "_allgather_base", "reduce_scatter_tensor_coalesced", "hcom_allReduce__586_0_1".
CommKind kind_of(std::string_view name) {
  std::string plain;
  for (const char c : to_lower(name)) {
    if (c != '_' && c != '-' && c != ' ') plain += c;
  }
  struct Word {
    std::string_view word;
    CommKind kind;
  };
  // `reduce` and `gather` are parts of others.
  constexpr std::array words = {
      Word{"allreduce", CommKind::all_reduce}, Word{"reducescatter", CommKind::reduce_scatter},
      Word{"allgather", CommKind::all_gather}, Word{"alltoall", CommKind::all_to_all},
      Word{"broadcast", CommKind::broadcast},  Word{"barrier", CommKind::barrier},
      Word{"gather", CommKind::gather},        Word{"scatter", CommKind::scatter},
      Word{"reduce", CommKind::reduce},
  };
  for (const auto& [word, kind] : words) {
    if (plain.find(word) != std::string::npos) return kind;
  }
  return CommKind::none;
}

std::int64_t element_size(std::string_view type) {
  std::string plain = to_lower(type);
  if (const auto colon = plain.rfind(':'); colon != std::string::npos) plain.erase(0, colon + 1);
  struct Sized {
    std::string_view word;
    std::int64_t bytes;
  };
  constexpr std::array types = {
      Sized{"float8", 1}, Sized{"fp8", 1},   Sized{"bfloat16", 2}, Sized{"bf16", 2}, Sized{"float16", 2},
      Sized{"half", 2},   Sized{"fp16", 2},  Sized{"float64", 8},  Sized{"fp64", 8}, Sized{"double", 8},
      Sized{"float", 4},  Sized{"fp32", 4},  Sized{"int64", 8},    Sized{"long", 8}, Sized{"int32", 4},
      Sized{"int16", 2},  Sized{"short", 2}, Sized{"int8", 1},     Sized{"byte", 1}, Sized{"char", 1},
      Sized{"bool", 1},   Sized{"int", 4},
  };
  for (const auto& [word, bytes] : types) {
    if (plain.find(word) != std::string::npos) return bytes;
  }
  return 0;
}

// As Chakra counts: of an all-gather one rank's part, else the whole buffer.
std::int64_t bytes_of(const CollectiveRecord& record, std::string_view type, CommKind kind, std::size_t members) {
  std::int64_t elements = record.in_elements;
  if (kind == CommKind::all_gather && elements < 0 && record.out_elements >= 0 && members > 0) {
    elements = record.out_elements / static_cast<std::int64_t>(members);
  }
  const bool is_from_one = kind == CommKind::broadcast || kind == CommKind::scatter || kind == CommKind::none;
  if (elements < 0 || is_from_one) elements = std::max(elements, record.out_elements);
  const std::int64_t size = element_size(type);
  std::int64_t bytes = 0;
  if (elements < 0 || size == 0 || __builtin_mul_overflow(elements, size, &bytes)) return -1;
  return bytes;
}

}  // namespace

CommunicationNodes::CommunicationNodes(const CapturedRun& run) : run_(run), messages_(run.captures.size()) {
  std::set<std::int64_t> used;
  for (std::size_t i = 0; i < run.captures.size(); ++i) {
    const auto known = known_rank(run.captures[i]);
    ranks_.push_back(known.value_or(static_cast<std::int64_t>(i)));
    if (!used.insert(ranks_.back()).second) {
      throw UserError(
          fmt::format("rank {} would be written twice, the second time of {}", ranks_.back(), run.captures[i].file),
          "convert the captures of one run that all know their ranks");
    }
  }
  for (std::size_t i = 0; i < run.captures.size(); ++i) all_.push_back(static_cast<std::int64_t>(i));
}

Nanoseconds CommunicationNodes::transfer(std::uint32_t capture, std::uint32_t op) const {
  const Nanoseconds recorded = run_.captures[capture].device_ops[op].duration;
  const std::uint32_t matched = run_.matching.of_op[capture][op];
  return matched == nothing ? recorded : std::min(recorded, run_.matching.collectives[matched].transfer);
}

std::vector<std::int64_t> CommunicationNodes::members(std::uint32_t capture, std::uint32_t op,
                                                      const CollectiveRecord& record) const {
  std::vector<std::int64_t> ranks;
  if (record.group != nothing) {
    const auto& group = run_.captures[capture].groups[record.group];
    ranks = group.ranks;
    if (ranks.empty() && group.size == static_cast<std::int64_t>(all_.size())) ranks = all_;
  }
  if (const std::uint32_t matched = run_.matching.of_op[capture][op]; ranks.empty() && matched != nothing) {
    const auto& found = run_.matching.collectives[matched].members;
    if (found.size() > 1) {
      for (const auto& member : found) ranks.push_back(ranks_[member.capture]);
    }
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

void CommunicationNodes::describe_message(std::uint32_t capture, const CollectiveRecord& record, GraphNode& node) {
  const bool sends = record.source == ranks_[capture];
  node.type = sends ? NodeType::send : NodeType::receive;
  node.comm.source = static_cast<std::int32_t>(record.source);
  node.comm.target = static_cast<std::int32_t>(record.target);
  node.comm.tag = messages_[capture][{record.source, record.target}]++;
  const auto absent = [&](std::int64_t rank) { return std::find(ranks_.begin(), ranks_.end(), rank) == ranks_.end(); };
  if (absent(record.source) || absent(record.target)) ++with_absent_ranks_;
}

void CommunicationNodes::describe(std::uint32_t capture, std::uint32_t op, GraphNode& node, StringTable& texts) {
  const Capture& from = run_.captures[capture];
  const CollectiveRecord* record = record_of(from, from.device_ops[op]);
  constexpr std::int64_t most_rank = 0x7fffffff;
  const bool is_message = record != nullptr && record->source >= 0 && record->target >= 0 &&
                          std::max(record->source, record->target) <= most_rank &&
                          (record->source == ranks_[capture] || record->target == ranks_[capture]);
  std::string_view name = record == nullptr ? std::string_view() : from.texts[record->name];
  if (kind_of(name) == CommKind::none) name = node.name.substr(0, node.name.find_first_of("(<"));
  const CommKind kind = is_message ? CommKind::none : kind_of(name);
  const auto ranks = record == nullptr || is_message ? std::vector<std::int64_t>() : members(capture, op, *record);
  const std::int64_t bytes = record == nullptr ? -1 : bytes_of(*record, from.texts[record->type], kind, ranks.size());
  if ((!is_message && kind == CommKind::none) || (bytes < 0 && kind != CommKind::barrier)) {
    ++undescribed_;
    return;
  }
  node.has_comm = true;
  node.comm.bytes = bytes;
  if (is_message) return describe_message(capture, *record, node);
  node.type = NodeType::collective;
  node.comm.kind = kind;
  node.comm.is_involved_said = true;
  if (ranks.empty() || ranks == all_) return;
  const std::string description = record->group == nothing ? std::string() : from.groups[record->group].description;
  const auto id = ids_.try_emplace({ranks, description}, static_cast<std::int64_t>(ids_.size()) + 1).first->second;
  node.comm.group = texts.add(std::to_string(id));
  const bool is_whole = std::all_of(ranks.begin(), ranks.end(), [&](std::int64_t rank) {
    return std::find(ranks_.begin(), ranks_.end(), rank) != ranks_.end();
  });
  if (!is_whole) ++with_absent_ranks_;
}

std::vector<ProcessGroup> CommunicationNodes::groups() const {
  std::vector<ProcessGroup> groups(ids_.size());
  for (const auto& [key, id] : ids_) {
    auto& group = groups[static_cast<std::size_t>(id - 1)];
    group.name = std::to_string(id);
    group.ranks = key.first;
    group.description = key.second;
    group.size = static_cast<std::int64_t>(key.first.size());
  }
  return groups;
}

std::string CommunicationNodes::groups_json() const {
  std::string text;
  for (const auto& group : groups()) {
    text += fmt::format("{}  \"{}\": [{}]", text.empty() ? "{\n" : ",\n", group.name, fmt::join(group.ranks, ", "));
  }
  return text.empty() ? text : text + "\n}\n";
}

std::vector<std::string> CommunicationNodes::notes() const {
  std::vector<std::string> notes;
  if (undescribed_ > 0) {
    notes.push_back(fmt::format(
        "{} communication operations do not say what they move: they are compute nodes of their recorded duration",
        undescribed_));
  }
  if (with_absent_ranks_ > 0) {
    notes.push_back(
        fmt::format("{} communication nodes are of ranks that were not captured: ASTRA-sim needs all ranks of a group",
                    with_absent_ranks_));
  }
  std::int64_t without_launch = 0;
  for (const auto& capture : run_.captures) {
    without_launch += std::count_if(capture.device_ops.begin(), capture.device_ops.end(),
                                    [](const DeviceOp& op) { return op.launch == nothing; });
  }
  if (without_launch > 0) {
    notes.push_back(fmt::format(
        "{} operations have no launch in the capture: long times before them are in the duration_micros of their nodes",
        without_launch));
  }
  return notes;
}

}  // namespace warploom
