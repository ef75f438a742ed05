// SPDX-License-Identifier: Apache-2.0
// Classes, words and sizes of operations on either side.
#include "workloads/overlay/tokens.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "hw_models/kernels/activation.hpp"
#include "hw_models/kernels/attention.hpp"
#include "hw_models/kernels/cast.hpp"
#include "hw_models/kernels/cross_entropy.hpp"
#include "hw_models/kernels/dropout.hpp"
#include "hw_models/kernels/element_wise.hpp"
#include "hw_models/kernels/gemm.hpp"
#include "hw_models/kernels/norm.hpp"
#include "hw_models/kernels/softmax.hpp"
#include "sim/core/text.hpp"
#include "traces/recorded_time.hpp"
#include "workloads/replay/collective_call.hpp"
#include "workloads/replay/op_kernel.hpp"

namespace warploom {

namespace {

// Never 0, so that it is always a known shape.
std::uint64_t mixed(std::initializer_list<std::int64_t> sizes) {
  std::uint64_t hash = 0x51ed270b2f6a3d17ULL;
  for (const auto size : sizes) {
    hash = (hash ^ static_cast<std::uint64_t>(size)) * 0xff51afd7ed558ccdULL;
    hash ^= hash >> 29;
  }
  return hash == 0 ? 1 : hash;
}

// Small kernels by their elements; 0: not told.
std::int64_t elements_of(const Kernel& kernel) {
  if (kernel.family == "norm") {
    const NormShape shape = norm_shape(kernel);
    return shape.rows * shape.width;
  }
  if (kernel.family == "softmax") {
    const SoftmaxShape shape = softmax_shape(kernel);
    return shape.matrices * shape.rows * shape.width;
  }
  if (kernel.family == "element_wise") return element_wise_shape(kernel).elements;
  if (kernel.family == "dropout") return dropout_shape(kernel).elements;
  if (kernel.family == "cast") return cast_shape(kernel).elements;
  if (kernel.family == "activation") {
    const ActivationShape shape = activation_shape(kernel);
    return shape.rows * shape.width;
  }
  if (kernel.family == "cross_entropy") {
    const CrossEntropyShape shape = cross_entropy_shape(kernel);
    return shape.tokens * shape.vocabulary;
  }
  return 0;
}

OverlayToken generated_token(const Program& program, RowId row) {
  OverlayToken token;
  const NameId name = program.row_name[row];
  token.word = word_of(name == none ? std::string_view() : std::string_view(program.names[name]));
  if (program.kernel[row] != none) {
    const Kernel& kernel = program.kernels[program.kernel[row]];
    token.op_class = class_of(kernel);
    token.shape = shape_key(kernel);
    if (token.word == OverlayWord::nothing) token.word = word_of(kernel.family);
  } else {
    token.op_class = program.kind[row] == OperationKind::copy ? OpClass::copy : OpClass::other;
  }
  if (token.op_class == OpClass::gemm || token.op_class == OpClass::attention) token.word = OverlayWord::nothing;
  return token;
}

// Empty for recorded meetings, of which nothing is known.
OverlayToken generated_communication(const Program& program, RowId row) {
  OverlayToken token;
  token.op_class = OpClass::communication;
  const CallId call = program.meetings[program.meeting[row]].call;
  if (call == none) return token;
  token.word = word_of(program.calls[call].kind);
  token.shape = mixed({program.calls[call].bytes.count()});
  return token;
}

template <class Id>
void add(OverlayLane<Id>& lane, Id id, OverlayToken token, Nanoseconds duration) {
  token.duration = duration;
  lane.ids.push_back(id);
  lane.tokens.push_back(token);
  lane.parts.push_back(1);
}

ProductSize product_size(const Kernel& kernel) {
  if (kernel.family != "gemm") return {};
  const GemmShape shape = gemm_shape(kernel);
  return shape.batch == 1 ? ProductSize{{shape.m, shape.n, shape.k}} : ProductSize{};
}

// Whichever operand comes first.
std::array<std::int64_t, 3> unordered(const std::array<std::int64_t, 3>& mnk) {
  return {std::min(mnk[0], mnk[1]), std::max(mnk[0], mnk[1]), mnk[2]};
}
std::uint64_t product_key(const std::array<std::int64_t, 3>& mnk) {
  const auto size = unordered(mnk);
  return mixed({1, size[0], size[1], size[2]});
}

void drop(CapturedSide& side, const std::vector<bool>& gone) {
  auto& lane = side.lanes[0];
  std::size_t kept = 0;
  for (std::size_t i = 0; i < lane.ids.size(); ++i) {
    if (gone[i]) continue;
    lane.ids[kept] = lane.ids[i];
    lane.tokens[kept] = lane.tokens[i];
    lane.parts[kept] = lane.parts[i];
    side.products[kept] = side.products[i];
    ++kept;
  }
  lane.ids.resize(kept);
  lane.tokens.resize(kept);
  lane.parts.resize(kept);
  side.products.resize(kept);
}

// The products that make one of the model's with the first, along one of its sizes; alone where there are none.
class SplitProducts {
 public:
  SplitProducts(const std::vector<ProductSize>& trace, const std::vector<ProductSize>& model) : trace_(trace) {
    for (const auto& product : model) {
      if (product.is_known()) whole_.insert(unordered(product.mnk));
    }
  }

  bool is_whole(const std::array<std::int64_t, 3>& mnk) const { return whole_.contains(unordered(mnk)); }

  struct Parts {
    std::vector<std::size_t> places;
    std::array<std::int64_t, 3> sum{};
  };
  Parts parts_of(std::size_t first, const std::vector<bool>& taken) const {
    // Half of gate and up is as large as the gradient through the product after them: then only neighbours are parts.
    const bool is_itself_whole = is_whole(trace_[first].mnk);
    for (std::size_t along = 0; along < 3; ++along) {
      std::array<std::int64_t, 3> sum = trace_[first].mnk;
      std::vector<std::size_t> parts = {first};
      std::size_t looked = 0;
      for (std::size_t i = first + 1; i < trace_.size() && looked < most_apart; ++i) {
        if (!trace_[i].is_known() || taken[i]) continue;
        ++looked;
        const bool fits = agrees(trace_[first].mnk, trace_[i].mnk, along);
        if (is_itself_whole && !fits) break;
        if (!fits || (!is_itself_whole && is_whole(trace_[i].mnk))) continue;
        sum[along] += trace_[i].mnk[along];
        parts.push_back(i);
        if (is_whole(sum)) return {std::move(parts), sum};
        if (parts.size() == most_parts) break;
      }
    }
    return {{first}, trace_[first].mnk};
  }

 private:
  static constexpr std::size_t most_parts = 3;
  static constexpr std::size_t most_apart = 8;  // products, others of a backward pass between them

  static bool agrees(const std::array<std::int64_t, 3>& a, const std::array<std::int64_t, 3>& b, std::size_t but) {
    for (std::size_t i = 0; i < 3; ++i) {
      if (i != but && a[i] != b[i]) return false;
    }
    return true;
  }

  const std::vector<ProductSize>& trace_;
  std::set<std::array<std::int64_t, 3>> whole_;
};

}  // namespace

OverlayWord word_of(std::string_view name) {
  const std::string lower = to_lower(name);
  struct Entry {
    std::string_view text;
    OverlayWord word;
  };
  // "bias_dropout_add" before what it adds to; copies last: many kernels' template arguments name one.
  constexpr Entry entries[] = {
      {"softmax", OverlayWord::softmax},       {"embedding", OverlayWord::embedding},
      {"indexselect", OverlayWord::embedding}, {"dropout", OverlayWord::dropout},
      {"gelu", OverlayWord::activation},       {"silu", OverlayWord::activation},
      {"swiglu", OverlayWord::activation},     {"activation", OverlayWord::activation},
      {"rotary", OverlayWord::rotary},         {"rope", OverlayWord::rotary},
      {"adam", OverlayWord::optimizer},        {"optimizer", OverlayWord::optimizer},
      {"direct_copy", OverlayWord::copy},      {"merge_heads", OverlayWord::copy},
      {"split_heads", OverlayWord::copy},      {"join_qkv", OverlayWord::copy},
  };
  for (const auto& [text, word] : entries) {
    if (lower.find(text) != std::string::npos) return word;
  }
  return OverlayWord::nothing;
}

OverlayWord word_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_reduce:
      return OverlayWord::all_reduce;
    case CollectiveKind::all_gather:
      return OverlayWord::all_gather;
    case CollectiveKind::reduce_scatter:
      return OverlayWord::reduce_scatter;
    case CollectiveKind::all_to_all:
    case CollectiveKind::moe_dispatch:
    case CollectiveKind::moe_combine:
      return OverlayWord::all_to_all;
    case CollectiveKind::broadcast:
      return OverlayWord::broadcast;
    case CollectiveKind::send_recv:
      return OverlayWord::point_to_point;
    case CollectiveKind::reduce:
    case CollectiveKind::gather:
    case CollectiveKind::scatter:
      return OverlayWord::rooted;
  }
  return OverlayWord::nothing;
}

OpClass class_of(const Kernel& kernel) {
  if (kernel.family == "gemm" || kernel.family.starts_with("moe")) return OpClass::gemm;
  if (kernel.family == "attention" || kernel.family == "mla") return OpClass::attention;
  if (kernel.family == "norm") return OpClass::norm;
  return OpClass::element_wise;
}

std::uint64_t shape_key(const Kernel& kernel) {
  if (kernel.family == "gemm") {
    const GemmShape shape = gemm_shape(kernel);
    if (shape.batch == 1) return product_key({shape.m, shape.n, shape.k});
    return mixed({shape.batch, std::min(shape.m, shape.n), std::max(shape.m, shape.n), shape.k});
  }
  if (kernel.family == "attention") {
    const AttentionShape shape = attention_shape(kernel);
    return mixed({shape.batch, shape.query_heads, shape.kv_heads, shape.query_length, shape.kv_length, shape.head_dim,
                  shape.backward ? 1 : 0});
  }
  const std::int64_t elements = elements_of(kernel);
  return elements > 0 ? mixed({elements}) : 0;
}

CapturedKernels::CapturedKernels(const Capture& capture) : capture_(capture) {
  if (capture.details.empty()) return;
  detail_of_op_.assign(capture.device_ops.size(), nothing);
  for (std::uint32_t i = 0; i < capture.details.size(); ++i) detail_of_op_[capture.details[i].op] = i;
}

std::optional<Kernel> CapturedKernels::of(std::uint32_t index) {
  const DeviceOp& op = capture_.device_ops[index];
  OperatorTexts texts;
  std::tuple<TextId, TextId, TextId, TextId, OpClass> key;
  const std::uint32_t detail = detail_of_op_.empty() ? nothing : detail_of_op_[index];
  if (detail != nothing && capture_.details[detail].shapes != nothing) {
    const auto& own = capture_.details[detail];
    texts = {capture_.texts[own.type], capture_.texts[own.shapes], capture_.texts[own.types], {}};
    key = {own.type, own.shapes, own.types, nothing, op.op_class};
  } else if (op.host_op != nothing && capture_.host_ops[op.host_op].shapes != nothing) {
    const auto& host = capture_.host_ops[op.host_op];
    texts = {capture_.texts[host.name], capture_.texts[host.shapes], capture_.texts[host.types],
             capture_.texts[host.values]};
    key = {host.name, host.shapes, host.types, host.values, op.op_class};
  } else {
    return std::nullopt;
  }
  const auto [place, is_new] = kernels_.try_emplace(key);
  if (is_new) place->second = kernel_of_operator(texts, op.op_class);
  return place->second;
}

CapturedSide captured_side(const CapturedRun& run, std::uint32_t index, const std::vector<bool>& counts) {
  const Capture& capture = run.captures[index];
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < capture.device_ops.size(); ++i) {
    if (counts[i] && is_work(capture.device_ops[i])) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return capture.device_ops[a].start < capture.device_ops[b].start;
  });
  CapturedSide side;
  CapturedKernels kernels(capture);
  for (const std::uint32_t i : order) {
    const DeviceOp& op = capture.device_ops[i];
    side.ops.push_back(op);
    OverlayToken token;
    token.op_class = op.op_class;
    if (work_kind(op) == WorkKind::communication) {
      token.op_class = OpClass::communication;
      if (const auto call = captured_call(capture, op)) {
        token.word = word_of(call->kind);
        if (call->bytes) token.shape = mixed({call->bytes->count()});
      }
      const std::uint32_t matched = run.matching.of_op[index][i];
      const Nanoseconds transfer =
          matched == nothing ? op.duration : std::min(op.duration, run.matching.collectives[matched].transfer);
      side.waiting += op.duration - transfer;
      add(side.lanes[1], i, token, transfer);
      continue;
    }
    if (op.kind != DeviceOpKind::kernel) token.op_class = OpClass::copy;
    const auto kernel = kernels.of(i);
    if (kernel) token.shape = shape_key(*kernel);
    side.products.push_back(kernel ? product_size(*kernel) : ProductSize{});
    if (token.op_class != OpClass::gemm && token.op_class != OpClass::attention) {
      token.word = word_of(capture.texts[op.name]);
      if (token.word == OverlayWord::nothing && op.host_op != nothing) {
        token.word = word_of(capture.texts[capture.host_ops[op.host_op].name]);
      }
    }
    add(side.lanes[0], i, token, op.duration);
  }
  return side;
}

std::int64_t join_split_products(CapturedSide& side, const std::vector<ProductSize>& model) {
  const SplitProducts split(side.products, model);
  auto& lane = side.lanes[0];
  std::vector<bool> taken(lane.ids.size());
  std::int64_t joined = 0;
  for (std::size_t i = 0; i < lane.ids.size(); ++i) {
    if (taken[i] || !side.products[i].is_known()) continue;
    const auto [parts, sum] = split.parts_of(i, taken);
    if (parts.size() < 2) continue;
    for (std::size_t p = 1; p < parts.size(); ++p) {
      lane.tokens[i].duration += lane.tokens[parts[p]].duration;
      taken[parts[p]] = true;
    }
    lane.parts[i] = static_cast<std::int64_t>(parts.size());
    lane.tokens[i].shape = product_key(sum);
    joined += lane.parts[i] - 1;
  }
  if (joined > 0) drop(side, taken);
  return joined;
}

GeneratedSide generated_side(const Program& program, const Timeline& timeline, RoleId role, GeneratedPart part) {
  std::vector<RowId> order;
  for (RowId row = 0; row < program.size(); ++row) {
    const OperationKind kind = program.kind[row];
    if (kind == OperationKind::host || kind == OperationKind::marker || kind == OperationKind::think) continue;
    if (program.role_of(row) != role) continue;
    if (part != GeneratedPart::step && program.phase[row] != Phase::forward) continue;
    if (part == GeneratedPart::one_forward_pass && program.micro_batch[row] > 0) continue;
    order.push_back(row);
  }
  std::stable_sort(order.begin(), order.end(), [&](RowId a, RowId b) { return timeline.begin[a] < timeline.begin[b]; });
  GeneratedSide side;
  for (const RowId row : order) {
    const bool has_kernel = program.kind[row] == OperationKind::compute || program.kind[row] == OperationKind::copy ||
                            program.kind[row] == OperationKind::fused;
    const Nanoseconds duration = nanoseconds(timeline.end[row]) - nanoseconds(timeline.begin[row]);
    DeviceOp op;
    op.start = nanoseconds(timeline.ready[row]);
    op.duration = nanoseconds(timeline.end[row]) - op.start;
    if (has_kernel) {
      const OverlayToken token = generated_token(program, row);
      add(side.lanes[0], row, token, duration);
      const KernelId kernel = program.kernel[row];
      side.products.push_back(kernel == none ? ProductSize{} : product_size(program.kernels[kernel]));
      op.kind = program.kind[row] == OperationKind::copy ? DeviceOpKind::copy : DeviceOpKind::kernel;
      op.op_class = token.op_class;
      side.ops.push_back(op);
    }
    if (program.meeting[row] != none) {
      add(side.lanes[1], row, generated_communication(program, row), duration);
      op.kind = DeviceOpKind::kernel;
      op.op_class = OpClass::communication;
      side.ops.push_back(op);
    }
  }
  return side;
}

}  // namespace warploom
