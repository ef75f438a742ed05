// SPDX-License-Identifier: Apache-2.0
// Writes a role's instructions: `Code().loop(steps).wait(full).wgmma(...).arrive(empty).end().list()`.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "hw_models/programs/instruction.hpp"

namespace warploom {

constexpr std::int64_t ceil_div(std::int64_t value, std::int64_t by) { return (value + by - 1) / by; }

class Code {
 public:
  // `count` 0: the turns of the block's group; below: its other counts.
  Code& loop(std::int64_t count) { return add({.op = Op::loop, .count = count}); }
  // Turns that are alike: steady state may stand for most of them.
  Code& main_loop(std::int64_t count, int stages) { return add({.op = Op::loop, .count = count, .stages = stages}); }
  Code& end() { return add({.op = Op::end_loop}); }

  Code& wait(int ring) { return add({.op = Op::wait, .ring = ring}); }
  Code& arrive(int ring) { return add({.op = Op::arrive, .ring = ring}); }
  Code& sync(int ring) { return add({.op = Op::sync, .ring = ring}); }
  Code& drain(std::int64_t left = 0) { return add({.op = Op::drain, .count = left}); }
  Code& use(std::int64_t left = 0) { return add({.op = Op::use, .count = left}); }

  // Warp instructions; none where `count` is 0.
  Code& math(Op op, std::int64_t count) { return count > 0 ? add({.op = op, .count = count}) : *this; }
  Code& fma(std::int64_t count) { return math(Op::fma, count); }
  Code& alu(std::int64_t count) { return math(Op::alu, count); }
  Code& sfu(std::int64_t count) { return math(Op::sfu, count); }
  // Interleaved, so that the busiest pipe decides.
  Code& mixed(std::int64_t sfu, std::int64_t fma, std::int64_t alu) {
    return add({.op = Op::sfu, .count = sfu, .fma = fma, .alu = alu});
  }

  // The tile of `bytes`, into shared memory; arrives at `ring`.
  Code& copy(int stream, std::int64_t bytes, int ring) {
    return add({.op = Op::copy_tile, .bytes = bytes, .ring = ring, .stream = stream});
  }
  Code& store_tile(int stream, std::int64_t bytes) {
    return add({.op = Op::store_tile, .bytes = bytes, .stream = stream});
  }
  Code& load(int stream, std::int64_t bytes, std::int64_t count = 1) {
    return add({.op = Op::load, .count = count, .bytes = bytes, .stream = stream});
  }
  Code& store(int stream, std::int64_t bytes, std::int64_t count = 1) {
    return add({.op = Op::store, .count = count, .bytes = bytes, .stream = stream});
  }
  // `bytes` in all, 512 a warp instruction: 16 a lane.
  Code& shared_load(std::int64_t bytes, bool waits = false) { return shared(Op::shared_load, bytes, waits); }
  Code& shared_store(std::int64_t bytes) { return shared(Op::shared_store, bytes, false); }
  Code& tensor_load(std::int64_t bytes) { return shared(Op::tensor_load, bytes, true); }

  Code& add(const Instruction& instruction) {
    list_.push_back(instruction);
    return *this;
  }
  Code& add(const Code& other) {
    list_.insert(list_.end(), other.list_.begin(), other.list_.end());
    return *this;
  }

  std::vector<Instruction> list() const { return list_; }

 private:
  Code& shared(Op op, std::int64_t bytes, bool waits) {
    if (bytes <= 0) return *this;
    constexpr std::int64_t widest = 512;
    const std::int64_t count = ceil_div(bytes, widest);
    return add({.op = op, .count = count, .bytes = ceil_div(bytes, count), .waits = waits});
  }

  std::vector<Instruction> list_;
};

}  // namespace warploom
