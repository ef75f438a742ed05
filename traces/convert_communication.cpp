// SPDX-License-Identifier: Apache-2.0
// Names and element types as profilers write them, and the table of groups.
#include "traces/convert_communication.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"
#include "traces/collective_names.hpp"

namespace warploom {

namespace {

// None for messages, which are no collectives of Chakra's, and for what nobody knows.
CommKind chakra_kind(std::string_view name) {
  const auto kind = captured_kind(name);
  if (!kind) return to_lower(name).find("barrier") == std::string::npos ? CommKind::none : CommKind::barrier;
  switch (*kind) {
    case CollectiveKind::all_reduce:
      return CommKind::all_reduce;
    case CollectiveKind::all_gather:
      return CommKind::all_gather;
    case CollectiveKind::reduce_scatter:
      return CommKind::reduce_scatter;
    case CollectiveKind::all_to_all:
      return CommKind::all_to_all;
    case CollectiveKind::broadcast:
      return CommKind::broadcast;
    case CollectiveKind::reduce:
      return CommKind::reduce;
    case CollectiveKind::gather:
      return CommKind::gather;
    case CollectiveKind::scatter:
      return CommKind::scatter;
    default:
      return CommKind::none;
  }
}

// As Chakra counts: of an all-gather one rank's part, else the whole buffer.
std::int64_t bytes_of(const CollectiveRecord& record, std::string_view type, CommKind kind, std::size_t members) {
  std::int64_t elements = record.in_elements;
  if (kind == CommKind::all_gather && elements < 0 && record.out_elements >= 0 && members > 0) {
    elements = record.out_elements / static_cast<std::int64_t>(members);
  }
  const bool is_from_one = kind == CommKind::broadcast || kind == CommKind::scatter || kind == CommKind::none;
  if (elements < 0 || is_from_one) elements = std::max(elements, record.out_elements);
  const std::int64_t size = element_bytes(type).value_or(0);
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
  const CollectiveRecord* record = collective_of(from, from.device_ops[op]);
  constexpr std::int64_t most_rank = 0x7fffffff;
  const bool is_message = record != nullptr && record->source >= 0 && record->target >= 0 &&
                          std::max(record->source, record->target) <= most_rank &&
                          (record->source == ranks_[capture] || record->target == ranks_[capture]);
  std::string_view name = record == nullptr ? std::string_view() : from.texts[record->name];
  if (chakra_kind(name) == CommKind::none) name = node.name.substr(0, node.name.find_first_of("(<"));
  const CommKind kind = is_message ? CommKind::none : chakra_kind(name);
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
