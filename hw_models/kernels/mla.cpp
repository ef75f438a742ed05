// SPDX-License-Identifier: Apache-2.0
// What latent attention costs: attention over the latent, or over keys and values made of it.
//
// Few queries against a cache (`absorbed`): a head's key projection is applied to its query instead, all heads attend
// to the latent itself (one key of latent + rope elements, whose first `latent` are the value), and its value
// projection is applied to the result. Else keys and values of all heads are made (one product), each key joined with
// the shared rotated part (a copy), converted where the cache has 8 bits, and attended to as usual. t = sum of these
// kernels with their launch gaps; the products only with `projections`. The parts are those of the families gemm and
// attention. Kernels for the latent differ (`latent` of attention_constants.hpp): the bandwidth that they reach, the
// conversion of 8 bits, tiles of few heads of which each but the first finds the latents in the L2, copies of queries.
// Attention is causal. Between kernels the device idles; what is planned before counts as idle, too.
// Source: arXiv:2405.04434, vLLM's MLACommonImpl; the constants of `latent` are fitted.
#include "hw_models/kernels/mla.hpp"

#include <algorithm>
#include <vector>

#include "hw_models/kernels.hpp"
#include "hw_models/kernels/attention.hpp"
#include "hw_models/kernels/gemm.hpp"
#include "hw_models/kernels/tensor_bytes.hpp"
#include "hw_models/streaming.hpp"

namespace warploom {

namespace {

// Of keys, values and latents.
DataType stored_type(const MlaShape& shape) { return shape.kv_type.value_or(shape.type); }

constexpr std::uint32_t serving_flag = 1;
constexpr std::uint32_t warm_flag = 2;
constexpr std::uint32_t projections_flag = 4;

}  // namespace

MlaShape mla_shape(const Kernel& kernel) {
  const auto& size = kernel.size;
  return {size[0],
          size[1],
          size[2],
          size[3],
          size[4],
          size[5],
          size[6],
          size[7],
          (kernel.flags & serving_flag) != 0,
          (kernel.flags & warm_flag) != 0,
          (kernel.flags & projections_flag) != 0,
          kernel.input,
          kernel.weight};
}

bool is_absorbed(const MlaShape& shape) {
  constexpr std::int64_t longest_draft = 16;
  return shape.query_length <= longest_draft && shape.kv_length >= 2 * shape.query_length;
}

AttentionShape mla_core(const MlaShape& shape) {
  AttentionShape core;
  core.batch = shape.batch;
  core.query_heads = shape.heads;
  core.query_length = shape.query_length;
  core.kv_length = shape.kv_length;
  core.type = shape.type;
  core.kv_type = shape.kv_type;
  core.warm = shape.warm;
  if (is_absorbed(shape)) {
    core.kv_heads = 1;
    core.head_dim = shape.latent + shape.rope;
    core.value_dim = shape.latent;
    core.values_in_keys = true;
  } else {
    core.kv_heads = shape.heads;
    core.head_dim = shape.nope + shape.rope;
    core.value_dim = shape.value;
  }
  return core;
}

namespace {

// The products and the attention that it consists of, in order.
std::vector<Kernel> parts_of(const MlaShape& shape) {
  const std::int64_t tokens = shape.batch * shape.query_length;
  const Kernel core = attention(mla_core(shape));
  if (!shape.projections) return {core};
  GemmShape first{.m = tokens, .n = shape.latent, .k = shape.nope, .batch = shape.heads, .is_warm = shape.warm};
  first.input = first.output = shape.type;
  if (is_absorbed(shape)) {
    GemmShape last = first;
    last.n = shape.value;
    last.k = shape.latent;
    return {gemm(first), core, gemm(last)};
  }
  first.m = shape.batch * shape.kv_length;
  first.n = shape.heads * (shape.nope + shape.value);
  first.k = shape.latent;
  first.batch = 1;
  return {gemm(first), core};
}

class Mla final : public KernelFamily {
 public:
  std::string_view name() const override { return "mla"; }
  std::string_view meaning() const override {
    return "multi-head latent attention, causal, its projections left out or in";
  }

  std::span<const KernelParameter> parameters() const override {
    static constexpr KernelParameter list[] = {
        {"batch", "sequences", 1},
        {"heads", "heads of the queries"},
        {"query_length", "queries a sequence; 1: decoding"},
        {"kv_length", "tokens a sequence in the cache"},
        {"latent", "elements that keys and values are projected from", 512},
        {"rope", "rotated elements of a key, shared by the heads", 64},
        {"nope", "other elements of a head's key", 128},
        {"value", "elements of a head's value", 128},
    };
    return list;
  }
  std::span<const KernelFlag> flags() const override {
    static constexpr KernelFlag list[] = {
        {"serving", serving_flag, "as a serving engine's operation: the write to the cache included"},
        {"warm", warm_flag, "operands may still be in the L2"},
        {"projections", projections_flag, "the products to and from the latent space, too"},
    };
    return list;
  }

  void check_together(const Kernel& kernel) const override {
    for (const Kernel& part : parts_of(mla_shape(kernel))) kernel_family(part.family).check(part);
  }

  Flops flops(const Kernel& kernel) const override {
    Flops sum{0};
    for (const Kernel& part : parts_of(mla_shape(kernel))) sum += kernel_family(part.family).flops(part);
    return sum;
  }
  Bytes bytes(const Kernel& kernel) const override {
    Bytes sum{0};
    for (const Kernel& part : parts_of(mla_shape(kernel))) sum += kernel_family(part.family).bytes(part);
    return sum;
  }

  KernelCost cost(const Kernel& kernel, const DeviceSpec& device) const override {
    const MlaShape shape = mla_shape(kernel);
    Sum sum(device);
    std::optional<DeviceSpec> special;
    if (is_absorbed(shape)) special = for_latents(shape, device);
    const DeviceSpec& used = special ? *special : device;
    for (const Kernel& part : parts_of(shape)) sum.add(kernel_family(part.family).cost(part, used));
    for (const StreamingWork& copy : copies_of(shape, device)) sum.add(streaming_cost(copy, device));
    if (is_absorbed(shape)) add_around_latents(shape, device, sum);
    if (shape.serving) {
      sum.add_idle(is_absorbed(shape) ? device.architecture.attention.latent.scheduling
                                      : device.architecture.attention.scheduling);
    }
    return sum.cost();
  }

 private:
  // Of kernels one after the other.
  class Sum {
   public:
    explicit Sum(const DeviceSpec& device) : device_(device) { total_.sm_share = 0; }

    void add(const KernelCost& cost) {
      if (total_.duration > Time::zero()) add_idle(device_.launch.graph);
      if (cost.duration > longest_) {
        longest_ = cost.duration;
        total_.bound_by = cost.bound_by;
      }
      total_.duration += cost.duration;
      total_.sm_share = std::max(total_.sm_share, cost.sm_share);
      total_.hbm_bytes += cost.hbm_bytes;
      total_.l2_bytes += cost.l2_bytes;
      total_.flops += cost.flops;
      energy_ += cost.power * cost.duration;
    }
    void add_idle(Time time) {
      total_.duration += time;
      energy_ += device_.power.idle * time;
    }
    // Bytes that are moved in this time beside a kernel's.
    void add_traffic(Bytes bytes, bool from_memory, Time time) {
      const EnergyConstants& energy = device_.architecture.energy;
      const auto count = static_cast<double>(bytes.count());
      add_idle(time);
      total_.l2_bytes += bytes;
      if (from_memory) total_.hbm_bytes += bytes;
      energy_ += energy.l2_byte * count + (from_memory ? energy.memory_byte * count : Energy{0});
    }
    KernelCost cost() const {
      KernelCost cost = total_;
      cost.power = energy_ / cost.duration;
      return cost;
    }

   private:
    const DeviceSpec& device_;
    KernelCost total_;
    Time longest_ = Time::zero();
    Energy energy_{0};
  };

  static bool is_narrow(const MlaShape& shape) { return bits(stored_type(shape)) < bits(shape.type); }

  // The device with what kernels for latents reach of it.
  static DeviceSpec for_latents(const MlaShape& shape, const DeviceSpec& device) {
    DeviceSpec special = device;
    AttentionConstants& attention = special.architecture.attention;
    const LatentConstants& latent = device.architecture.attention.latent;
    special.memory.reached *= is_narrow(shape) ? latent.stream_8bit : latent.stream;
    if (latent.converted_per_cycle > 0) attention.converted_per_cycle = latent.converted_per_cycle;
    if (shape.heads <= latent.few_heads) attention.decode.tile_queries = latent.few_heads_tile;
    return special;
  }

  // Latents again for the second and later tiles of few heads; queries copied to join their parts.
  static void add_around_latents(const MlaShape& shape, const DeviceSpec& device, Sum& sum) {
    const LatentConstants& latent = device.architecture.attention.latent;
    const DataType stored = stored_type(shape);
    if (shape.heads <= latent.few_heads) {
      const std::int64_t again = (shape.heads + latent.few_heads_tile - 1) / latent.few_heads_tile - 1;
      const Bytes read = bytes_of({shape.batch, shape.kv_length, shape.latent + shape.rope}, stored) * again;
      sum.add_traffic(read, false, read / device.l2_bandwidth_at(device.clock.highest()));
    }
    if (shape.serving) {
      const Bytes queries =
          bytes_of({shape.batch, shape.query_length, shape.heads, shape.latent + shape.rope}, shape.type) * 2;
      const Bytes copied = queries * latent.query_copies;
      sum.add_traffic(copied, true, copied / device.reached_bandwidth());
    }
  }

  // The write to the cache; in prefill the joining of each head's key with the shared rotated part, too.
  static std::vector<StreamingWork> copies_of(const MlaShape& shape, const DeviceSpec& device) {
    const StreamingConstants& constants = device.architecture.streaming;
    std::vector<StreamingWork> copies;
    if (shape.serving) {
      StreamingWork write;
      write.read = bytes_of({shape.batch, shape.query_length, shape.latent + shape.rope}, shape.type);
      write.written = bytes_of({shape.batch, shape.query_length, shape.latent + shape.rope}, stored_type(shape));
      write.bytes_per_cycle_per_sm = constants.cache_write;
      write.blocks = shape.batch * shape.query_length;
      copies.push_back(write);
    }
    if (!is_absorbed(shape)) {
      StreamingWork join;
      join.read = bytes_of({shape.batch, shape.kv_length, shape.heads, shape.nope}, shape.type);
      join.written = bytes_of({shape.batch, shape.kv_length, shape.heads, shape.nope + shape.rope}, shape.type);
      join.bytes_per_cycle_per_sm = constants.element_wise;
      copies.push_back(join);
      if (is_narrow(shape)) copies.push_back(narrowing(shape, constants));
    }
    return copies;
  }

  // With a cache of 8 bits, prefill attends in 8 bits: keys and values made of the latent are converted, too (the
  // queries' conversion is the attention's).
  static StreamingWork narrowing(const MlaShape& shape, const StreamingConstants& constants) {
    const std::int64_t width = shape.nope + shape.rope + shape.value;
    StreamingWork work;
    work.read = bytes_of({shape.batch, shape.kv_length, shape.heads, width}, shape.type);
    work.written = bytes_of({shape.batch, shape.kv_length, shape.heads, width}, stored_type(shape));
    work.bytes_per_cycle_per_sm = constants.element_wise;
    return work;
  }
};

}  // namespace

Kernel mla(const MlaShape& shape) {
  Kernel kernel;
  kernel.family = "mla";
  kernel.size = {shape.batch,  shape.heads, shape.query_length, shape.kv_length,
                 shape.latent, shape.rope,  shape.nope,         shape.value};
  kernel.input = shape.type;
  kernel.weight = stored_type(shape);
  kernel.output = shape.type;
  kernel.flags =
      (shape.serving ? serving_flag : 0) | (shape.warm ? warm_flag : 0) | (shape.projections ? projections_flag : 0);
  return kernel;
}

const KernelFamily& mla_family() {
  static const Mla family;
  return family;
}

}  // namespace warploom
