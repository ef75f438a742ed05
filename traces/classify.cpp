// SPDX-License-Identifier: Apache-2.0
// Parts of kernel names, and what they tell.
#include "traces/classify.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <vector>

#include "sim/core/text.hpp"

namespace warploom {

namespace {

// Parts of kernel names in lower case. Communication first: an all-reduce may be fused with a norm and still waits for
// its peers. Convolutions are GEMMs on tensor cores (implicit_gemm, wgrad) and are counted there.
constexpr std::array communication_parts = {
    "ncclkernel",
    "nccldevkernel",
    "rccl",
    "::ep::internode",
    "::ep::intranode",
    "deep_ep::",
    "nvshmem",
    "hcom_",
    "cross_device_reduce",
    "customallreduce",
    "custom_all_reduce",
    "custom_allreduce",
    "one_shot_all_reduce",
    "one_shot_allreduce",
    "oneshotallreduce",
    "oneshot_all_reduce",
    "oneshot_allreduce",
    "one_shotall_reduce",
    "oneshotall_reduce",
    "two_shot_all_reduce",
    "two_shot_allreduce",
    "twoshotallreduce",
    "twoshot_all_reduce",
    "twoshot_allreduce",
};
constexpr std::array communication_starts = {"nccl", "oneccl"};
constexpr std::array attention_parts = {"flash", "fmha", "attention", "attn", "sdpa", "_mla_", "mla_"};
constexpr std::array gemm_parts = {"gemm",   "gemv",   "cutlass",    "nvjet", "xmma",  "cijk_",
                                   "matmul", "_mm_",   "conv",       "wgrad", "dgrad", "fprop",
                                   "cudnn",  "igemm",  "splitk",     "bmm_",  "addmm", "linear_kernel",
                                   "miopen", "cublas", "dot_kernel", "s884",  "s16816"};
constexpr std::array norm_parts = {"norm", "rms", "batchnorm", "bn_fw", "bn_bw"};
constexpr std::array element_wise_parts = {
    "elementwise", "element_wise", "vectorized", "triton_poi",   "triton_red", "triton_per", "softmax", "reduce_kernel",
    "dropout",     "activation",   "gelu",       "silu",         "relu",       "fill",       "copy_",   "cast",
    "convert",     "index",        "gather",     "scatter",      "embedding",  "add_",       "mul_",    "sum_",
    "transpose",   "cat",          "adam",       "multi_tensor", "rotary",     "rope",       "quant",   "pool",
};
// At the start of a copy's or a fill's own name, where a format lists them among kernels.
constexpr std::array copy_starts = {
    "memcpy", "memset", "hipmemcpy", "hipmemset", "__amd_rocclr_copybuffer", "__amd_rocclr_fillbuffer"};

template <std::size_t Count>
bool contains_any(std::string_view text, const std::array<const char*, Count>& parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](const char* part) { return text.find(part) != std::string_view::npos; });
}
template <std::size_t Count>
bool starts_with_any(std::string_view text, const std::array<const char*, Count>& starts) {
  return std::any_of(starts.begin(), starts.end(), [&](const char* start) { return text.starts_with(start); });
}

// "convert_element_type" is no convolution.
std::string without_conversions(std::string_view text) {
  constexpr std::string_view conversion = "conver";
  std::string rest(text);
  for (auto at = rest.find(conversion); at != std::string::npos; at = rest.find(conversion, at)) {
    rest.erase(at, conversion.size());
  }
  return rest;
}

}  // namespace

bool is_communication_name(std::string_view kernel) {
  const std::string lower = to_lower(kernel);
  return starts_with_any(lower, communication_starts) || contains_any(lower, communication_parts);
}

OpClass class_by_name(std::string_view kernel) {
  const std::string lower = to_lower(kernel);
  if (starts_with_any(lower, communication_starts) || contains_any(lower, communication_parts)) {
    return OpClass::communication;
  }
  if (starts_with_any(lower, copy_starts)) return OpClass::copy;
  if (contains_any(lower, attention_parts)) return OpClass::attention;
  // A template's arguments may name any operation: what the kernel itself is called comes before its first `<`.
  const std::string_view own = std::string_view(lower).substr(0, lower.find('<'));
  for (const std::string_view text : {own, std::string_view(lower)}) {
    if (contains_any(without_conversions(text), gemm_parts)) return OpClass::gemm;
    if (contains_any(text, norm_parts)) return OpClass::norm;
    if (contains_any(text, element_wise_parts)) return OpClass::element_wise;
  }
  return OpClass::other;
}

void classify(Capture& capture) {
  std::vector<OpClass> by_name(capture.texts.size());
  std::vector<bool> is_known(capture.texts.size(), false);
  for (auto& op : capture.device_ops) {
    if (op.kind == DeviceOpKind::copy || op.kind == DeviceOpKind::fill) {
      op.op_class = OpClass::copy;
    } else if (op.collective != nothing) {
      op.op_class = OpClass::communication;
    } else if (op.kind == DeviceOpKind::kernel && op.name != nothing) {
      if (!is_known[op.name]) {
        by_name[op.name] = class_by_name(capture.texts[op.name]);
        is_known[op.name] = true;
      }
      op.op_class = by_name[op.name];
    }
  }
  // The type of an operator says more than the kernel's name; what runs on vector cores alone and is nothing else is
  // element-wise.
  for (const auto& detail : capture.details) {
    DeviceOp& op = capture.device_ops[detail.op];
    if (op.kind != DeviceOpKind::kernel || op.op_class == OpClass::communication) continue;
    const OpClass by_type = class_by_name(capture.texts[detail.type]);
    if (by_type != OpClass::other) op.op_class = by_type;
    const std::string_view core = capture.texts[detail.core];
    const bool is_vector = core == "AI_VECTOR_CORE" || core == "MIX_AIV";
    if (op.op_class == OpClass::other && is_vector) op.op_class = OpClass::element_wise;
  }
}

}  // namespace warploom
