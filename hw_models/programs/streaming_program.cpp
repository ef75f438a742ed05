// SPDX-License-Identifier: Apache-2.0
// Passes as instructions of warps.
#include "hw_models/programs/streaming_program.hpp"

#include <algorithm>
#include <cmath>

#include "hw_models/programs/tile_parts.hpp"

namespace warploom {

namespace {

constexpr double lanes = 32;
constexpr double widest = 16;               // bytes of a lane's load
constexpr std::int64_t setup = 12;          // instructions: block and thread indices, sizes, first addresses
constexpr double loop_instructions = 2;     // of a turn: counter and branch
constexpr double address_instructions = 1;  // of an access

class Streaming {
 public:
  explicit Streaming(const StreamingShape& shape) : shape_(shape), warps_(std::max(1, (shape.threads + 31) / 32)) {}

  KernelProgram program() {
    KernelProgram program;
    program.name = shape_.name;
    program.rings = {{"block", warps_, 0, 0, 0}};
    const Code first = code(true);
    const bool has_sums =
        std::ranges::any_of(shape_.passes, [](const StreamingPass& pass) { return pass.sum_over == SumOver::block; });
    if (has_sums && warps_ > 1) {
      program.roles = {{"first warp", 1, shape_.registers, first.list()},
                       {"warps", warps_ - 1, shape_.registers, code(false).list()}};
    } else {
      program.roles = {{"warps", warps_, shape_.registers, first.list()}};
    }
    program.streams = streams_;
    program.blocks = {{shape_.blocks, 1}};
    double read = 0;
    for (const StreamingPass& pass : shape_.passes) {
      double bytes = 0;
      for (const StreamedTensor& tensor : pass.reads) bytes += tensor.in_l1 ? 0 : tensor.bytes;
      read = std::max(read, bytes * elements_of(pass));
    }
    program.footprint = Bytes(std::llround(read * static_cast<double>(shape_.blocks)));
    return program;
  }

 private:
  double elements_of(const StreamingPass& pass) const { return pass.elements > 0 ? pass.elements : shape_.elements; }

  int stream_of(const StreamedTensor& tensor) {
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      if (streams_[i].name == tensor.name && streams_[i].from_memory == tensor.from_memory) return static_cast<int>(i);
    }
    streams_.push_back({tensor.name, tensor.from_memory, 1});
    streams_.back().has_parts_of_sectors = tensor.one_by_one;
    return static_cast<int>(streams_.size()) - 1;
  }

  Code code(bool is_first) {
    Code code;
    code.alu(setup);
    for (int i = 0; i < shape_.lookups; ++i) {
      const int stream = stream_of({"indices", 8, 0});
      code.add({.op = Op::load, .bytes = 32, .stream = stream, .waits = true});
    }
    for (const StreamingPass& pass : shape_.passes) {
      add_loop(code, pass);
      if (pass.sum_over != SumOver::nothing) add_sum(code, pass, is_first);
    }
    return code;
  }

  void add_loop(Code& code, const StreamingPass& pass) {
    constexpr std::int64_t many = 32;  // turns that steady state may stand for
    const double a_vector = warps_ * lanes * pass.vector;
    const double a_turn = a_vector * pass.in_flight;
    const double elements = elements_of(pass);
    const auto turns = static_cast<std::int64_t>(elements / a_turn + 1e-9);
    const double rest = elements - static_cast<double>(turns) * a_turn;
    if (turns > many) {
      code.main_loop(turns, 1);
    } else if (turns > 1) {
      code.loop(turns);
    }
    if (turns > 0) add_turn(code, pass, pass.in_flight, 1, 1);
    if (turns > 1) code.end();
    if (rest < 1) return;
    const double vectors = std::ceil(rest / a_vector);
    const double filled = rest / (vectors * a_vector);
    const double busy = std::ceil(rest / (lanes * pass.vector)) / (vectors * warps_);  // warps that have any
    add_turn(code, pass, static_cast<std::int64_t>(vectors), filled, busy);
  }

  // `count` vectors of each thread; `filled` of the lanes are at work, `busy` of the warps.
  void add_turn(Code& code, const StreamingPass& pass, std::int64_t count, double filled, double busy) {
    const double vectors = static_cast<double>(count) * busy;
    if (pass.divisions > 0) add_divisions(code, pass.divisions * count);
    double accesses = 0;
    bool has_loads = false;
    for (const StreamedTensor& tensor : pass.reads) {
      accesses += add_access(code, tensor, tensor.in_l1 ? Op::shared_load : Op::load, pass.vector, count, filled);
      has_loads = has_loads || !tensor.in_l1;
      if (tensor.is_address) code.use(0);
    }
    if (has_loads) code.use(0);
    for (const StreamedTensor& tensor : pass.writes) accesses += accesses_of(tensor, pass.vector) * vectors;
    const double elements = vectors * pass.vector;
    const auto rounded = [](double instructions) { return std::llround(std::ceil(instructions - 1e-9)); };
    code.mixed(rounded(pass.work.sfu * elements), rounded(pass.work.fma * elements),
               rounded(pass.work.alu * elements + accesses * address_instructions + loop_instructions));
    for (const StreamedTensor& tensor : pass.writes) add_access(code, tensor, Op::store, pass.vector, count, filled);
  }

  // By a number that is not known when compiled: to FP32, its reciprocal, back, and corrections.
  static void add_divisions(Code& code, std::int64_t count) {
    constexpr std::int64_t conversions = 3;
    constexpr std::int64_t corrections = 14;
    code.add({.op = Op::sfu, .count = conversions * count, .waits = true});
    code.add({.op = Op::alu, .count = corrections * count, .waits = true});
  }

  static double accesses_of(const StreamedTensor& tensor, int vector) {
    return tensor.one_by_one ? vector : std::ceil(tensor.bytes * vector / widest);
  }

  double add_access(Code& code, const StreamedTensor& tensor, Op op, int vector, std::int64_t count, double filled) {
    const double each = accesses_of(tensor, vector);
    const auto bytes = std::max<std::int64_t>(std::llround(tensor.bytes * vector / each * lanes * filled), 1);
    const auto instructions = count * static_cast<std::int64_t>(each);
    if (op == Op::shared_load) {
      code.add({.op = op, .count = instructions, .bytes = std::max(bytes, wavefront), .waits = true});
    } else {
      code.add({.op = op, .count = instructions, .bytes = bytes, .stream = stream_of(tensor)});
    }
    return static_cast<double>(instructions);
  }

  void add_shuffles(Code& code, const StreamingPass& pass, int steps) {
    for (int i = 0; i < steps; ++i) {
      code.add({.op = Op::shared_load, .count = pass.sums, .bytes = wavefront, .waits = true});
      add_sum_work(code, pass);
    }
  }

  static void add_sum_work(Code& code, const StreamingPass& pass) {
    const auto each = [&](double one) { return std::llround(std::ceil(one * pass.sums)); };
    code.fma(each(pass.sum_work.fma)).alu(each(pass.sum_work.alu)).sfu(each(pass.sum_work.sfu));
  }

  void add_sum(Code& code, const StreamingPass& pass, bool is_first) {
    constexpr int block = 0;
    constexpr int warp_steps = 5;
    add_shuffles(code, pass, warp_steps);
    if (pass.sum_over == SumOver::warp || warps_ == 1) return;
    const std::int64_t bytes = wavefront * pass.sums;
    code.shared_store(bytes).sync(block);
    if (is_first) {
      code.shared_load(bytes, true);
      add_shuffles(code, pass, static_cast<int>(std::ceil(std::log2(warps_))));
      code.shared_store(bytes);
    }
    code.sync(block).shared_load(bytes, true);
  }

  const StreamingShape& shape_;
  int warps_;
  std::vector<TileStream> streams_;
};

}  // namespace

KernelProgram streaming_program(const StreamingShape& shape) { return Streaming(shape).program(); }

StreamingShape flat_kernel(std::string name, std::int64_t elements, int threads, StreamingPass pass,
                           std::int64_t most_blocks) {
  const std::int64_t a_block = static_cast<std::int64_t>(threads) * pass.vector * pass.in_flight;
  StreamingShape shape;
  shape.name = std::move(name);
  shape.threads = threads;
  shape.blocks = std::max<std::int64_t>((elements + a_block - 1) / a_block, 1);
  if (most_blocks > 0) shape.blocks = std::min(shape.blocks, most_blocks);
  // Whole turns, but for a tensor smaller than one.
  shape.elements = static_cast<double>(a_block);
  const double each = static_cast<double>(elements) / static_cast<double>(shape.blocks);
  if (shape.blocks == 1 || each > static_cast<double>(a_block)) shape.elements = each;
  shape.passes = {std::move(pass)};
  return shape;
}

}  // namespace warploom
