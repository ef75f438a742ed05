// SPDX-License-Identifier: Apache-2.0
// Published dispatches and combines of several libraries: those of DeepEP's kernels are predicted, by their time or by
// the bandwidth that they are published with.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "network/collectives/moe/moe_reach.hpp"
#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"
#include "workloads/validation/kernel_row.hpp"
#include "workloads/validation/moe_communication_row.hpp"
#include "workloads/validation/tables.hpp"

namespace warploom {

namespace {

constexpr std::int64_t node_ranks = 8;

std::string machine_of(std::string_view hardware) {
  if (hardware == "H200/H100 8-GPU nodes") return "H200";
  if (hardware == "p5en H200") return "H200";
  if (hardware == "p6-b200") return "B200";
  return std::string(hardware);
}

MoeMode mode_of(std::string_view mode) {
  if (mode == "low_latency" || mode == "decode") return MoeMode::low_latency;
  if (mode == "normal" || mode == "prefill") return MoeMode::normal;
  throw UserError(fmt::format("the mode {} is not modelled", warploom::quoted(mode)));
}

// Rows whose transport or settings nothing here stands for.
void require_modelled(std::string_view library, const CollectiveRow& row) {
  const bool is_low_latency = row.moe->mode == MoeMode::low_latency;
  if (library == "DeepEP V1 (as quoted by pplx)") throw UserError("DeepEP before its low latency used NVLink");
  if (library == "UCCL-EP" && (is_low_latency || row.nodes > 1)) throw UserError("messages by a proxy on the host");
  if (library != "UCCL-EP" && !library.starts_with("DeepEP")) throw UserError("MoE kernels that are not DeepEP's");
}

// Of what bandwidth it is published with: all that a rank sends to ranks (NVLink) or nodes (RDMA), itself among them.
double time_of(const CsvRow& csv, const CollectiveRow& row) {
  const double rate = csv.positive_number("bandwidth_GBps") * 1e9;
  const std::int64_t ranks = row.nodes * row.in_node;
  if (csv.text("bw_kind") != "RDMA" || row.moe->mode == MoeMode::low_latency)
    return static_cast<double>(moe_bytes(*row.moe, row.kind, ranks, row.nodes).count()) / rate * 1e6;
  const double nodes = moe_reach(*row.moe, ranks, row.nodes).nodes;
  const auto message = static_cast<double>(moe_message(*row.moe, row.kind).count());
  return static_cast<double>(row.moe->tokens) * nodes * message / rate * 1e6;
}

std::int64_t tokens_of(const CsvRow& csv) {
  const double tokens = csv.positive_number("tokens");
  if (tokens != static_cast<double>(static_cast<std::int64_t>(tokens))) throw UserError("a fraction of a token");
  return static_cast<std::int64_t>(tokens);
}

CollectiveRow row_of(const CsvRow& csv) {
  CollectiveRow row;
  row.machine = machine_of(csv.text("hardware"));
  const std::string_view op = csv.text("op");
  if (op != "dispatch" && op != "combine") throw UserError(fmt::format("the operation {} is not modelled", quoted(op)));
  row.kind = op == "dispatch" ? CollectiveKind::moe_dispatch : CollectiveKind::moe_combine;
  const std::int64_t ranks = csv.positive_integer("ep");
  if (ranks % node_ranks != 0) throw UserError("ranks that do not fill nodes of 8");
  row.nodes = ranks / node_ranks;
  row.in_node = node_ranks;
  MoeTraffic traffic;
  traffic.mode = mode_of(csv.text("mode"));
  traffic.tokens = tokens_of(csv);
  traffic.hidden = csv.positive_integer("hidden");
  traffic.top_k = csv.positive_integer("topk");
  traffic.experts = csv.positive_integer("experts");
  if (const auto type = csv.optional_text("dtype_dispatch"); type && !type->empty())
    traffic.dispatch_type = data_type_of(to_lower(*type));
  if (const auto type = csv.optional_text("dtype_combine"); type && !type->empty())
    traffic.combine_type = data_type_of(to_lower(*type));
  // DeepEP's own benchmark keeps tokens to four nodes.
  if (traffic.mode == MoeMode::normal) traffic.node_limit = std::min<std::int64_t>(row.nodes, 4);
  row.moe = traffic;
  return row;
}

class MoeLibrariesTable final : public TableKind {
 public:
  std::string_view name() const override { return "moe_libraries"; }
  std::string_view meaning() const override { return "published MoE dispatches and combines of several libraries"; }
  std::span<const std::string_view> columns() const override {
    static constexpr std::array<std::string_view, 14> names = {
        "source",  "library", "hardware", "mode",    "tokens",         "hidden",  "topk",
        "experts", "ep",      "op",       "time_us", "bandwidth_GBps", "bw_kind", "sms"};
    return names;
  }
  std::string_view device_column() const override { return "hardware"; }
  BaselineKind baseline() const override { return BaselineKind::latency_bandwidth; }

  Predicted predict(const CsvRow& csv, ValidationContext& context) const override {
    Predicted result;
    CollectiveRow row = row_of(csv);
    require_modelled(csv.text("library"), row);
    const auto time = csv.optional_text("time_us");
    const bool has_time = time && !time->empty();
    const auto sms = csv.optional_text("sms");
    if (sms && !sms->empty()) row.moe->sms = csv.positive_integer("sms");
    if (csv.text("mode") == "prefill") throw UserError("a prefill whose SMs and launches are not said");
    result.measured_us = has_time ? csv.positive_number("time_us") : time_of(csv, row);
    predict_moe_communication(row, context, result);
    result.set = csv.text("library");
    return result;
  }
};

}  // namespace

const TableKind& moe_libraries_table() {
  static const MoeLibrariesTable table;
  return table;
}

}  // namespace warploom
