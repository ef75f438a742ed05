// SPDX-License-Identifier: Apache-2.0
// How instructions use the units of an SM.
#include <algorithm>

#include "hw_models/systemc/sm.hpp"

namespace warploom::detailed {

namespace {

constexpr double lanes_a_warp = 32;
// Memory instructions of a sub-partition that wait for their pipe before a warp has to (Huerta et al., MICRO 2025).
constexpr double memory_queue = 5;
constexpr int full_rows = 128;  // of a tcgen05 product: fewer take as long

// Lanes' bytes lie eight apart: four of them in a sector.
double sectors_of_parts(const Instruction& what) {
  constexpr double lanes_a_sector = 4;
  return static_cast<double>(what.count) * lanes_a_warp / lanes_a_sector;
}

}  // namespace

void Sm::hold(Warp& warp, double until, Stall reason) {
  if (until <= warp.ready) return;
  count(reason, until - warp.ready);
  warp.ready = until;
}

void Sm::draw(int lane, std::string_view what, double start, double end) {
  constexpr std::size_t most = 50'000;
  if (picture_ == nullptr || end <= start || picture_->spans.size() >= most) return;
  picture_->spans.push_back({lane, std::string(what), start, end});
}

void Sm::draw_unit(const Warp& warp, Unit unit, std::string_view what, double start, double end) {
  if (warp.block->is_drawn) draw(program_.warps() + static_cast<int>(unit), what, start, end);
}

void Sm::run(Warp& warp, SubPartition& part, double now) {
  const Instruction& what = warp.role->code[warp.next++];
  const double slots = static_cast<double>(what.count + what.fma + what.alu) * what.paths;
  count(Stall::not_selected, now - warp.ready);
  count(Stall::selected, slots);
  counts_.issued += slots;
  part.port = now + slots;
  warp.ready = part.port;
  switch (what.op) {
    case Op::fma:
    case Op::alu:
    case Op::sfu:
      run_math(warp, part, what, now);
      break;
    case Op::mma:
    case Op::wgmma:
      run_product(warp, part, what, now);
      break;
    case Op::tcgen05:
      run_block_product(warp, what, now);
      break;
    case Op::shared_load:
    case Op::shared_store:
    case Op::tensor_load:
      run_shared(warp, what, now);
      break;
    default:
      run_memory(warp, what, now);
  }
  if (warp.block->is_drawn) draw(warp.lane, warploom::name(what.op), now, warp.ready);
}

void Sm::run_math(Warp& warp, SubPartition& part, const Instruction& what, double now) {
  const bool is_sfu = what.op == Op::sfu;
  const bool is_fma = what.op == Op::fma;
  Server& pipe = is_sfu ? part.sfu : is_fma ? part.fma : part.alu;
  const double interval = is_sfu ? rates_.sfu_interval : is_fma ? rates_.fma_interval : rates_.alu_interval;
  const auto instructions = static_cast<double>(what.count);
  const double latency = is_sfu ? rates_.sfu_latency : rates_.math_latency;
  const double step = what.waits ? std::max(interval, latency) : interval;  // a chain issues one a latency
  const double busy = instructions * what.paths * interval;
  (is_sfu ? counts_.sfu : is_fma ? counts_.fma : counts_.alu) += busy / sub_partitions;
  counts_.vector_flops += instructions * lanes_a_warp * (is_fma ? 2 : 1);
  double end = pipe.serve(now, busy);
  const auto beside = [&](std::int64_t others, double each, Server& other, double& counted) {
    if (others == 0) return;
    const double cycles = static_cast<double>(others) * what.paths * each;
    counted += cycles / sub_partitions;
    end = std::max(end, other.serve(now, cycles));
  };
  beside(what.fma, rates_.fma_interval, part.fma, counts_.fma);
  beside(what.alu, rates_.alu_interval, part.alu, counts_.alu);
  counts_.vector_flops += lanes_a_warp * static_cast<double>(2 * what.fma + what.alu);
  hold(warp, end, Stall::math_pipe_throttle);
  if (what.waits) hold(warp, now + instructions * what.paths * step, Stall::wait);
}

// What the compiler puts among the products of one warp: fragments of the next ones from shared memory, conversions.
double Sm::interleaved(SubPartition& part, const Instruction& what, double now) {
  double end = now;
  if (what.fma > 0) end = std::max(end, part.fma.serve(now, static_cast<double>(what.fma) * rates_.fma_interval));
  if (what.alu > 0) end = std::max(end, part.alu.serve(now, static_cast<double>(what.alu) * rates_.alu_interval));
  counts_.fma += static_cast<double>(what.fma) * rates_.fma_interval / sub_partitions;
  counts_.alu += static_cast<double>(what.alu) * rates_.alu_interval / sub_partitions;
  counts_.vector_flops += lanes_a_warp * static_cast<double>(2 * what.fma + what.alu);
  if (what.bytes == 0) return end;
  const double reading = static_cast<double>(what.bytes) * what.conflict / rates_.shared_bytes;
  counts_.shared += reading;
  return std::max(end, shared_.serve(now, reading));
}

void Sm::run_product(Warp& warp, SubPartition& part, const Instruction& what, double now) {
  const auto products = static_cast<double>(what.count);
  const double flops = 2.0 * what.m * what.n * what.k * products;
  const double rate = rates_.tensor_flops(what);
  const bool is_group = what.op == Op::wgmma;
  // Each warp of a group keeps its own Tensor Core busy with a quarter of the rows.
  const double own = is_group ? flops / sub_partitions : flops;
  const double busy = own / (rate / sub_partitions * (is_group ? 1 : rates_.warp_products));
  double end = part.tensor.serve(now, busy);
  counts_.tensor += busy / sub_partitions;
  counts_.tensor_flops += own;
  draw_unit(warp, Unit::tensor, warploom::name(what.op), end - busy, end);
  if (!is_group) {
    end = std::max(end, interleaved(part, what, now));
    warp.products.push_back(end + rates_.tensor_latency);
    hold(warp, end - busy / products, Stall::math_pipe_throttle);
    if (what.waits) hold(warp, now + products * (busy / products + rates_.tensor_latency), Stall::wait);
    return;
  }
  const double operands =
      products * (bits(what.type) / 8.0 * what.k * (what.n * what.b_share + (what.a_in_registers ? 0 : what.m)) +
                  static_cast<double>(what.bytes));
  const double reading = operands / rates_.shared_bytes / sub_partitions;
  counts_.shared += reading;
  end = std::max(end, shared_.serve(now, reading));
  warp.products.push_back(end + rates_.tensor_latency);
  // An issued product holds its warp until the Tensor Core takes it: only its result is waited for elsewhere.
  hold(warp, end - busy / products, Stall::gmma);
}

void Sm::run_block_product(Warp& warp, const Instruction& what, double now) {
  const auto products = static_cast<double>(what.count);
  const double rows = std::max(what.m, full_rows);
  const double busy = 2.0 * rows * what.n * what.k * products / rates_.tensor_flops(what);
  const double operands =
      products * (bits(what.type) / 8.0 * what.k * (what.n * what.b_share + (what.a_in_registers ? 0 : what.m)) +
                  static_cast<double>(what.bytes));
  const double reading = operands / rates_.shared_bytes;
  counts_.tensor += busy;
  counts_.tensor_flops += 2.0 * what.m * what.n * what.k * products;
  counts_.shared += reading;
  const double end = std::max(tensor_.serve(now, busy), shared_.serve(now, reading));
  draw_unit(warp, Unit::tensor, warploom::name(what.op), end - busy, end);
  warp.products.push_back(end + rates_.tensor_latency);
  if (what.ring < 0) return;
  const Ring& ring = program_.rings[what.ring];
  const std::int64_t phase = warp.rings[what.ring].copies++ / std::max(ring.products, 1);
  arrive_later(*warp.block, what.ring, phase, end + rates_.tensor_latency);
}

double Sm::move_in(const Instruction& what, double bytes, double now, double more_latency) {
  const TileStream& stream = program_.streams[what.stream];
  counts_.to_sm += bytes;
  const double arrived = memory_.read(stream, bytes, now, counts_) + stream.more_latency * stream.from_memory;
  return std::max(port_.serve(now, bytes / rates_.port_bytes), arrived) + more_latency;
}

// The L1 and shared memory are one: a line's access takes the pipe for a cycle.
double Sm::touch_lines(const Instruction& what, double now) {
  const double lines = static_cast<double>(what.count) * std::max(what.lines, static_cast<double>(what.bytes) / 128);
  counts_.shared += lines;
  return shared_.serve(now, lines);
}

void Sm::run_memory(Warp& warp, const Instruction& what, double now) {
  const double bytes = static_cast<double>(what.bytes) * static_cast<double>(what.count);
  switch (what.op) {
    case Op::copy_tile: {
      double end = move_in(what, bytes, now, rates_.copy_latency);
      if (what.lines > 0) end = std::max(end, touch_lines(what, now));
      const int copies = std::max(program_.rings[what.ring].copies, 1);
      const std::int64_t phase = warp.rings[what.ring].copies++ / copies;
      draw_unit(warp, Unit::copies, program_.streams[what.stream].name, now, end);
      return arrive_later(*warp.block, what.ring, phase, end);
    }
    case Op::load: {
      const double end = std::max(touch_lines(what, now), move_in(what, bytes, now, 0));
      warp.loads.push_back(end);
      if (what.waits) hold(warp, end, Stall::long_scoreboard);
      return;
    }
    default: {  // stores are posted: the block may end before they are in the L2, the kernel may not
      if (what.op == Op::store) touch_lines(what, now);
      const TileStream& stream = program_.streams[what.stream];
      double end = memory_.write(stream, bytes, now, counts_);
      if (stream.has_parts_of_sectors) {
        end = std::max(end, port_.serve(now, sectors_of_parts(what) * rates_.part_of_sector / rates_.port_bytes));
      }
      last_end_ = std::max(last_end_, end + skipped_);
      warp.stores.push_back(end);
      draw_unit(warp, Unit::stores, program_.streams[what.stream].name, now, end);
      return;
    }
  }
}

void Sm::run_shared(Warp& warp, const Instruction& what, double now) {
  const bool is_tensor_memory = what.op == Op::tensor_load;
  Server& pipe = is_tensor_memory ? tensor_memory_ : shared_;
  const double rate = is_tensor_memory ? rates_.tensor_memory_bytes : rates_.shared_bytes;
  const auto instructions = static_cast<double>(what.count);
  const double busy = static_cast<double>(what.bytes) * instructions * what.conflict / rate;
  const double end = pipe.serve(now, busy);
  if (!is_tensor_memory) counts_.shared += busy;
  draw_unit(warp, Unit::shared_memory, warploom::name(what.op), end - busy, end);
  hold(warp, end - memory_queue * busy / instructions, Stall::mio_throttle);
  if (what.waits) hold(warp, end + rates_.shared_latency, Stall::short_scoreboard);
}

}  // namespace warploom::detailed
