// SPDX-License-Identifier: Apache-2.0
// What programs of memory-bound kernels are put together from: costs of usual operations, and shapes of usual kernels.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "hw_models/kernels/l2_residency.hpp"
#include "hw_models/kernels/tensor_bytes.hpp"
#include "hw_models/programs/kernel_programs.hpp"
#include "hw_models/programs/streaming_program.hpp"

namespace warploom {

constexpr ElementWork operator+(const ElementWork& a, const ElementWork& b) {
  return {a.fma + b.fma, a.alu + b.alu, a.sfu + b.sfu};
}

inline constexpr ElementWork division{8, 2,
                                      1};  // of FP32 values, correctly rounded: reciprocal and two steps of Newton
inline constexpr ElementWork exponential{6, 1, 1};  // expf: scaled to a power of two, in range
// x / (1 + exp(-x)) times the gate: two values converted on their way in, one on its way out.
inline constexpr ElementWork swiglu = ElementWork{3, 3, 0} + exponential + division;

inline double width(DataType type) { return bits(type) / 8.0; }

// What of a kernel's traffic the L2 does not have.
inline double cold_share(const Kernel& kernel, double bytes, const DeviceSpec& device) {
  if ((kernel.flags & warm_stream_flag) == 0) return 1;
  return 1 - share_found_in_l2(Bytes(std::llround(bytes)), device);
}

inline KernelPlan one(const StreamingShape& shape) { return {{streaming_program(shape)}, false}; }

// A block a row, a thread a value of it up to `most_threads`.
inline StreamingShape row_kernel(std::string name, std::int64_t rows, std::int64_t row, std::int64_t most_threads) {
  StreamingShape kernel{.name = std::move(name), .blocks = rows};
  kernel.threads = static_cast<int>(std::min(row, most_threads));
  kernel.elements = as_double(row);
  return kernel;
}

inline constexpr int unrolled = 4;  // by the compiler
// Blocks that an SM has at a time, by its threads.
inline double resident(const DeviceSpec& device, int threads, std::int64_t blocks) {
  const double room = std::max(1, device.sm.threads / threads);
  return std::min(room, std::ceil(as_double(blocks) / device.sm.count));
}

inline bool fits_l1(const DeviceSpec& device, int threads, std::int64_t blocks, double row) {
  return resident(device, threads, blocks) * row <= static_cast<double>(device.sm.shared_memory.count());
}

// What a block has read in a pass before: in the L1, or of the L2 what the rows in flight leave there.
inline StreamedTensor again(const StreamedTensor& tensor, const DeviceSpec& device, const StreamingShape& shape,
                            double held) {
  StreamedTensor next = tensor;
  next.name = tensor.name + " again";
  next.in_l1 = fits_l1(device, shape.threads, shape.blocks, shape.elements * tensor.bytes);
  next.from_memory =
      share_lost_between_passes(device.sm.count * resident(device, shape.threads, shape.blocks) * held, device);
  return next;
}

}  // namespace warploom
