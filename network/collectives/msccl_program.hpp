// SPDX-License-Identifier: Apache-2.0
// An MSCCL file as read: GPUs, threadblocks, steps, in one list; and what its steps wait for.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "network/collectives/choice.hpp"
#include "sim/core/errors.hpp"
#include "sim/work/call.hpp"

namespace warploom {

enum class MscclBuffer : std::uint8_t { input, output, scratch };
enum class MscclType : std::uint8_t {
  send,
  recv,
  recv_copy_send,
  recv_reduce,
  recv_reduce_send,
  recv_reduce_copy_send,
  copy,
  reduce,
  nop
};

constexpr bool receives(MscclType type) {
  return type != MscclType::send && type != MscclType::copy && type != MscclType::reduce && type != MscclType::nop;
}
constexpr bool sends(MscclType type) {
  return type == MscclType::send || type == MscclType::recv_copy_send || type == MscclType::recv_reduce_send ||
         type == MscclType::recv_reduce_copy_send;
}

struct MscclChunk {
  MscclBuffer buffer = MscclBuffer::input;
  std::int32_t offset = 0;
};

struct MscclStep {
  std::int32_t block = 0;  // of all threadblocks
  std::int32_t number = 0;
  MscclType type = MscclType::nop;
  MscclChunk source;
  MscclChunk target;
  std::int32_t count = 1;
  std::int32_t waits_for_block = -1;  // its id in the same GPU
  std::int32_t waits_for_step = -1;
  int line = 0;
};

struct MscclBlock {
  std::int32_t gpu = 0;
  std::int32_t id = 0;
  std::int32_t send_peer = -1;
  std::int32_t recv_peer = -1;
  std::int32_t channel = 0;
  std::int32_t first = 0;  // its steps in the list
  std::int32_t end = 0;
  int line = 0;
};

struct MscclGpu {
  std::array<std::int32_t, 3> chunks{};  // input, output, scratch
  std::int32_t first_block = 0;
  std::int32_t end_block = 0;
  int line = 0;
};

struct MscclProgram {
  std::string file;
  std::string name;
  CollectiveKind kind = CollectiveKind::all_reduce;
  Protocol protocol = Protocol::simple;
  bool in_place = false;
  std::int32_t chunks = 0;
  std::int32_t channels = 1;
  std::int64_t least_bytes = 0;  // of a call that it is for
  std::int64_t most_bytes = INT64_MAX;
  int line = 0;
  std::vector<MscclGpu> gpus;
  std::vector<MscclBlock> blocks;
  std::vector<MscclStep> steps;

  Origin at(int where) const { return {file, where, 0}; }
  std::string name_of(std::int32_t step) const;  // "gpu 0, tb 1, step 2"
};

// Reads; throws UserError for what does not stand in the format or its ranges.
MscclProgram read_msccl(const std::string& text, const std::string& file);

// The order in which the steps can run, and the level of each.
struct MscclOrder {
  std::vector<std::int32_t> steps;    // by number in the program
  std::vector<std::int32_t> level;    // of each step
  std::vector<std::int32_t> partner;  // of a receiving step: the step that sends to it
};
// Throws UserError for sends without receives and for cycles of waits.
MscclOrder order_msccl(const MscclProgram& program);

}  // namespace warploom
