// SPDX-License-Identifier: Apache-2.0
// One SM: its four sub-partitions issue the instructions of the warps of resident blocks; what they use are servers.
//
// Each sub-partition issues one warp instruction a cycle, from the warp that issued last as long as it can, else from
// the youngest that can (Huerta et al., MICRO 2025). Products, copies and loads are asynchronous: their ends are known
// when they are issued, since every unit serves in order; only barriers have to be waited for. Control (loops, barriers
// that are over) takes no slot. A picosecond of SystemC's clock stands for one cycle.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <systemc>
#include <vector>

#include "hw_models/detailed.hpp"
#include "hw_models/programs/kernel_program.hpp"
#include "hw_models/systemc/dispatch.hpp"
#include "hw_models/systemc/memory_system.hpp"
#include "hw_models/systemc/server.hpp"
#include "hw_models/systemc/sm_rates.hpp"
#include "hw_models/systemc/steady_state.hpp"
#include "hw_models/systemc/warp.hpp"

namespace warploom::detailed {

class Sm : public sc_core::sc_module {
 public:
  // `places`: blocks at once. `picture`: where the first block's spans go; none: nullptr. `is_alone`: what is counted
  // instead of played takes no time of the simulation; among others, who are to take their blocks before this one takes
  // its next, it does.
  Sm(const sc_core::sc_module_name& name, const KernelProgram& program, const SmRates& rates, BlockSource& blocks,
     MemorySystem& memory, int places, bool is_alone, BlockPicture* picture);

  // Starts the next block if a place is free and one is left.
  void take_block();

  const SmCounts& counts() const { return counts_; }
  // Until the last result is in the L2, what steady state stands for included.
  double cycles() const { return last_end_; }
  double skipped() const { return skipped_; }
  double prologue() const { return prologue_; }
  double work() const { return work_; }  // see block_work()
  std::int64_t activations() const { return activations_; }
  bool is_done() const { return running_ == 0; }
  // The warps that wait for ever.
  std::string held() const;

 private:
  struct SubPartition {
    std::vector<Warp*> warps;
    Warp* last = nullptr;
    double port = 0;  // when the next issue slot is free
    Server fma, alu, sfu, tensor;
  };
  struct Arrival {
    double time;
    Block* block;
    int ring;
    std::int64_t phase;
    bool operator>(const Arrival& other) const { return time > other.time; }
  };

  void issue_0() { issue(0); }
  void issue_1() { issue(1); }
  void issue_2() { issue(2); }
  void issue_3() { issue(3); }
  void issue(int which);
  void arrive_in_time();
  void forget_arrivals(const Block& block);
  void wake(int which, double time);

  // Whether the warp has to wait for instructions that no warp of the SM has run before.
  bool is_fetching(Warp& warp, double now);
  void start_block(double now);
  void end_warp(Warp& warp, double now);

  // Passes loops, waits that are over and arrivals; returns whether the warp has an instruction to issue.
  bool advance(Warp& warp, double now);
  void enter_loop(Warp& warp, const Instruction& what);  // or passes it, without turns
  void leave_turn(Warp& warp, double now);
  bool is_over(Warp& warp, int ring, double now);
  bool is_held(Warp& warp, std::deque<double>& ends, std::int64_t left, Stall reason, double now);
  void arrive(Block& block, int ring, std::int64_t phase, double now);
  void arrive_later(Block& block, int ring, std::int64_t phase, double time);
  Stall reason_of(int ring) const;

  // Runs one instruction of the warp at `now`; sets when it can go on, and why not before (sm_units.cpp).
  void run(Warp& warp, SubPartition& part, double now);
  void run_math(Warp& warp, SubPartition& part, const Instruction& what, double now);
  void run_product(Warp& warp, SubPartition& part, const Instruction& what, double now);
  double interleaved(SubPartition& part, const Instruction& what, double now);  // when it is done
  void run_block_product(Warp& warp, const Instruction& what, double now);
  void run_memory(Warp& warp, const Instruction& what, double now);
  void run_shared(Warp& warp, const Instruction& what, double now);
  double touch_lines(const Instruction& what, double now);
  double move_in(const Instruction& what, double bytes, double now, double more_latency);
  void hold(Warp& warp, double until, Stall reason);
  void count(Stall reason, double cycles) { counts_.stalls[static_cast<std::size_t>(reason)] += cycles; }
  void draw(int lane, std::string_view what, double start, double end);
  void draw_unit(const Warp& warp, Unit unit, std::string_view what, double start, double end);

  // Steady state (steady_state.cpp): turns of main loops, then waves of blocks.
  // Whether all blocks have made the same progress in the loops of this depth since they were marked.
  bool keep_step(int depth) const;
  Others others(int depth);
  void mark_turns(int depth);
  // The like of this warp in the block that is fastest in the loops of this depth: the one to watch.
  const Warp* fastest_like(const Warp& warp, int depth) const;
  // They say whether they skipped any.
  bool skip_turns(int depth, const Block* leader, const Repeated& repeated, double now);
  bool skip_waves(const Repeated& repeated);
  // Everything that this SM has under way happens so much later.
  void shift(double now, double cycles);

  const KernelProgram& program_;
  SmRates rates_;
  BlockSource& source_;
  MemorySystem& memory_;
  BlockPicture* picture_;
  int places_;
  bool is_alone_;
  const WarpRole* leader_;  // whose turns of the outer main loop are watched
  int running_ = 0;
  std::int64_t ages_ = 0;
  std::array<SubPartition, sub_partitions> parts_;
  std::array<sc_core::sc_event, sub_partitions> wake_;
  sc_core::sc_event arrivals_due_;
  std::priority_queue<Arrival, std::vector<Arrival>, std::greater<>> arrivals_;
  std::vector<std::unique_ptr<Block>> blocks_;
  // Of every role, by instruction: when it is there; 0: nobody has asked. Straight code is fetched ahead, so that only
  // where a role starts, a loop begins and one ends there is a wait.
  std::map<const WarpRole*, std::vector<double>> fetched_;
  Server shared_, port_, tensor_memory_, tensor_, starter_;
  SmCounts counts_;
  std::array<Rotation, 2> rotations_;  // of the main loops: the outer one, the one in it
  Rotation wave_;
  int wave_ends_ = 0;      // blocks of it that have ended
  double block_work_ = 0;  // of the last block that started
  double last_end_ = 0;
  double skipped_ = 0;
  double work_ = 0;
  double prologue_ = 0;
  std::int64_t activations_ = 0;
};

}  // namespace warploom::detailed
