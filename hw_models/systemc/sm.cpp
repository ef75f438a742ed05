// SPDX-License-Identifier: Apache-2.0
// How an SM's schedulers choose, and what its warps wait for.
#include "hw_models/systemc/sm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace warploom::detailed {

namespace {

double now_in_cycles() { return static_cast<double>(sc_core::sc_time_stamp().value()); }

sc_core::sc_time cycles_from_now(double time) {
  return {std::max(0.0, std::ceil(time) - now_in_cycles()), sc_core::SC_PS};
}

constexpr Steadiness turns{.tolerance = 2e-3, .patience = 10};
// Blocks of a wave are out of step with one another.
constexpr Steadiness waves{.tolerance = 0.01, .patience = 8};
// Of a warp, that are not in the L2 yet: the buffer that it fills meanwhile is the other one.
constexpr std::int64_t most_stores = 1;

// The first role that has a main loop.
const WarpRole* leader_of(const KernelProgram& program) {
  const auto is_main = [](const Instruction& what) { return what.op == Op::loop && what.stages > 0; };
  const auto found = std::ranges::find_if(
      program.roles, [&](const WarpRole& role) { return std::ranges::any_of(role.code, is_main); });
  return found == program.roles.end() ? nullptr : &*found;
}

}  // namespace

Sm::Sm(const sc_core::sc_module_name& name, const KernelProgram& program, const SmRates& rates, BlockSource& blocks,
       MemorySystem& memory, int places, bool is_alone, BlockPicture* picture)
    : sc_module(name),
      program_(program),
      rates_(rates),
      source_(blocks),
      memory_(memory),
      picture_(picture),
      places_(places),
      is_alone_(is_alone),
      leader_(leader_of(program)) {
  SC_HAS_PROCESS(Sm);
  SC_METHOD(issue_0);
  sensitive << wake_[0];
  dont_initialize();
  SC_METHOD(issue_1);
  sensitive << wake_[1];
  dont_initialize();
  SC_METHOD(issue_2);
  sensitive << wake_[2];
  dont_initialize();
  SC_METHOD(issue_3);
  sensitive << wake_[3];
  dont_initialize();
  SC_METHOD(arrive_in_time);
  sensitive << arrivals_due_;
  dont_initialize();
}

void Sm::wake(int which, double time) { wake_[which].notify(cycles_from_now(time)); }

void Sm::take_block() {
  if (running_ < places_ && !source_.is_empty()) start_block(now_in_cycles());
}

void Sm::start_block(double now) {
  const BlockRun run = source_.next();
  memory_.set_load(run.load);
  block_work_ = block_work(run.group);
  work_ += block_work_;
  ++running_;
  auto block = std::make_unique<Block>();
  block->group = run.group;
  block->is_drawn = picture_ != nullptr && ages_ == 0;
  block->rings.resize(program_.rings.size());
  for (std::size_t r = 0; r < program_.rings.size(); ++r) block->rings[r].over = program_.rings[r].free_at_start;
  const bool is_launched = !program_.is_persistent || ages_ < std::int64_t{places_} * program_.warps();
  const double start = is_launched ? rates_.block_start : 0;
  const double begun = is_launched ? std::max(now, starter_.free()) : now;
  if (is_launched) starter_.serve(now, std::max(program_.warps() * rates_.warp_start, rates_.block_interval));
  int place = 0;
  // Where the fewest warps are: small blocks would else crowd the first sub-partitions.
  const auto fewest = std::min_element(parts_.begin(), parts_.end(), [](const SubPartition& a, const SubPartition& b) {
    return a.warps.size() < b.warps.size();
  });
  const auto first = static_cast<int>(fewest - parts_.begin());
  for (const WarpRole& role : program_.roles) {
    for (int w = 0; w < role.warps; ++w) {
      auto warp = std::make_unique<Warp>();
      warp->block = block.get();
      warp->role = &role;
      warp->lane = place;
      warp->sub_partition = (first + place++) % sub_partitions;
      warp->age = ages_++;
      warp->rings.resize(program_.rings.size());
      warp->ready = begun + start;
      count(Stall::launch, start);
      parts_[warp->sub_partition].warps.push_back(warp.get());
      wake(warp->sub_partition, warp->ready);
      block->warps.push_back(std::move(warp));
    }
  }
  block->running = place;
  blocks_.push_back(std::move(block));
}

void Sm::issue(int which) {
  ++activations_;
  SubPartition& part = parts_[which];
  const double now = now_in_cycles();
  if (part.port > now) return wake(which, part.port);
  Warp* chosen = nullptr;
  double next = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < part.warps.size(); ++i) {
    Warp& warp = *part.warps[i];
    if (warp.is_waiting) continue;
    if (warp.ready > now) {
      next = std::min(next, warp.ready);
      continue;
    }
    if (!advance(warp, now)) {
      if (warp.is_done) {
        end_warp(warp, now);
        --i;
      } else if (!warp.is_waiting) {
        next = std::min(next, warp.ready);
      }
      continue;
    }
    const bool is_better = chosen == nullptr || (chosen != part.last && (&warp == part.last || warp.age > chosen->age));
    if (is_better) chosen = &warp;
  }
  if (part.port > now) return wake(which, part.port);  // turns were counted instead of played meanwhile
  if (chosen == nullptr) {
    if (next < std::numeric_limits<double>::infinity()) wake(which, next);
    return;
  }
  run(*chosen, part, now);
  part.last = chosen;
  wake(which, part.port);
}

void Sm::end_warp(Warp& warp, double now) {
  SubPartition& part = parts_[warp.sub_partition];
  std::erase(part.warps, &warp);
  if (part.last == &warp) part.last = nullptr;
  Block* block = warp.block;
  if (--block->running > 0) return;
  if (block->pending > 0) forget_arrivals(*block);
  --running_;
  last_end_ = std::max(last_end_, now + skipped_);
  for (Rotation& rotation : rotations_) {
    const auto* leader = static_cast<const Warp*>(rotation.whom());
    if (leader != nullptr && leader->block == block) rotation.follow(nullptr, now, counts_);
  }
  std::erase_if(blocks_, [block](const auto& one) { return one.get() == block; });
  if (++wave_ends_ == places_) {
    wave_ends_ = 0;
    const auto repeated = wave_.come_round(now + skipped_, memory_.backlog(now), counts_, waves, {});
    if (repeated && skip_waves(*repeated)) {
      wave_.restart(now + skipped_, counts_);
      for (int depth = 0; depth < static_cast<int>(rotations_.size()); ++depth) {
        rotations_[depth].restart(now + skipped_, counts_);
        mark_turns(depth);
      }
    }
  }
  take_block();
}

// ---- Barriers ---------------------------------------------------------------------------------------------------

void Sm::arrive(Block& block, int ring, std::int64_t phase, double now) {
  RingState& state = block.rings[ring];
  const Ring& known = program_.rings[ring];
  const auto ahead = static_cast<std::size_t>(phase - state.over + known.free_at_start);
  if (state.arrived.size() <= ahead) state.arrived.resize(ahead + 1, 0);
  ++state.arrived[ahead];
  bool is_over = false;
  while (!state.arrived.empty() && state.arrived.front() >= known.arrivals) {
    state.arrived.pop_front();
    ++state.over;
    is_over = true;
  }
  if (!is_over) return;
  for (Warp* warp : state.waiting) {
    count(reason_of(ring), now - warp->ready);
    draw(warp->lane, "wait", warp->ready, now);
    warp->is_waiting = false;
    warp->ready = now;
    hold(*warp, now + rates_.barrier_latency, Stall::barrier);
    wake(warp->sub_partition, warp->ready);
  }
  state.waiting.clear();
}

void Sm::arrive_later(Block& block, int ring, std::int64_t phase, double time) {
  ++block.pending;
  arrivals_.push({std::ceil(time), &block, ring, phase});
  arrivals_due_.notify(cycles_from_now(arrivals_.top().time));
}

// A block may end before what it has started does: nobody waits for it any more.
void Sm::forget_arrivals(const Block& block) {
  std::vector<Arrival> others;
  for (; !arrivals_.empty(); arrivals_.pop()) {
    if (arrivals_.top().block != &block) others.push_back(arrivals_.top());
  }
  for (const Arrival& arrival : others) arrivals_.push(arrival);
}

void Sm::arrive_in_time() {
  ++activations_;
  const double now = now_in_cycles();
  while (!arrivals_.empty() && arrivals_.top().time <= now) {
    const Arrival due = arrivals_.top();
    arrivals_.pop();
    --due.block->pending;
    arrive(*due.block, due.ring, due.phase, now);
  }
  if (!arrivals_.empty()) arrivals_due_.notify(cycles_from_now(arrivals_.top().time));
}

Stall Sm::reason_of(int ring) const {
  const Ring& known = program_.rings[ring];
  return known.products > 0 ? Stall::gmma : known.copies > 0 ? Stall::long_scoreboard : Stall::barrier;
}

bool Sm::is_held(Warp& warp, std::deque<double>& ends, std::int64_t left, Stall reason, double now) {
  while (!ends.empty() && ends.front() <= now) ends.pop_front();
  if (static_cast<std::int64_t>(ends.size()) <= left) return false;
  warp.ready = std::ceil(ends[ends.size() - 1 - static_cast<std::size_t>(left)]);
  count(reason, warp.ready - now);
  return true;
}

bool Sm::is_over(Warp& warp, int ring, double now) {
  RingState& state = warp.block->rings[ring];
  if (state.over > warp.rings[ring].waits) {
    ++warp.rings[ring].waits;
    return true;
  }
  warp.is_waiting = true;
  warp.ready = now;
  state.waiting.push_back(&warp);
  return false;
}

std::string Sm::held() const {
  std::string text;
  for (const auto& block : blocks_) {
    for (const auto& warp : block->warps) {
      if (!warp->is_waiting) continue;
      const Ring& ring = program_.rings[warp->role->code[warp->next].ring];
      const std::string one = fmt::format("`{}` at `{}`", warp->role->name, ring.name);
      if (text.find(one) == std::string::npos) text += (text.empty() ? "" : ", ") + one;
    }
  }
  return text;
}

// ---- Control ----------------------------------------------------------------------------------------------------

void Sm::enter_loop(Warp& warp, const Instruction& what) {
  const BlockGroup& group = warp.block->group;
  const std::int64_t turns = what.count > 0    ? what.count
                             : what.count == 0 ? group.turns
                                               : group.more[static_cast<std::size_t>(-what.count - 1)];
  const std::vector<Instruction>& code = warp.role->code;
  if (turns > 0) {
    int depth = 0;
    for (const Turn& turn : warp.turns) depth += turn.stages > 0 ? 1 : 0;
    warp.turns.push_back({warp.next + 1, turns, what.stages, depth, turns, turns});
    return;
  }
  for (int open = 1; open > 0;) {
    ++warp.next;
    if (code[warp.next].op == Op::loop) ++open;
    if (code[warp.next].op == Op::end_loop) --open;
  }
}

void Sm::leave_turn(Warp& warp, double now) {
  Turn& turn = warp.turns.back();
  --turn.left;
  if (turn.stages == 0 || turn.depth >= static_cast<int>(rotations_.size())) return;
  Rotation& rotation = rotations_[turn.depth];
  const bool is_last = turn.left == 0;
  if (rotation.whom() == nullptr) {
    // Of the outer loop, turns of the role that the results leave by: one that fetches runs ahead of it at first.
    if (is_last || (turn.depth == 0 && warp.role != leader_)) return;
    rotation.follow(&warp, now + skipped_, counts_);
    return mark_turns(turn.depth);
  }
  if (rotation.whom() != &warp) return;
  if (is_last) return rotation.follow(nullptr, now, counts_);
  if (turn.left % turn.stages != 0) return;
  const auto repeated = rotation.come_round(now + skipped_, memory_.backlog(now), counts_, turns, others(turn.depth));
  const bool has_skipped = repeated && skip_turns(turn.depth, warp.block, *repeated, now);
  if (has_skipped) {
    rotation.restart((is_alone_ ? now : warp.ready) + skipped_, counts_);
  } else if (const Warp* fastest = fastest_like(warp, turn.depth); fastest != &warp) {
    rotation.follow(fastest, now + skipped_, counts_);
  }
  if (rotation.begins()) mark_turns(turn.depth);
}

bool Sm::is_fetching(Warp& warp, double now) {
  const std::vector<Instruction>& code = warp.role->code;
  const bool is_entry = warp.next == 0 || code[warp.next - 1].op == Op::loop || code[warp.next - 1].op == Op::end_loop;
  if (!is_entry) return false;
  std::vector<double>& there = fetched_[warp.role];
  if (there.empty()) there.resize(code.size(), 0);
  double& at = there[warp.next];
  if (at == 0) at = now + rates_.fetch_latency;
  if (at <= now) return false;
  count(Stall::no_instruction, at - now);
  warp.ready = at;
  return true;
}

bool Sm::advance(Warp& warp, double now) {
  const std::vector<Instruction>& code = warp.role->code;
  for (;;) {
    if (warp.ready > now) return false;  // turns were counted instead of played
    if (warp.next == code.size()) {
      warp.is_done = true;
      return false;
    }
    if (is_fetching(warp, now)) return false;
    const Instruction& what = code[warp.next];
    switch (what.op) {
      case Op::loop:
        enter_loop(warp, what);
        break;
      case Op::end_loop:
        leave_turn(warp, now);
        if (warp.turns.back().left > 0) {
          warp.next = warp.turns.back().body;
          continue;
        }
        warp.turns.pop_back();
        break;
      case Op::wait:
        if (!is_over(warp, what.ring, now)) return false;
        break;
      case Op::arrive:
        arrive(*warp.block, what.ring, warp.rings[what.ring].arrivals++, now);
        break;
      case Op::sync:
        if (!warp.has_arrived) arrive(*warp.block, what.ring, warp.rings[what.ring].arrivals++, now);
        warp.has_arrived = true;
        if (!is_over(warp, what.ring, now)) return false;
        warp.has_arrived = false;
        break;
      case Op::depend:
        if (prologue_ == 0) prologue_ = now;
        break;
      case Op::drain:
        if (is_held(warp, warp.products, what.count, Stall::gmma, now)) return false;
        break;
      case Op::use:
        if (is_held(warp, warp.loads, what.count, Stall::long_scoreboard, now)) return false;
        break;
      case Op::store:
      case Op::store_tile:
        return !is_held(warp, warp.stores, most_stores, Stall::lg_throttle, now);
      default:
        return true;
    }
    ++warp.next;
  }
}

}  // namespace warploom::detailed
