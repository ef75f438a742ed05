// SPDX-License-Identifier: Apache-2.0
// DeepEP's dispatch and combine, low latency and normal, as aiconfigurator's collectors measure them: FP8 dispatched,
// BF16 combined; normal kernels with a known layout and the best queue chunk of those tried.
#include <array>

#include "sim/core/errors.hpp"
#include "workloads/validation/moe_communication_row.hpp"
#include "workloads/validation/tables.hpp"

namespace warploom {

namespace {

// A row of either table: what both have.
CollectiveRow row_of(const CsvRow& csv, MoeMode mode, int measurement) {
  if (csv.text("kernel_source") != "deepep") throw UserError("MoE kernels that are not DeepEP's");
  CollectiveRow row;
  row.machine = csv.text("device");
  row.kind = measurement == 0 ? CollectiveKind::moe_dispatch : CollectiveKind::moe_combine;
  row.nodes = csv.positive_integer("node_num");
  const std::int64_t gpus = csv.positive_integer("gpus");
  if (gpus < 2) throw UserError("a dispatch of one rank");
  if (gpus % row.nodes != 0) throw UserError("nodes with unequal numbers of ranks");
  row.in_node = gpus / row.nodes;
  MoeTraffic traffic;
  traffic.mode = mode;
  traffic.tokens = csv.positive_integer("num_token");
  traffic.hidden = csv.positive_integer("hidden_size");
  traffic.top_k = csv.positive_integer("num_topk");
  traffic.experts = csv.positive_integer("num_experts");
  row.moe = traffic;
  return row;
}

class LowLatencyTable final : public TableKind {
 public:
  std::string_view name() const override { return "moe_low_latency"; }
  std::string_view meaning() const override { return "low-latency MoE dispatches and combines"; }
  std::span<const std::string_view> columns() const override {
    static constexpr std::array<std::string_view, 10> names = {
        "device",   "kernel_source", "node_num", "hidden_size",       "num_token",
        "num_topk", "num_experts",   "gpus",     "dispatch_avg_t_us", "combine_avg_t_us"};
    return names;
  }
  BaselineKind baseline() const override { return BaselineKind::latency_bandwidth; }
  int measurements() const override { return 2; }
  Predicted predict(const CsvRow& csv, ValidationContext& context) const override {
    return predict_one(csv, 0, context);
  }
  Predicted predict_one(const CsvRow& csv, int measurement, ValidationContext& context) const override {
    Predicted result;
    result.measured_us = csv.positive_number(measurement == 0 ? "dispatch_avg_t_us" : "combine_avg_t_us");
    predict_moe_communication(row_of(csv, MoeMode::low_latency, measurement), context, result);
    return result;
  }
};

class NormalTable final : public TableKind {
 public:
  std::string_view name() const override { return "moe_normal"; }
  std::string_view meaning() const override { return "normal MoE dispatches and combines, by the SMs that they take"; }
  std::span<const std::string_view> columns() const override {
    static constexpr std::array<std::string_view, 12> names = {"device",
                                                               "kernel_source",
                                                               "node_num",
                                                               "hidden_size",
                                                               "num_token",
                                                               "num_topk",
                                                               "num_experts",
                                                               "gpus",
                                                               "dispatch_transmit_us",
                                                               "combine_sms",
                                                               "combine_transmit_us",
                                                               "dispatch_sms"};
    return names;
  }
  BaselineKind baseline() const override { return BaselineKind::latency_bandwidth; }
  int measurements() const override { return 2; }
  Predicted predict(const CsvRow& csv, ValidationContext& context) const override {
    return predict_one(csv, 0, context);
  }
  Predicted predict_one(const CsvRow& csv, int measurement, ValidationContext& context) const override {
    const bool is_dispatch = measurement == 0;
    Predicted result;
    // The kernels' time; where the counting kernel has a time of its own (several nodes), it stands beside.
    result.measured_us = csv.positive_number(is_dispatch ? "dispatch_transmit_us" : "combine_transmit_us");
    CollectiveRow row = row_of(csv, MoeMode::normal, measurement);
    row.moe->sms = csv.positive_integer(is_dispatch ? "dispatch_sms" : "combine_sms");
    predict_moe_communication(row, context, result);
    return result;
  }
};

}  // namespace

const TableKind& moe_low_latency_table() {
  static const LowLatencyTable table;
  return table;
}

const TableKind& moe_normal_table() {
  static const NormalTable table;
  return table;
}

}  // namespace warploom
