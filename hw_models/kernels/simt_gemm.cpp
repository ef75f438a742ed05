// SPDX-License-Identifier: Apache-2.0
// What an FP32 product on the vector lanes costs, with the kernel's tile known or chosen by rule.
//
// Equations, for blocks of tm x tn results and `threads` threads, r x c results a thread (as square as powers of two
// allow):
//   FMA        = max(1 / lanes, (1 + other_instructions (r + c) / (r c)) / 128 issue slots)   cycles of an SM
//   shared     = 4 B (operand_loads (r + c) / (r c) + staging (1 / tm + 1 / tn)) / shared-memory bytes a clock
//   L2         = 4 B (1 / tm + 1 / tn) / (bytes a clock and SM x l2_reached)
//   rate       = (FMA^p + shared^p + L2^p)^(1/p), p = sharpness
//              x pace, where the library's kernel is known (layout, order of instructions, bank conflicts)
//   residents  = what registers (r c + `registers` a thread), shared memory and threads allow
//   time of j residents = j tm tn (k rate (1 + idle_warps / (j warps)) + 4 B / stored bytes a clock) + wave / j
//   core       = full waves of residents, then the rest
//   t          = fixed + max(core / f, traffic / HBM) + (1 - memory_overlap) min(...)
// Assumes three stages of 8 values of k in shared memory; blocks of a wave end together. Source: waves x (a + b k) fits
// 17,000 cuBLAS kernels whose grid is known to 2 to 4% (NeuSight, github.com/sitar-lab/NeuSight commit 6945927); here
// a and b follow from the SM instead of from a fit per kernel.
#include "hw_models/kernels/simt_gemm.hpp"

#include <algorithm>
#include <cmath>

#include "hw_models/kernels/gemm_blocking.hpp"
#include "hw_models/kernels/simt_blocking.hpp"
#include "hw_models/kernels/tensor_bytes.hpp"
#include "hw_models/operating_point.hpp"

namespace warploom {

namespace {

constexpr double register_file = 65536;
constexpr double most_registers = 255;  // a thread
constexpr double stage_depth = 8;       // values of k
constexpr double stages = 3;

double residents_of(const SimtBlock& block, const DeviceSpec& device) {
  const double wanted = block.thread_results() + device.architecture.simt_gemm.registers;
  const double registers = std::min(most_registers, 8 * std::ceil(wanted / 8));
  const double shared = stages * stage_depth * 4 * (block.tile.m + block.tile.n);
  const double least =
      std::min({std::floor(register_file / (registers * block.threads)), std::floor(device.sm.threads / block.threads),
                std::floor(static_cast<double>(device.sm.shared_memory.count()) / shared)});
  return std::max(1.0, least);
}

// What the kernel that the library has for this block needs of that.
double pace_of(const SimtBlock& block, bool transposed, const SimtGemmConstants& constants) {
  for (const SimtKernel& kernel : constants.kernels) {
    if (kernel.m == block.tile.m && kernel.n == block.tile.n && kernel.threads == block.threads &&
        kernel.transposed == transposed && kernel.sliced == block.sliced) {
      return kernel.pace;
    }
  }
  return 1;
}

struct Terms {
  double core = 0;  // seconds
  double memory = 0;
  double total(double overlap) const { return std::max(core, memory) + (1 - overlap) * std::min(core, memory); }
};

class SimtGemmModel {
 public:
  SimtGemmModel(const GemmShape& shape, const DeviceSpec& device)
      : shape_(shape),
        device_(device),
        constants_(device.architecture.simt_gemm),
        block_(choose_simt_block(shape, device)),
        blocks_(simt_blocks(block_, shape)),
        residents_(residents_of(block_, device)),
        active_(std::min<double>(device.sm.count, blocks_)),
        pace_(pace_of(block_, shape.is_transposed, constants_)) {
    const GemmBlocking blocking = gemm_blocking(block_.tile, block_.parts, shape);
    const double results = as_double(shape.batch) * as_double(shape.m) * as_double(shape.n);
    // Parts are added where they lie: read and written once more each.
    const double written = results * 4 * (shape.accumulate ? 2 : 1) * (block_.parts > 1 ? 2 : 1);
    memory_bytes_ = gemm_operand_traffic(blocking, shape, device).both() + written;
    operand_bytes_ = blocks_ * as_double(shape.k) / block_.parts * 4 * (block_.tile.m + block_.tile.n);
  }

  KernelCost cost() const {
    const auto seconds_at = [&](Frequency clock) {
      return constants_.fixed.seconds() + terms_at(clock).total(constants_.memory_overlap);
    };
    const OperatingPoint point = operating_point_of(device_, shape_.is_warm, activity(), seconds_at);
    const Terms terms = terms_at(point.clock);
    KernelCost cost = cost_at(point, Flops(gemm_flops(shape_)), Bytes(std::llround(memory_bytes_)),
                              Bytes(std::llround(operand_bytes_)));
    cost.sm_share = active_ / device_.sm.count;
    cost.bound_by = constants_.fixed.seconds() > std::max(terms.core, terms.memory) ? Bound::latency
                    : terms.memory >= terms.core                                    ? Bound::hbm
                    : point.is_power_limited                                        ? Bound::power
                                                                                    : Bound::vector;
    return cost;
  }

 private:
  // Cycles until `count` resident blocks of an SM are done.
  double cycles_of_residents(double count) const {
    if (count <= 0) return 0;
    const double depth = std::ceil(as_double(shape_.k) / block_.parts / stage_depth) * stage_depth;
    const SimtRates rates{device_.sm.vector_lanes, device_.sm.shared_memory_bytes_per_cycle,
                          device_.l2.bytes_per_cycle_per_sm * device_.architecture.gemm.l2_reached};
    const double product = simt_cycles_of_product(block_, rates, constants_) * pace_;
    const double idle = constants_.idle_warps / (count * block_.warps());
    const double stores = 4 / constants_.stored_bytes_per_cycle;
    return count * block_.results() * (depth * product * (1 + idle) + stores) + constants_.wave.value() / count;
  }

  Terms terms_at(Frequency clock) const {
    const double slots = device_.sm.count * residents_;
    const double waves = std::floor(blocks_ / slots);
    const double rest = std::ceil((blocks_ - waves * slots) / device_.sm.count);
    Terms terms;
    terms.core = (waves * cycles_of_residents(residents_) + cycles_of_residents(rest)) / clock.value();
    terms.memory = memory_bytes_ / device_.reached_bandwidth().value();
    return terms;
  }

  Activity activity() const {
    const auto& energy = device_.architecture.energy;
    return {energy.vector_flop * gemm_flops(shape_) + energy.l2_byte * operand_bytes_,
            energy.memory_byte * memory_bytes_};
  }

  GemmShape shape_;
  const DeviceSpec& device_;
  const SimtGemmConstants& constants_;
  SimtBlock block_;
  double blocks_ = 0;
  double residents_ = 1;
  double active_ = 0;
  double pace_ = 1;
  double memory_bytes_ = 0;
  double operand_bytes_ = 0;
};

}  // namespace

KernelCost simt_gemm_cost(const GemmShape& shape, const DeviceSpec& device) {
  return SimtGemmModel(shape, device).cost();
}

}  // namespace warploom
