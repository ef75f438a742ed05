// SPDX-License-Identifier: Apache-2.0
// What tables of collectives share: the network of a row, and what is reported of its prediction.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "network/collective_estimate.hpp"
#include "workloads/validation/table_kind.hpp"

namespace warploom {

class ValidationContext;

struct CollectiveRow {
  std::string machine;  // a device, or what a table calls a machine (`stands_for:`)
  std::string fabric;   // between nodes, in the table's words: "EFA 32x100G"
  std::string version;  // of the library; empty: not known
  CollectiveKind kind = CollectiveKind::all_reduce;
  CollectiveChoice choice;
  std::int64_t nodes = 1;
  std::int64_t in_node = 1;  // ranks of each
  std::int64_t bytes = 0;
  std::optional<MoeTraffic> moe = {};  // instead of bytes; the device's SMs and memory are looked up
  bool is_one_process = false;         // one thread launches on all devices of the machine
};

// `2.29.2` of "nccl 2.29.2"; empty of "nccl unknown". Throws UserError for another library.
std::string library_version(std::string_view text);

// Throws UserError for what cannot be predicted.
CollectiveKind collective_kind_of(std::string_view operation);

// Fills device, size class, group, labels, prediction and baseline.
void predict_collective(const CollectiveRow& row, ValidationContext& context, Predicted& result);

// `under 1 MiB`, `1 to 64 MiB`, `64 MiB and more`.
std::string size_class_of(std::int64_t bytes);

}  // namespace warploom
