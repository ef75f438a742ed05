// SPDX-License-Identifier: Apache-2.0
// What the steps of an MSCCL file wait for: the step before, a dependency, the message, room for the message.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "network/collectives/msccl_program.hpp"

namespace warploom {

namespace {

constexpr std::size_t slots = 8;  // messages of a connection (NCCL_STEPS)

class Waits {
 public:
  explicit Waits(const MscclProgram& program) : program_(program), before_(program.steps.size()) {
    partner_.assign(program.steps.size(), -1);
  }

  MscclOrder order() {
    add_blocks();
    add_messages();
    return sort();
  }

 private:
  struct Ends {
    std::vector<std::int32_t> sent;
    std::vector<std::int32_t> received;
  };

  void add(std::int32_t step, std::int32_t before) { before_[static_cast<std::size_t>(step)].push_back(before); }

  void add_blocks() {
    for (const MscclGpu& gpu : program_.gpus) {
      std::map<std::int32_t, const MscclBlock*> by_id;
      for (auto b = gpu.first_block; b < gpu.end_block; ++b) {
        const MscclBlock& block = program_.blocks[static_cast<std::size_t>(b)];
        by_id[block.id] = &block;
      }
      for (auto b = gpu.first_block; b < gpu.end_block; ++b) {
        const MscclBlock& block = program_.blocks[static_cast<std::size_t>(b)];
        for (auto s = block.first; s < block.end; ++s) {
          if (s > block.first) add(s, s - 1);
          add_dependency(s, by_id);
        }
      }
    }
  }

  void add_dependency(std::int32_t s, const std::map<std::int32_t, const MscclBlock*>& by_id) {
    const MscclStep& step = program_.steps[static_cast<std::size_t>(s)];
    if (step.waits_for_block < 0) return;
    const auto found = by_id.find(step.waits_for_block);
    const bool is_there = found != by_id.end() && step.waits_for_step >= 0 &&
                          step.waits_for_step < found->second->end - found->second->first;
    if (!is_there) {
      throw UserError(program_.at(step.line),
                      fmt::format("{} waits for tb {}, step {}, which is not there", program_.name_of(s),
                                  step.waits_for_block, step.waits_for_step));
    }
    add(s, found->second->first + step.waits_for_step);
  }

  void add_messages() {
    std::map<std::array<std::int32_t, 3>, Ends> connections;  // from, to, channel
    for (std::size_t s = 0; s < program_.steps.size(); ++s) {
      const MscclStep& step = program_.steps[s];
      const MscclBlock& block = program_.blocks[static_cast<std::size_t>(step.block)];
      if (sends(step.type))
        connections[{block.gpu, block.send_peer, block.channel}].sent.push_back(static_cast<std::int32_t>(s));
      if (receives(step.type))
        connections[{block.recv_peer, block.gpu, block.channel}].received.push_back(static_cast<std::int32_t>(s));
    }
    for (const auto& [way, ends] : connections) {
      const auto met = std::min(ends.sent.size(), ends.received.size());
      for (std::size_t i = 0; i < met; ++i) meet(ends.sent[i], ends.received[i]);
      if (ends.sent.size() != ends.received.size()) refuse_lonely(way, ends, met);
      for (std::size_t i = slots; i < met; ++i) add(ends.sent[i], ends.received[i - slots]);
    }
  }

  void meet(std::int32_t sent, std::int32_t received) {
    const auto& from = program_.steps[static_cast<std::size_t>(sent)];
    const auto& to = program_.steps[static_cast<std::size_t>(received)];
    if (from.count != to.count) {
      throw UserError(program_.at(to.line),
                      fmt::format("{} receives {} chunks of which {} (line {}) sends {}", program_.name_of(received),
                                  to.count, program_.name_of(sent), from.line, from.count));
    }
    partner_[static_cast<std::size_t>(received)] = sent;
    add(received, sent);
  }

  [[noreturn]] void refuse_lonely(const std::array<std::int32_t, 3>& way, const Ends& ends, std::size_t met) const {
    const bool is_sent = ends.sent.size() > ends.received.size();
    const std::int32_t step = is_sent ? ends.sent[met] : ends.received[met];
    throw UserError(program_.at(program_.steps[static_cast<std::size_t>(step)].line),
                    is_sent ? fmt::format("{} sends to gpu {} on channel {}, which never receives it",
                                          program_.name_of(step), way[1], way[2])
                            : fmt::format("{} receives from gpu {} on channel {}, which never sends it",
                                          program_.name_of(step), way[0], way[2]));
  }

  MscclOrder sort() {
    const std::size_t count = program_.steps.size();
    std::vector<std::vector<std::int32_t>> after(count);
    std::vector<std::size_t> open(count);
    for (std::size_t s = 0; s < count; ++s) {
      open[s] = before_[s].size();
      for (const auto b : before_[s]) after[static_cast<std::size_t>(b)].push_back(static_cast<std::int32_t>(s));
    }
    MscclOrder order;
    order.level.assign(count, 0);
    for (std::size_t s = 0; s < count; ++s) {
      if (open[s] == 0) order.steps.push_back(static_cast<std::int32_t>(s));
    }
    for (std::size_t i = 0; i < order.steps.size(); ++i) {
      const auto s = static_cast<std::size_t>(order.steps[i]);
      const std::int32_t ends = order.level[s] + (sends(program_.steps[s].type) ? 1 : 0);
      for (const auto next : after[s]) {
        auto& level = order.level[static_cast<std::size_t>(next)];
        level = std::max(level, ends);
        if (--open[static_cast<std::size_t>(next)] == 0) order.steps.push_back(next);
      }
    }
    if (order.steps.size() != count) refuse_cycle(open);
    order.partner = std::move(partner_);
    return order;
  }

  // From any step that never runs, back along what it waits for, until a step comes twice.
  [[noreturn]] void refuse_cycle(const std::vector<std::size_t>& open) const {
    const auto first = std::ranges::find_if(open, [](std::size_t waits) { return waits > 0; });
    auto step = static_cast<std::int32_t>(first - open.begin());
    std::map<std::int32_t, std::size_t> seen;
    std::vector<std::int32_t> path;
    while (seen.emplace(step, path.size()).second) {
      path.push_back(step);
      const auto& waits = before_[static_cast<std::size_t>(step)];
      step = *std::ranges::find_if(waits, [&](std::int32_t b) { return open[static_cast<std::size_t>(b)] > 0; });
    }
    path.erase(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(seen[step]));
    std::string text;
    constexpr std::size_t most_named = 8;
    for (std::size_t i = 0; i < std::min(path.size(), most_named); ++i) {
      text += fmt::format("{}{} (line {})", i > 0 ? ", which waits for " : "", program_.name_of(path[i]),
                          program_.steps[static_cast<std::size_t>(path[i])].line);
    }
    if (path.size() > most_named) text += fmt::format(", and {} more", path.size() - most_named);
    throw UserError(program_.at(program_.steps[static_cast<std::size_t>(path[0])].line),
                    fmt::format("this plan deadlocks: {}, which waits for the first", text));
  }

  const MscclProgram& program_;
  std::vector<std::vector<std::int32_t>> before_;
  std::vector<std::int32_t> partner_;
};

}  // namespace

MscclOrder order_msccl(const MscclProgram& program) { return Waits(program).order(); }

}  // namespace warploom
