// SPDX-License-Identifier: Apache-2.0
// Kernels that go over tensors: blocks of threads that load, compute and store element by element, in one or more
// passes, with sums over the block between them.
//
// A pass is a loop of a thread: `in_flight` loads of `vector` elements of each tensor, then the arithmetic of those
// elements, then their stores. What bounds it (bytes in flight over latency, issue slots, pipes, the memory, waves of
// blocks) follows from that. Sums over a warp are five shuffles; over a block a value a warp goes through shared
// memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hw_models/device.hpp"
#include "hw_models/programs/kernel_program.hpp"

namespace warploom {

// A tensor that a pass reads or writes.
struct StreamedTensor {
  std::string name;
  double bytes = 0;         // an element of the pass
  double from_memory = 1;   // share that the L2 does not have (or, written, that goes through it)
  bool in_l1 = false;       // what the block, or blocks before it on the SM, have just read
  bool is_address = false;  // what is read after it lies where it says
  bool one_by_one =
      false;  // a store an element, though a thread's lie next to each other: sectors are written in parts
};

// Warp instructions for 32 elements, beside loads and stores.
struct ElementWork {
  double fma = 0;
  double alu = 0;
  double sfu = 0;
};

enum class SumOver : std::uint8_t { nothing, warp, block };

struct StreamingPass {
  std::vector<StreamedTensor> reads{};
  std::vector<StreamedTensor> writes{};
  ElementWork work{};
  int divisions = 0;  // of integers, an access: each a chain of dependent instructions
  int vector = 1;     // elements that a thread moves at once
  int in_flight = 1;  // times that, before it uses the first
  SumOver sum_over = SumOver::nothing;
  int sums = 1;
  ElementWork sum_work{1, 0, 0};  // of adding two of them
  double elements = 0;            // of a block; 0: as the kernel says
};

struct StreamingShape {
  std::string name;
  std::int64_t blocks = 1;
  int threads = 256;  // of a block
  int registers = 32;
  double elements = 0;  // of a block
  int lookups = 0;      // loads before the first pass, each on the result of the one before
  std::vector<StreamingPass> passes{};
};

KernelProgram streaming_program(const StreamingShape& shape);

// A flat kernel over `elements`: as many blocks as it takes, each thread one turn of the pass. `most_blocks`: more
// elements are further turns of those.
StreamingShape flat_kernel(std::string name, std::int64_t elements, int threads, StreamingPass pass,
                           std::int64_t most_blocks = 0);

}  // namespace warploom
