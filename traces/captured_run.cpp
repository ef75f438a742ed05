// SPDX-License-Identifier: Apache-2.0
// Reading, joining, matching and the unchanged replay, one after another.
#include "traces/captured_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "sim/core/errors.hpp"
#include "sim/core/parallel.hpp"
#include "traces/collective_checks.hpp"

namespace warploom {

namespace {

// Two captures of one rank and of the same process are one run read twice; a later capture of it would be another run.
void refuse_repeated_ranks(const std::vector<Capture>& captures) {
  std::map<std::int64_t, const Capture*> by_rank;
  for (const auto& capture : captures) {
    const auto rank = known_rank(capture);
    if (!rank) continue;
    const auto [place, is_new] = by_rank.emplace(*rank, &capture);
    if (is_new) continue;
    throw UserError(fmt::format("rank {} is captured twice: {} and {}", *rank, place->second->file, capture.file),
                    "give the files of one run and one window; a folder of several needs its files named one by one");
  }
}

// "rank 0 holds 3 to 5, rank 1 holds 4 to 6", by the numbers of ProfilerStep; empty where all hold the same.
std::string different_steps(const std::vector<Capture>& captures) {
  std::map<std::vector<std::int64_t>, std::vector<std::string>> ranks_by_steps;
  for (std::size_t i = 0; i < captures.size(); ++i) {
    std::vector<std::int64_t> numbers;
    for (const auto& [step, number] : captured_steps(captures[i])) {
      if (number >= 0) numbers.push_back(number);
    }
    std::sort(numbers.begin(), numbers.end());
    if (numbers.empty()) continue;
    ranks_by_steps[numbers].push_back(std::to_string(known_rank(captures[i]).value_or(static_cast<std::int64_t>(i))));
  }
  if (ranks_by_steps.size() < 2) return {};
  constexpr std::size_t most_parts = 8;
  std::vector<std::string> parts;
  for (auto& [numbers, ranks] : ranks_by_steps) {
    if (parts.size() == most_parts) {
      parts.emplace_back("and others");
      break;
    }
    const bool is_one = ranks.size() == 1;
    if (ranks.size() > most_parts) {
      ranks.resize(most_parts);
      ranks.emplace_back("...");
    }
    parts.push_back(fmt::format("rank{} {} {} {}", is_one ? "" : "s", fmt::join(ranks, ", "), is_one ? "holds" : "hold",
                                numbers.size() == 1 ? fmt::format("step {}", numbers.front())
                                                    : fmt::format("steps {} to {}", numbers.front(), numbers.back())));
  }
  return fmt::format("ranks from different steps: {}", fmt::join(parts, "; "));
}

// A simulation's clock holds 106 days.
void refuse_long_captures(const std::vector<Capture>& captures) {
  constexpr Nanoseconds day = Nanoseconds{86'400} * 1'000'000'000;
  for (const auto& capture : captures) {
    auto first = std::numeric_limits<Nanoseconds>::max();
    auto last = std::numeric_limits<Nanoseconds>::min();
    const auto take = [&](const auto& events) {
      for (const auto& event : events) {
        first = std::min(first, event.start);
        last = std::max(last, event.start + event.duration);
      }
    };
    take(capture.device_ops);
    take(capture.calls);
    take(capture.host_ops);
    take(capture.annotations);
    if (first > last || last - first <= 100 * day) continue;
    throw UserError(
        fmt::format("{}: its events lie {} days apart, from {:.3f} us to {:.3f} us: expected at most 100 days",
                    capture.file, (last - first) / day, static_cast<double>(first) / 1e3,
                    static_cast<double>(last) / 1e3),
        "a time in it is wrong, or it holds events of two clocks");
  }
}

Nanoseconds arrival(const CapturedRun& run, const CollectiveMember& member) {
  return run.captures[member.capture].device_ops[member.op].start - run.matching.clock_offset[member.capture];
}

// Neither needs the other.
void find_dependencies_and_match(CapturedRun& run, const InferenceOptions& inference) {
  run.graphs.resize(run.captures.size());
  in_parallel(run.captures.size() + 1, [&](std::size_t i) {
    if (i == 0) {
      run.matching = match_collectives(run.captures);
    } else {
      run.graphs[i - 1] = find_dependencies(run.captures[i - 1], inference);
    }
  });
}

}  // namespace

CapturedRun understand(std::span<const std::string> paths, const ReadOptions& options,
                       const InferenceOptions& inference) {
  return understand(read_traces(paths, options), inference);
}

CapturedRun understand(ReadTraces read, const InferenceOptions& inference) {
  CapturedRun run;
  run.captures = std::move(read.captures);
  run.skipped = std::move(read.skipped);
  check_ranks(run.captures);
  refuse_repeated_ranks(run.captures);
  refuse_long_captures(run.captures);
  find_dependencies_and_match(run, inference);
  check_collectives(run.captures, run.matching);
  for (const auto& capture : run.captures) run.repairs.add(capture.repairs);
  for (const auto& graph : run.graphs) {
    const auto& counts = graph.counts;
    run.edges.recorded += counts.recorded;
    run.edges.ordered += counts.ordered;
    run.edges.inferred += counts.inferred;
    run.edges.contradicted += counts.contradicted;
    run.edges.timed_gaps += counts.timed_gaps;
  }
  run.captured = make_program(run.captures, run.graphs, run.matching);
  run.timeline = play_as_captured(run.captured.program);
  run.self = compare_with_capture(run.captures, run.captured, run.timeline);
  return run;
}

std::vector<std::string> doubts(const CapturedRun& run) {
  constexpr double trustworthy_span = 0.02;
  constexpr Nanoseconds trustworthy_start = 1'000'000;
  std::vector<std::string> sentences;
  if (run.self.error > trustworthy_span) {
    sentences.push_back(fmt::format("the unchanged replay is off by {:.1f}%: what made operations wait is not recorded",
                                    100 * run.self.error));
  }
  Nanoseconds start_error = 0;
  for (const auto& rank : run.self.ranks) start_error = std::max(start_error, rank.start_error_p50);
  if (start_error > trustworthy_start) {
    sentences.push_back(
        fmt::format("half of all operations begin more than {:.1f} ms from where they did: dependencies are missing",
                    static_cast<double>(start_error) / 1e6));
  }
  if (const std::string steps = different_steps(run.captures); !steps.empty()) sentences.push_back(steps);
  std::int64_t incomplete = 0;
  for (const auto& collective : run.matching.collectives) incomplete += collective.is_complete ? 0 : 1;
  if (incomplete > 0) {
    sentences.push_back(fmt::format(
        "{} of {} communication operations lack members: what they took holds waiting for ranks that were not captured",
        incomplete, run.matching.collectives.size()));
  }
  return sentences;
}

std::vector<Lateness> find_stragglers(const CapturedRun& run) {
  std::vector<Lateness> stragglers(run.captures.size());
  for (std::uint32_t i = 0; i < stragglers.size(); ++i) stragglers[i].capture = i;
  for (const auto& collective : run.matching.collectives) {
    if (collective.members.size() < 2) continue;
    const CollectiveMember* last = &collective.members.front();
    for (const auto& member : collective.members) {
      if (arrival(run, member) > arrival(run, *last)) last = &member;
    }
    ++stragglers[last->capture].last;
    for (const auto& member : collective.members) {
      const Nanoseconds waited = arrival(run, *last) - arrival(run, member);
      stragglers[last->capture].others_waited += waited;
      stragglers[member.capture].waited += waited;
    }
  }
  if (run.matching.matched == 0) return {};
  std::stable_sort(stragglers.begin(), stragglers.end(),
                   [](const Lateness& a, const Lateness& b) { return a.others_waited > b.others_waited; });
  return stragglers;
}

}  // namespace warploom
