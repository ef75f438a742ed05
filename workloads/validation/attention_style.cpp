// SPDX-License-Identifier: Apache-2.0
// Reads the implementation's constants in place of the device's usual ones.
#include "workloads/validation/attention_style.hpp"

#include <fmt/format.h>

#include <utility>

#include "hw_models/attention_constants.hpp"
#include "sim/core/config.hpp"
#include "sim/core/csv.hpp"
#include "sim/core/errors.hpp"
#include "sim/core/units.hpp"
#include "workloads/device_lookup.hpp"
#include "workloads/validation/table_kind.hpp"
#include "workloads/validation/validation_context.hpp"

namespace warploom {

namespace {

// As vLLM and SGLang name them, the more special one first.
constexpr std::pair<std::string_view, std::string_view> styles[] = {
    {"triton", "triton"},
    {"trtllm", "trtllm"},
    {"flashinfer", "flashinfer"},
    {"fa3", "flash_attention_3"},
    {"flash_attention_3", "flash_attention_3"},
    {"flash_attention_2", "flash_attention_2"},
    {"fa4", "flash_attention_4"},
    {"fa2", "flash_attention_2"},
    {"flash_attn", "flash_attention_2"},  // vLLM's before it had the others
};

struct GraphReplay {
  Time one_operation;
  static auto fields() {
    return field_list(
        field("one_operation", &GraphReplay::one_operation, "of a graph of one operation, beside it").at_most(1_ms));
  }
};

}  // namespace

std::string attention_style(std::string_view kernel) {
  for (const auto& [part, style] : styles) {
    if (kernel.find(part) != std::string_view::npos) return std::string(style);
  }
  return {};
}

const FoundDevice& device_with_attention(std::string_view device, std::string_view kernel, ValidationContext& context) {
  const FoundDevice& found = context.device(device);
  const std::string style = attention_style(kernel);
  if (style.empty()) return found;
  if (style == "flash_attention_4") throw UserError("FlashAttention-4 is not modelled (rows of one device only)");
  return context.memo<FoundDevice>(found.name + " with " + style, [&] {
    FoundDevice changed = found;
    changed.spec.architecture.attention = read<AttentionConstants>(context.config("attention/" + style));
    return changed;
  });
}

double graph_replay_us(const FoundDevice& device, ValidationContext& context) {
  if (device.model != KernelModel::detailed) return 0;
  const auto& replay = context.memo<GraphReplay>(
      "graph replay", [&] { return read<GraphReplay>(context.config("calibration/graph_replay")); });
  return replay.one_operation.microseconds();
}

void label_attention(const CsvRow& row, const FoundDevice& device, Predicted& result) {
  result.device = device.name;
  result.dtype = row.text("dtype");
  if (row.text("kv_dtype") != row.text("dtype")) result.dtype += fmt::format(" ({} keys)", row.text("kv_dtype"));
  const bool is_one = row.positive_integer("q_len") == 1;
  const auto phase = row.optional_text("phase").value_or(is_one ? "decode" : "prefill");
  if (phase != "decode" && phase != "prefill") throw UserError("the phase is not modelled");
  if (phase == "decode" && !is_one) throw UserError("decoding with several queries is not modelled");
  result.group = {{"phase", std::string(phase)}};
}

}  // namespace warploom
