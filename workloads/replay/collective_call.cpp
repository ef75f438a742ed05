// SPDX-License-Identifier: Apache-2.0
// Names, sizes and ranks of captured collectives.
#include "workloads/replay/collective_call.hpp"

#include <algorithm>
#include <string>

#include "sim/core/text.hpp"
#include "traces/collective_names.hpp"

namespace warploom {

namespace {

std::optional<DataType> type_in_kernel(std::string_view kernel) {
  const std::string lower = to_lower(kernel);
  struct Word {
    std::string_view text;
    DataType type;
  };
  constexpr Word words[] = {{"_bf16", DataType::bf16}, {"bfloat16", DataType::bf16}, {"_f16", DataType::fp16},
                            {"half", DataType::fp16},  {"_f32", DataType::fp32},     {"float", DataType::fp32},
                            {"f8e4m3", DataType::fp8}, {"f8e5m2", DataType::fp8},    {"int8", DataType::int8},
                            {"_u8", DataType::int8}};
  for (const auto& [text, type] : words) {
    if (lower.find(text) != std::string::npos) return type;
  }
  return std::nullopt;
}

// nccl-tests' sizes: what a rank ends with (all-gather), starts with (reduce-scatter, all-to-all), else its own tensor.
std::optional<Bytes> bytes_of(const CollectiveRecord& record, CollectiveKind kind, std::int64_t element) {
  const std::int64_t larger = std::max(record.in_elements, record.out_elements);
  const std::int64_t elements = kind == CollectiveKind::all_gather  ? record.out_elements
                                : kind == CollectiveKind::send_recv ? larger
                                                                    : record.in_elements;
  constexpr std::int64_t most = std::int64_t{1} << 50;
  if (elements < 0 || elements > most / element) return std::nullopt;
  return Bytes(elements * element);
}

}  // namespace

std::optional<CapturedCall> captured_call(const Capture& capture, const DeviceOp& op) {
  const CollectiveRecord* record = collective_of(capture, op);
  const std::string_view kernel = capture.texts[op.name];
  std::optional<CollectiveKind> kind;
  if (record != nullptr) kind = captured_kind(capture.texts[record->name]);
  if (!kind) kind = captured_kind(kernel.substr(0, kernel.find_first_of("(<")));
  if (!kind) return std::nullopt;
  CapturedCall call;
  call.kind = *kind;
  call.type = type_in_kernel(kernel).value_or(DataType::bf16);
  if (record == nullptr) return call;
  const std::string_view type = capture.texts[record->type];
  if (const auto known = captured_type(type)) call.type = *known;
  if (const auto element = element_bytes(type)) call.bytes = bytes_of(*record, *kind, *element);
  if (record->source >= 0 && record->target >= 0) {
    call.ranks = {record->source, record->target};
    call.size = 2;
  } else if (record->group != nothing) {
    call.ranks = capture.groups[record->group].ranks;
    call.size = capture.groups[record->group].size;
  }
  return call;
}

std::optional<Group> group_of_ranks(const std::vector<std::int64_t>& ranks, std::int64_t devices, bool fill) {
  if (ranks.empty()) return std::nullopt;
  const auto size = static_cast<std::int64_t>(ranks.size());
  const std::int64_t stride = size > 1 ? ranks[1] - ranks[0] : 1;
  if (stride == 0) return std::nullopt;
  for (std::int64_t i = 0; i < size; ++i) {
    if (ranks[static_cast<std::size_t>(i)] != ranks[0] + i * stride) return std::nullopt;
  }
  Group group;
  group.members = {0, {{size, stride}}};
  if (size == 1) group.members.digits.clear();
  const std::int64_t block = size * stride;
  if (fill && stride > 0 && devices % block == 0) {
    RankBox starts{0, {}};
    if (stride > 1) starts.digits.push_back({stride, 1});
    if (devices > block) starts.digits.push_back({devices / block, block});
    group.instances = {starts};
  } else {
    group.instances = {RankBox{ranks[0], {}}};
  }
  return group;
}

}  // namespace warploom
