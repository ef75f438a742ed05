// SPDX-License-Identifier: Apache-2.0
// Rows of the captured program to nodes, rank by rank; what they say of communication is in convert_communication.cpp.
#include "traces/convert_chakra.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/core/errors.hpp"
#include "traces/convert_communication.hpp"
#include "traces/recorded_time.hpp"

namespace warploom {

namespace {

// Whole microseconds whose sum stays with the exact one.
class Rounding {
 public:
  Nanoseconds take(Nanoseconds exact, Nanoseconds least) {
    owed_ += exact;
    const Nanoseconds given = std::max(least, (owed_ + 500) / 1000 * 1000);
    owed_ -= given;
    return given;
  }

 private:
  Nanoseconds owed_ = 0;
};

class RankExport {
 public:
  RankExport(const CapturedRun& run, const CapturedProgram& captured, std::uint32_t index, RowId first, RowId last,
             CommunicationNodes& communication, ExecutionGraph& graph)
      : program_(captured.program),
        capture_(run.captures[index]),
        dependencies_(run.graphs[index]),
        row_of_op_(captured.row_of_op[index]),
        rows_of_step_(captured.rows_of_step[index]),
        origin_(captured.origin[index]),
        index_(index),
        first_(first),
        last_(last),
        communication_(communication),
        graph_(graph),
        builder_(graph) {}

  void run() {
    find_what_rows_are();
    find_shifts();
    add_metadata();
    thread_free_.assign(capture_.threads.size(), origin_);
    thread_last_.assign(capture_.threads.size(), none);
    host_rounding_.resize(capture_.threads.size());
    device_rounding_.resize(capture_.streams.size());
    name_streams();
    for (RowId row = first_ + 1; row < last_; ++row) {
      node_.data.clear();
      for (const RowId before : program_.dependencies(row)) depend_on(before);
      const Row& what = rows_[row - first_];
      if (what.op != nothing) {
        add_op(row, what.op);
      } else if (what.step != nothing) {
        add_step(row, what.step, what.is_return);
      }
    }
    builder_.finish();
  }

 private:
  struct Row {
    std::uint32_t op = nothing;
    std::uint32_t step = nothing;
    bool is_return = false;
  };

  void find_what_rows_are() {
    rows_.resize(last_ - first_);
    for (std::uint32_t op = 0; op < row_of_op_.size(); ++op) {
      WARPLOOM_CHECK(row_of_op_[op] != none, "operation {} of capture {} has no row", op, index_);
      rows_[row_of_op_[op] - first_].op = op;
    }
    first_op_.assign(rows_of_step_.size(), nothing);
    for (std::uint32_t step = 0; step < rows_of_step_.size(); ++step) {
      const auto& [made, returned] = rows_of_step_[step];
      WARPLOOM_CHECK(made != none, "host step {} of capture {} has no row", step, index_);
      rows_[made - first_].step = step;
      if (returned != made) rows_[returned - first_] = {nothing, step, true};
    }
    for (std::uint32_t op = 0; op < row_of_op_.size(); ++op) {
      const std::uint32_t call = capture_.device_ops[op].launch;
      if (call == nothing || dependencies_.step_of_call[call] == nothing) continue;
      auto& first = first_op_[dependencies_.step_of_call[call]];
      if (first == nothing) first = op;
    }
  }

  // How far a thread of the folded times is behind: by the latency of what it launched last.
  void find_shifts() {
    shift_.assign(rows_of_step_.size(), 0);
    for (std::uint32_t step = 0; step < rows_of_step_.size(); ++step) {
      const bool is_first = step == 0 || thread_of(step) != thread_of(step - 1);
      const Nanoseconds before = is_first ? 0 : shift_[step - 1];
      const std::uint32_t op = first_op_[step];
      // What an operation has of a gap before it is part of the latency.
      shift_[step] = op == nothing ? before
                                   : std::max<Nanoseconds>(
                                         0, dependencies_.lags.launch(capture_, op) - queue_gap(row_of_op_[op], op));
    }
  }

  std::uint32_t thread_of(std::uint32_t step) const { return capture_.calls[dependencies_.steps[step].call].thread; }

  Nanoseconds queue_gap(RowId row, std::uint32_t op) const {
    if (const Time gap = program_.queue_lag(row); gap > Time::zero()) return nanoseconds(gap);
    const std::uint32_t before = dependencies_.before[op];
    if (before == nothing) return 0;
    const auto needs = program_.dependencies(row);
    for (std::size_t i = 0; i < needs.size(); ++i) {
      if (needs[i] == row_of_op_[before]) return nanoseconds(program_.dependency_lag(row, i));
    }
    return 0;
  }

  void add_metadata() {
    node_.name = "## process_group:init ##";
    node_.type = NodeType::metadata;
    node_.is_cpu_op = true;
    node_.start = 0;
    add_node(0);
  }

  // Names of streams that are different whole numbers stay; else their places.
  void name_streams() {
    std::vector<std::int64_t> numbers;
    for (const auto& stream : capture_.streams) {
      const bool is_number = !stream.name.empty() && stream.name.size() < 10 &&
                             stream.name.find_first_not_of("0123456789") == std::string::npos;
      numbers.push_back(is_number ? std::stoll(stream.name) : -1);
    }
    auto sorted = numbers;
    std::sort(sorted.begin(), sorted.end());
    const bool are_names =
        std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end() && (sorted.empty() || sorted.front() >= 0);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      stream_number_.push_back(are_names ? numbers[i] : static_cast<std::int64_t>(i));
    }
  }

  // Rows are numbered from the rank's first, which stands for the start of the capture and waits for nothing.
  void depend_on(RowId row) {
    if (row == none || row <= first_ || row >= last_) return;
    const std::uint64_t id = row - first_;
    if (std::find(node_.data.begin(), node_.data.end(), id) == node_.data.end()) node_.data.push_back(id);
  }

  void add_node(std::uint64_t id) {
    node_.id = id;
    node_.folded = folded_;
    builder_.add(node_);
    auto data = std::move(node_.data);
    node_ = {};
    node_.data = std::move(data);
    folded_ = 0;
  }

  // A call is made at the end of its node; what it took beyond other calls of its name it took before it launched.
  void add_step(RowId row, std::uint32_t index, bool is_return) {
    const auto& step = dependencies_.steps[index];
    const auto& call = capture_.calls[step.call];
    const std::uint32_t thread = call.thread;
    Nanoseconds& free = thread_free_[thread];
    depend_on(thread_last_[thread]);
    Nanoseconds begin = free;
    Nanoseconds end = call.end();
    Nanoseconds folded = step.think;
    if (is_return) {
      folded = dependencies_.return_of(step).hold;
      begin = std::max(free, end - folded);
      if (call.end() - folded > call.start) folded += shift_[index];
    } else {
      end = call.start + (first_op_[index] == nothing ? 0 : dependencies_.lags.excess(call));
      folded += shift_[index] - shift_before(index);
      if (thread_last_[thread] == none && step.handed_by == nothing) folded += nanoseconds(program_.duration[first_]);
      if (step.handed_by != nothing) begin = std::max(begin, end - step.think);
    }
    end = std::max(end, begin);
    free = end;
    thread_last_[thread] = row;
    // What leads to a call that launches nothing is no such call.
    node_.name = is_return || first_op_[index] != nothing ? capture_.texts[call.name] : std::string_view("host");
    node_.type = NodeType::compute;
    node_.is_cpu_op = true;
    node_.stream = thread;
    node_.start = std::max<Nanoseconds>(0, begin - origin_);
    node_.duration = end - begin;
    folded_ = host_rounding_[thread].take(folded, 0);
    add_node(row - first_);
  }

  Nanoseconds shift_before(std::uint32_t step) const {
    if (const std::uint32_t giver = dependencies_.steps[step].handed_by; giver != nothing) return shift_[giver];
    return step == 0 || thread_of(step) != thread_of(step - 1) ? 0 : shift_[step - 1];
  }

  void add_op(RowId row, std::uint32_t index) {
    const auto& op = capture_.device_ops[index];
    if (dependencies_.before[index] != nothing) depend_on(row_of_op_[dependencies_.before[index]]);
    node_.name = capture_.texts[op.name];
    node_.type = NodeType::compute;
    node_.stream = stream_number_[op.stream];
    node_.duration = op.duration;
    if (op.bytes > 0) node_.tensor_size = op.bytes;
    Nanoseconds folded = op.duration + queue_gap(row, index);
    if (program_.kind[row] == OperationKind::collective) {
      folded = communication_.transfer(index_, index);
      communication_.describe(index_, index, node_, graph_.texts);
    }
    node_.start = std::max<Nanoseconds>(0, op.start - origin_);
    folded_ = device_rounding_[op.stream].take(folded, folded > 0 ? 1000 : 0);
    add_node(row - first_);
  }

  const Program& program_;
  const Capture& capture_;
  const CaptureGraph& dependencies_;
  const std::vector<RowId>& row_of_op_;
  const std::vector<std::pair<RowId, RowId>>& rows_of_step_;
  Nanoseconds origin_;
  std::uint32_t index_;
  RowId first_;
  RowId last_;
  CommunicationNodes& communication_;
  ExecutionGraph& graph_;
  GraphBuilder builder_;
  std::vector<Row> rows_;                 // by row, from the first
  std::vector<std::uint32_t> first_op_;   // by step: that it launches
  std::vector<Nanoseconds> shift_;        // by step
  std::vector<Nanoseconds> thread_free_;  // up to here the thread's time is told
  std::vector<RowId> thread_last_;
  std::vector<Rounding> host_rounding_;
  std::vector<Rounding> device_rounding_;
  std::vector<std::int64_t> stream_number_;
  GraphNode node_;
  Nanoseconds folded_ = 0;
};

}  // namespace

ChakraExport export_chakra(const CapturedRun& run) {
  ChakraExport result;
  Retiming unchanged;
  unchanged.thread_rows = true;
  const CapturedProgram captured = make_program(run.captures, run.graphs, run.matching, unchanged);
  const Program& program = captured.program;
  CommunicationNodes communication(run);
  RowId row = 0;
  for (std::uint32_t i = 0; i < run.captures.size(); ++i) {
    const RowId first = row;
    while (row < program.size() && program.role_of(row) == i) ++row;
    auto& graph = result.graphs.emplace_back();
    const Capture& capture = run.captures[i];
    graph.file = capture.file;
    graph.rank = communication.rank(i);
    graph.schema = "1.1.1-chakra.1.0.0";
    graph.version = "0.0.4";
    graph.facts = {{"converted_by", "warploom"}, {"converted_from", capture.format}, {"duration_micros", "folded"}};
    if (capture.resolution != 1) graph.facts["resolution_ns"] = std::to_string(capture.resolution);
    RankExport(run, captured, i, first, row, communication, graph).run();
  }
  for (auto& graph : result.graphs) graph.groups = communication.groups();
  result.groups = communication.groups_json();
  result.notes = communication.notes();
  return result;
}

}  // namespace warploom
