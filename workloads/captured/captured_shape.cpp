// SPDX-License-Identifier: Apache-2.0
// Products and attention of the forward pass in order, parted into layers; groups by their descriptions.
#include "workloads/captured/captured_shape.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "hw_models/kernels/attention.hpp"
#include "hw_models/kernels/gemm.hpp"
#include "sim/core/text.hpp"
#include "traces/communication_cause.hpp"
#include "workloads/overlay/tokens.hpp"
#include "workloads/replay/collective_call.hpp"

namespace warploom {

namespace {

struct Product {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
};

// What follows one attention up to the next.
struct Segment {
  std::int64_t width = 0;  // of all heads of the rank
  std::int64_t head_dim = 0;
  std::int64_t length = 0;  // of a sequence
  std::int64_t kv_heads = 0;
  bool is_flash = false;
  std::vector<Product> products;
};

struct LayerWidths {
  std::int64_t hidden = 0;
  std::int64_t ffn = 0;
  bool is_gated = false;
  std::vector<std::int64_t> after;  // widths of what follows the MLP: the next layer's projections, or the head
  auto operator<=>(const LayerWidths&) const = default;
};

// Nothing where the products are not those of a layer.
std::optional<LayerWidths> layer_of(const Segment& segment) {
  auto at = segment.products.begin();
  while (at != segment.products.end() && at->k != segment.width) ++at;
  if (at == segment.products.end()) return std::nullopt;
  LayerWidths layer;
  layer.hidden = at->n;
  std::int64_t between = 0;
  for (++at; at != segment.products.end() && at->n != layer.hidden; ++at) {
    if (at->k == layer.hidden) between += at->n;
  }
  if (at == segment.products.end() || between == 0) return std::nullopt;
  layer.ffn = at->k;
  if (between != layer.ffn && between != 2 * layer.ffn) return std::nullopt;
  layer.is_gated = between != layer.ffn;
  for (++at; at != segment.products.end(); ++at) {
    if (at->k == layer.hidden) layer.after.push_back(at->n);
  }
  return layer;
}

template <class Key>
std::optional<Key> most_frequent(const std::map<Key, std::int64_t>& counts) {
  const auto most =
      std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == counts.end() ? std::nullopt : std::optional<Key>(most->first);
}

std::optional<TrainingType> training_type(DataType type) {
  if (type == DataType::fp16) return TrainingType::fp16;
  if (type == DataType::bf16) return TrainingType::bf16;
  if (type == DataType::fp32 || type == DataType::tf32) return TrainingType::fp32;
  return std::nullopt;
}

class Observer {
 public:
  Observer(const CapturedRun& run, const Capture& capture) : run_(run), capture_(capture), kernels_(capture) {}

  CapturedShape observe() {
    for (const auto& device : capture_.devices) {
      if (shape_.device.empty()) shape_.device = device.name;
    }
    read_groups();
    walk();
    read_layers();
    guess_tensor();
    // Encoders end with a transform of the hidden size: no vocabulary is as small.
    const bool is_head = shape_.slice_of_vocabulary && shape_.hidden &&
                         *shape_.slice_of_vocabulary * shape_.tensor.value_or(1) > 2 * *shape_.hidden;
    if (!is_head) shape_.slice_of_vocabulary.reset();
    return std::move(shape_);
  }

 private:
  bool is_in_step(const DeviceOp& op) const {
    if (!step_) return true;
    const Nanoseconds at = op.launch != nothing ? capture_.calls[op.launch].start : op.start;
    return at >= step_->begin && at < step_->end;
  }

  void choose_step() {
    auto steps = captured_steps(capture_);
    if (steps.empty()) return;
    const auto middle = steps.begin() + static_cast<std::ptrdiff_t>((steps.size() - 1) / 2);
    std::nth_element(steps.begin(), middle, steps.end(),
                     [](const auto& a, const auto& b) { return a.first.duration < b.first.duration; });
    step_ = Interval{middle->first.start, middle->first.start + middle->first.duration};
  }

  // Autograd runs the backward pass on a thread of its own: the thread of the first product is the forward pass's.
  bool is_forward(const DeviceOp& op) {
    if (op.host_op == nothing) return true;
    const std::uint32_t thread = capture_.host_ops[op.host_op].thread;
    if (!forward_thread_) forward_thread_ = thread;
    return thread == *forward_thread_;
  }

  void walk() {
    choose_step();
    for (std::uint32_t i = 0; i < capture_.device_ops.size(); ++i) {
      const DeviceOp& op = capture_.device_ops[i];
      if (!is_work(op) || !is_in_step(op)) continue;
      const std::string name = to_lower(capture_.texts[op.name]);
      const std::string host =
          op.host_op == nothing ? std::string() : to_lower(capture_.texts[capture_.host_ops[op.host_op].name]);
      if (host.find("backward") != std::string::npos || name.find("bwd") != std::string::npos) {
        shape_.has_backward = true;
      }
      if (op.op_class == OpClass::norm) {
        shape_.has_rms_norm = name.find("rms") != std::string::npos || host.find("rms") != std::string::npos;
      }
      if (work_kind(op) == WorkKind::communication) {
        if (const auto call = captured_call(capture_, op)) ++communications_[call->kind];
      }
      if (op.op_class != OpClass::gemm && op.op_class != OpClass::attention) continue;
      if (const auto kernel = kernels_.of(i); kernel && is_forward(op)) add(*kernel);
    }
  }

  void add(const Kernel& kernel) {
    if (kernel.family == "attention") {
      const AttentionShape shape = attention_shape(kernel);
      if (shape.backward) {
        shape_.has_backward = true;
        return;
      }
      segments_.push_back(
          {shape.query_heads * shape.head_dim, shape.head_dim, shape.query_length, shape.kv_heads, true, {}});
      return;
    }
    if (kernel.family != "gemm") return;
    const GemmShape shape = gemm_shape(kernel);
    ++types_[shape.input];
    if (shape.batch > 1) {
      // Scores [s, s] of heads one by one; the product with the values is the next and says nothing more.
      if (shape.m == shape.n && shape.k != shape.m) {
        segments_.push_back({shape.batch * shape.k, shape.k, shape.m, 0, false, {}});
      }
      return;
    }
    ++tokens_[shape.m];
    if (!segments_.empty()) segments_.back().products.push_back({shape.m, shape.n, shape.k});
  }

  void read_layers() {
    if (const auto type = most_frequent(types_)) shape_.compute = training_type(*type);
    shape_.tokens = most_frequent(tokens_);
    if (segments_.empty() || !shape_.tokens) return;
    const std::int64_t tokens = *shape_.tokens;
    const Segment& first = segments_.front();
    shape_.attentions = static_cast<std::int64_t>(segments_.size());
    shape_.has_flash_attention = first.is_flash;
    shape_.head_dim = first.head_dim;
    shape_.sequence_length = first.length;
    if (tokens % first.length == 0) shape_.micro_batch = tokens / first.length;
    std::map<LayerWidths, std::int64_t> layers;
    for (auto& segment : segments_) {
      std::erase_if(segment.products, [&](const Product& product) { return product.m != tokens; });
      // Unfused: products were counted over all sequences of the batch.
      if (!segment.is_flash && shape_.micro_batch) segment.width /= *shape_.micro_batch;
      if (const auto layer = layer_of(segment)) ++layers[*layer];
    }
    const auto usual = most_frequent(layers);
    if (!usual) return;
    shape_.hidden = usual->hidden;
    shape_.slice_of_ffn = usual->ffn;
    shape_.is_gated = usual->is_gated;
    shape_.slice_of_heads = segments_.front().width / segments_.front().head_dim;
    // One layer alone: what follows it is the head.
    if (segments_.size() > 1) {
      std::int64_t qkv = 0;
      for (const auto width : usual->after) qkv += width;
      if (qkv > 0) shape_.slice_of_qkv = qkv;
    }
    count_heads(*usual);
  }

  // Segments that have one product more behind the MLP than the usual ones.
  void count_heads(const LayerWidths& usual) {
    std::int64_t heads = 0;
    for (const auto& segment : segments_) {
      const auto layer = layer_of(segment);
      if (!layer || layer->after.empty() || layer->after == usual.after) continue;
      shape_.slice_of_vocabulary = *std::max_element(layer->after.begin(), layer->after.end());
      ++heads;
    }
    const auto all = static_cast<std::int64_t>(segments_.size());
    if (heads > 0 && all % heads == 0) {
      shape_.micro_batches = heads;
      shape_.stage_layers = all / heads;
    }
  }

  void read_groups() {
    for (const auto& capture : run_.captures) {
      const std::int64_t least = std::max(capture.world_size.value_or(0), known_rank(capture).value_or(-1) + 1);
      if (least > 0) shape_.world = std::max(shape_.world.value_or(1), least);
    }
    for (const auto& group : capture_.groups) {
      const std::string name = to_lower(group.description);
      const auto has = [&](std::string_view word) { return name.find(word) != std::string::npos; };
      const std::int64_t size = group.size > 0 ? group.size : static_cast<std::int64_t>(group.ranks.size());
      // Groups of two dimensions, and of ends of the pipeline, say nothing by themselves.
      if (size < 1 || has("_and_") || has("embedding") || has("expert") || name == "model_parallel_group") continue;
      switch (communication_cause(group.description)) {
        case Cause::exposed_tp:
          shape_.tensor = size;
          break;
        case Cause::exposed_pp:
          shape_.pipeline = size;
          break;
        case Cause::exposed_cp:
          if (!has("data") && !has("dp")) shape_.context = size;
          break;
        case Cause::exposed_dp:
          if (!has("cp")) shape_.data = size;
          break;
        default:
          break;
      }
    }
  }

  void guess_tensor() {
    const auto attentions = static_cast<std::int64_t>(segments_.size());
    const std::int64_t reduces = communications_[CollectiveKind::all_reduce];
    const std::int64_t scatters = communications_[CollectiveKind::reduce_scatter];
    if (attentions == 0) return;
    if (!shape_.tensor && shape_.hidden && shape_.slice_of_heads && shape_.world) {
      const std::int64_t width = *shape_.slice_of_heads * *shape_.head_dim;
      const std::int64_t ranks = width > 0 && *shape_.hidden % width == 0 ? *shape_.hidden / width : 1;
      const bool communicates = reduces >= attentions || scatters >= attentions;
      if (ranks == 1 || (communicates && *shape_.world % ranks == 0)) {
        shape_.tensor = ranks;
        shape_.tensor_is_guessed = true;
      }
    }
    if (shape_.tensor.value_or(1) > 1) shape_.sequence_parallel = reduces < attentions && scatters >= attentions;
  }

  const CapturedRun& run_;
  const Capture& capture_;
  CapturedKernels kernels_;
  CapturedShape shape_;
  std::optional<Interval> step_;
  std::optional<std::uint32_t> forward_thread_;
  std::vector<Segment> segments_;
  std::map<DataType, std::int64_t> types_;
  std::map<std::int64_t, std::int64_t> tokens_;
  std::map<CollectiveKind, std::int64_t> communications_;
};

}  // namespace

CapturedShape captured_shape(const CapturedRun& run) {
  for (const auto& capture : run.captures) {
    if (std::any_of(capture.device_ops.begin(), capture.device_ops.end(), is_work)) {
      return Observer(run, capture).observe();
    }
  }
  return {};
}

}  // namespace warploom
