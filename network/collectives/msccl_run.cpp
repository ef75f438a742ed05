// SPDX-License-Identifier: Apache-2.0
// Runs an MSCCL file with symbols for data, and makes it a plan: who holds whose contribution to what.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "network/collectives/channels.hpp"
#include "network/collectives/msccl_program.hpp"
#include "network/collectives/msccl_xml.hpp"
#include "network/collectives/pace.hpp"
#include "network/collectives/round_plan.hpp"
#include "sim/core/whole_file.hpp"

namespace warploom {

namespace {

// A chunk's data: contributions of some ranks to one piece of the collective's data.
struct Value {
  std::int64_t piece = -1;  // -1: nothing yet
  std::array<std::uint64_t, 4> ranks{};

  bool empty() const { return piece < 0; }
  friend bool operator==(const Value&, const Value&) = default;
};

Value contribution(std::int64_t piece, std::int32_t rank) {
  Value value{piece, {}};
  value.ranks[static_cast<std::size_t>(rank / 64)] = std::uint64_t{1} << (rank % 64);
  return value;
}

// By level and threadblock.
using BlockChunks = std::map<std::pair<int, std::int32_t>, std::int64_t>;

class SymbolicRun {
 public:
  SymbolicRun(const MscclProgram& program, const MscclOrder& order)
      : program_(program), order_(order), ranks_(static_cast<std::int32_t>(program.gpus.size())) {
    for (const MscclGpu& gpu : program.gpus) {
      auto& buffers = buffers_.emplace_back();
      for (std::size_t b = 0; b < 3; ++b) buffers[b].resize(static_cast<std::size_t>(gpu.chunks[b]));
      const bool is_in_place = program.in_place;
      // What stands for two buffers has the size of the larger.
      if (is_in_place && program.kind == CollectiveKind::all_gather) buffers[1].resize(chunks());
      if (is_in_place && program.kind != CollectiveKind::all_gather) buffers[0].resize(chunks());
    }
    messages_.resize(program.steps.size());
    fill();
  }

  Schedule run() {
    for (const std::int32_t step : order_.steps) play(step);
    check();
    schedule_.ranks = ranks_;
    schedule_.chunks =
        static_cast<int>(program_.kind == CollectiveKind::all_to_all ? program_.chunks * ranks_ : program_.chunks);
    return std::move(schedule_);
  }

  const BlockChunks& block_chunks() const { return block_chunks_; }

 private:
  std::size_t chunks() const { return static_cast<std::size_t>(program_.chunks); }
  std::int32_t share() const { return program_.chunks / ranks_; }  // of one rank
  bool is_gather_in_place() const { return program_.in_place && program_.kind == CollectiveKind::all_gather; }

  Value& at(std::int32_t rank, MscclBuffer buffer, std::int32_t offset) {
    return buffers_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(buffer)][static_cast<std::size_t>(offset)];
  }

  void fill() {
    for (std::int32_t rank = 0; rank < ranks_; ++rank) {
      const bool has = program_.kind != CollectiveKind::broadcast || rank == 0;
      const bool is_gather = program_.kind == CollectiveKind::all_gather;
      for (std::int32_t c = 0; has && c < (is_gather ? share() : program_.chunks); ++c) {
        std::int64_t piece = c;
        if (is_gather) piece = std::int64_t{rank} * share() + c;
        if (program_.kind == CollectiveKind::all_to_all) piece = std::int64_t{rank} * program_.chunks + c;
        if (is_gather_in_place()) {
          at(rank, MscclBuffer::output, static_cast<std::int32_t>(piece)) = contribution(piece, rank);
        } else {
          at(rank, MscclBuffer::input, c) = contribution(piece, rank);
        }
      }
    }
  }

  [[noreturn]] void refuse(std::int32_t step, const std::string& message) const {
    throw UserError(program_.at(program_.steps[static_cast<std::size_t>(step)].line),
                    fmt::format("{} {}", program_.name_of(step), message));
  }

  Value added(std::int32_t step, const Value& a, const Value& b) const {
    if (a.empty() || b.empty()) refuse(step, "reduces a chunk that holds nothing");
    if (a.piece != b.piece) refuse(step, fmt::format("adds chunk {} to chunk {}", b.piece, a.piece));
    Value sum = a;
    for (std::size_t w = 0; w < sum.ranks.size(); ++w) {
      if ((a.ranks[w] & b.ranks[w]) != 0) refuse(step, fmt::format("adds a contribution to chunk {} twice", a.piece));
      sum.ranks[w] |= b.ranks[w];
    }
    return sum;
  }

  void play(std::int32_t index) {
    const MscclStep& step = program_.steps[static_cast<std::size_t>(index)];
    if (step.type == MscclType::nop) return;
    const MscclBlock& block = program_.blocks[static_cast<std::size_t>(step.block)];
    std::vector<Value> values;
    if (receives(step.type)) {
      const auto sender = static_cast<std::size_t>(order_.partner[static_cast<std::size_t>(index)]);
      values = std::move(messages_[sender]);
      messages_[sender] = {};
      record(index, values);
    } else {
      for (std::int32_t i = 0; i < step.count; ++i) {
        values.push_back(at(block.gpu, step.source.buffer, step.source.offset + i));
        if (values.back().empty())
          refuse(index, fmt::format("takes chunk {} of its source, which holds nothing", step.source.offset + i));
      }
    }
    if (step.type == MscclType::reduce) {
      for (std::int32_t i = 0; i < step.count; ++i) {
        Value& target = at(block.gpu, step.target.buffer, step.target.offset + i);
        target = added(index, target, values[static_cast<std::size_t>(i)]);
      }
      return;
    }
    const bool adds = step.type == MscclType::recv_reduce || step.type == MscclType::recv_reduce_send ||
                      step.type == MscclType::recv_reduce_copy_send;
    for (std::int32_t i = 0; adds && i < step.count; ++i) {
      Value& value = values[static_cast<std::size_t>(i)];
      value = added(index, at(block.gpu, step.source.buffer, step.source.offset + i), value);
    }
    if (step.type != MscclType::send && step.type != MscclType::recv_reduce_send) {
      for (std::int32_t i = 0; i < step.count; ++i)
        at(block.gpu, step.target.buffer, step.target.offset + i) = values[static_cast<std::size_t>(i)];
    }
    if (sends(step.type)) messages_[static_cast<std::size_t>(index)] = std::move(values);
  }

  void record(std::int32_t index, const std::vector<Value>& values) {
    const MscclStep& step = program_.steps[static_cast<std::size_t>(index)];
    const MscclBlock& block = program_.blocks[static_cast<std::size_t>(step.block)];
    const auto sender = static_cast<std::size_t>(order_.partner[static_cast<std::size_t>(index)]);
    const bool adds = step.type != MscclType::recv && step.type != MscclType::recv_copy_send;
    block_chunks_[{order_.level[sender], step.block}] += step.count;
    block_chunks_[{order_.level[sender], program_.steps[sender].block}] += step.count;
    for (const Value& value : values) {
      schedule_.transfers.push_back(
          {order_.level[sender], block.recv_peer, block.gpu, static_cast<int>(value.piece), adds});
    }
  }

  void check() {
    Value all;
    for (std::int32_t rank = 0; rank < ranks_; ++rank)
      all.ranks[static_cast<std::size_t>(rank / 64)] |= std::uint64_t{1} << (rank % 64);
    const CollectiveKind kind = program_.kind;
    for (std::int32_t rank = 0; rank < (kind == CollectiveKind::reduce ? 1 : ranks_); ++rank) {
      const bool is_scatter = kind == CollectiveKind::reduce_scatter;
      for (std::int32_t c = 0; c < (is_scatter ? share() : program_.chunks); ++c) {
        Value owed = all;
        owed.piece = is_scatter ? std::int64_t{rank} * share() + c : c;
        if (kind == CollectiveKind::all_gather) owed = contribution(c, c / share());
        if (kind == CollectiveKind::broadcast) owed = contribution(c, 0);
        if (kind == CollectiveKind::all_to_all) {
          const std::int32_t from = c / share();
          owed = contribution(std::int64_t{from} * program_.chunks + std::int64_t{rank} * share() + c % share(), from);
        }
        expect(rank, c, owed);
      }
    }
  }

  void expect(std::int32_t rank, std::int32_t c, const Value& owed) {
    MscclBuffer buffer = MscclBuffer::output;
    std::int32_t offset = c;
    const bool is_input =
        program_.in_place && program_.kind != CollectiveKind::all_gather && program_.kind != CollectiveKind::all_to_all;
    if (is_input) {
      buffer = MscclBuffer::input;
      if (program_.kind == CollectiveKind::reduce_scatter) offset += rank * share();
    }
    const Value& got = at(rank, buffer, offset);
    if (got == owed) return;
    const int line = program_.gpus[static_cast<std::size_t>(rank)].line;
    const std::string what = fmt::format("after this {} rank {} ", name(program_.kind), rank);
    if (got.empty())
      throw UserError(program_.at(line), what + fmt::format("is left without chunk {} of its output", c));
    if (got.piece != owed.piece) {
      throw UserError(program_.at(line),
                      what + fmt::format("holds chunk {} where chunk {} is due", got.piece, owed.piece));
    }
    for (std::int32_t other = 0; other < ranks_; ++other) {
      const auto bit = [&](const Value& value) {
        return value.ranks[static_cast<std::size_t>(other / 64)] >> (other % 64) & 1;
      };
      if (bit(got) != bit(owed)) {
        throw UserError(program_.at(line), what + fmt::format("holds chunk {} {} the contribution of rank {}", c,
                                                              bit(owed) != 0 ? "without" : "with", other));
      }
    }
  }

  const MscclProgram& program_;
  const MscclOrder& order_;
  std::int32_t ranks_;
  std::vector<std::array<std::vector<Value>, 3>> buffers_;
  std::vector<std::vector<Value>> messages_;
  Schedule schedule_;
  BlockChunks block_chunks_;
};

std::vector<MscclPlan::LevelOfPlan> levels_of(const Schedule& schedule, const BlockChunks& block_chunks) {
  std::map<int, std::int64_t> most;
  for (const auto& [where, chunks] : block_chunks) most[where.first] = std::max(most[where.first], chunks);
  std::map<int, std::map<std::pair<int, int>, std::int32_t>> moved;
  for (const Transfer& transfer : schedule.transfers) ++moved[transfer.step][{transfer.from, transfer.to}];
  std::vector<MscclPlan::LevelOfPlan> levels;
  for (const auto& [level, pairs] : moved) {
    auto list = std::make_shared<std::vector<MemberPair>>();
    for (const auto& [pair, chunks] : pairs) list->push_back({pair.first, pair.second, chunks});
    levels.push_back({std::move(list), most[level]});
  }
  return levels;
}

}  // namespace

MscclPlan parse_msccl(const std::string& text, const std::string& file) {
  const MscclProgram program = read_msccl(text, file);
  const MscclOrder order = order_msccl(program);
  MscclPlan::Content content;
  content.name = program.name;
  content.kind = program.kind;
  content.protocol = program.protocol;
  content.ranks = static_cast<int>(program.gpus.size());
  content.chunks = program.chunks;
  for (const MscclGpu& gpu : program.gpus)
    content.threadblocks = std::max(content.threadblocks, gpu.end_block - gpu.first_block);
  content.least_bytes = program.least_bytes;
  content.most_bytes = program.most_bytes;
  SymbolicRun run(program, order);
  content.schedule = run.run();
  std::ranges::stable_sort(content.schedule.transfers, {}, &Transfer::step);
  content.levels = levels_of(content.schedule, run.block_chunks());
  return MscclPlan(std::move(content));
}

std::unique_ptr<MscclPlan> load_msccl(const std::string& path) {
  return std::make_unique<MscclPlan>(parse_msccl(read_whole_file(path), path));
}

bool MscclPlan::is_possible(const Setting& setting, Protocol protocol) const {
  const std::int64_t bytes = setting.call.bytes.count();
  return setting.ranks() == content_.ranks && protocol == content_.protocol && bytes >= content_.least_bytes &&
         bytes <= content_.most_bytes;
}

Schedule MscclPlan::schedule(int /*ranks*/) const { return content_.schedule; }

Plan MscclPlan::plan(const Setting& setting, Protocol chosen) const {
  const ProtocolSpec& protocol = protocol_of(setting.library, chosen);
  const double chunk = static_cast<double>(setting.call.bytes.count()) / content_.chunks;
  Plan plan = empty_plan(setting, chosen, 0.5);
  plan.sms = content_.threadblocks;
  Time latency = call_start(setting, chosen);
  const Bandwidth block = block_rate(setting, chosen);
  for (const LevelOfPlan& level : content_.levels) {
    Bundle bundle;
    bundle.traffic = {FlowPattern::pairs, setting.call.group, 0, {}, level.pairs};
    const Reach reach = reach_of(bundle.traffic, setting.group, setting.topology);
    latency += reach.leaves_node ? network_step(setting, protocol) + reach.latency : protocol.hop;
    // Flows go in proportion to their chunks: the member that sends or receives most sets the pace.
    std::map<std::int32_t, std::int64_t> out;
    std::map<std::int32_t, std::int64_t> in;
    std::int64_t most = 1;
    for (const MemberPair& pair : *level.pairs) {
      most = std::max({most, out[pair.from] += pair.weight, in[pair.to] += pair.weight});
    }
    const Bandwidth port = reach.leaves_node ? setting.topology.card() * protocol.network_efficiency
                                             : setting.topology.port() * protocol.efficiency;
    bundle.bytes_per_flow = Bytes(std::llround(chunk * protocol.wire_bytes));
    bundle.flow_limit = port * protocol.wire_bytes / most;
    if (block.value() > 0)
      bundle.flow_limit = std::min(bundle.flow_limit, block * protocol.wire_bytes / level.block_chunks);
    plan.steps.push_back({latency, {std::move(bundle)}});
    latency = Time::zero();
  }
  return plan;
}

}  // namespace warploom
