// SPDX-License-Identifier: Apache-2.0
// Names without their punctuation, types without their namespaces.
#include "traces/collective_names.hpp"

#include <algorithm>
#include <string>

#include "sim/core/text.hpp"

namespace warploom {

namespace {

// What a word means, without namespace and prefix: "c10::BFloat16" -> "bfloat16", "DT_BF16" -> "bf16".
std::string plain_word(std::string_view word) {
  std::string lower = to_lower(trim(word));
  for (const std::string_view prefix : {"c10::", "at::", "torch.", "dt_", "at_"}) {
    if (lower.starts_with(prefix)) lower.erase(0, prefix.size());
  }
  if (lower.ends_with("_t")) lower.erase(lower.size() - 2);
  return lower;
}

}  // namespace

std::optional<CollectiveKind> captured_kind(std::string_view name) {
  std::string plain;
  for (const char c : to_lower(name)) {
    if (c != '_' && c != '-' && c != ' ') plain += c;
  }
  const auto has = [&plain](std::string_view text) { return plain.find(text) != std::string::npos; };
  // `reduce` is part of others, and `allgather` of the coalesced names.
  if (has("allreduce") || has("crossdevicereduce")) return CollectiveKind::all_reduce;
  if (has("reducescatter")) return CollectiveKind::reduce_scatter;
  if (has("allgather")) return CollectiveKind::all_gather;
  if (has("alltoall")) return CollectiveKind::all_to_all;
  if (has("broadcast")) return CollectiveKind::broadcast;
  if (has("sendrecv")) return std::nullopt;
  if (has("gather")) return CollectiveKind::gather;
  if (has("scatter")) return CollectiveKind::scatter;
  if (has("reduce")) return CollectiveKind::reduce;
  if (plain == "send" || plain == "recv" || has("hcomsend") || has("hcomreceive")) return CollectiveKind::send_recv;
  return std::nullopt;
}

std::optional<DataType> captured_type(std::string_view word) {
  const std::string plain = plain_word(word);
  if (plain == "float" || plain == "float32" || plain == "fp32") return DataType::fp32;
  if (plain == "bfloat16" || plain == "bf16" || plain == "bfp16") return DataType::bf16;
  if (plain == "half" || plain == "float16" || plain == "fp16") return DataType::fp16;
  if (plain.starts_with("float8") || plain == "fp8" || plain.starts_with("hifloat8")) return DataType::fp8;
  if (plain == "int8" || plain == "signed char" || plain == "char" || plain == "qint8") return DataType::int8;
  if (plain == "int" || plain == "int32") return DataType::int32;
  return std::nullopt;
}

std::optional<std::int64_t> element_bytes(std::string_view word) {
  const std::string plain = plain_word(word);
  if (plain == "double" || plain == "float64" || plain == "fp64" || plain == "long" || plain == "long int" ||
      plain == "int64" || plain == "uint64") {
    return 8;
  }
  if (plain == "unsigned char" || plain == "byte" || plain == "bool" || plain == "uint8") return 1;
  if (plain == "short" || plain == "int16" || plain == "uint16") return 2;
  if (plain == "unsigned int" || plain == "uint32") return 4;
  if (const auto type = captured_type(word)) return std::max(1, bits(*type) / 8);
  return std::nullopt;
}

}  // namespace warploom
