// SPDX-License-Identifier: Apache-2.0
// Options of the detailed model; pictures become tracks.
#include "bindings/cli/detailed_arguments.hpp"

#include <fmt/format.h>

#include <cmath>
#include <sstream>

#include "bindings/cli/command.hpp"
#include "sim/core/errors.hpp"
#include "sim/core/whole_file.hpp"
#include "traces/perfetto_writer.hpp"

namespace warploom {

void DetailedArguments::require_detailed() const {
  const char* const needs = "needs `--model detailed`: the analytic model has no inside";
  if (!timeline.empty()) throw UserError(fmt::format("`--timeline` {}", needs));
  if (sms != "one") throw UserError(fmt::format("`--sms` {}", needs));
}

void add_sms(CLI::App* command, DetailedArguments& arguments) {
  set_choices(command
                  ->add_option("--sms", arguments.sms,
                               "play the busiest SM for all, or every SM: slower, and the same where all do the same "
                               "(one)")
                  ->type_name("SMS"),
              {"one", "all"});
}

void add_timeline(CLI::App* command, DetailedArguments& arguments) {
  set_not_empty(command
                    ->add_option("--timeline", arguments.timeline,
                                 "write what the warps and units of one block do, for ui.perfetto.dev; a nanosecond "
                                 "there is a cycle")
                    ->type_name(file_label));
}

void add_ideal(CLI::App* command, std::string& ideal) {
  set_not_empty(command
                    ->add_option("--ideal", ideal,
                                 "what if these were free: a list of launch, l2, hbm, network, tensor, sfu, shared, "
                                 "power")
                    ->type_name("LIST"));
}

void add_no_cache(CLI::App* command, bool& no_cache) {
  add_flag(command, "--no-cache", no_cache, "play again what the detailed model has played before");
}

OpenCache::OpenCache(const Console& console, bool is_wanted) : console_(console) {
  if (is_wanted) cache_ = std::make_shared<DetailedCache>(DetailedCache::usual_folder());
}

OpenCache::~OpenCache() {
  if (!cache_) return;
  cache_->flush();
  for (const std::string& note : cache_->notes()) console_.tell("note: " + note + "\n");
}

void write_pictures(const std::vector<DetailedResult>& programs, const std::string& path) {
  std::vector<LaneGroup> groups;
  std::uint64_t start = 0;
  const auto at = [&](double cycles) {
    return start + static_cast<std::uint64_t>(std::llround(std::max(cycles, 0.0)));
  };
  for (const DetailedResult& program : programs) {
    LaneGroup group;
    group.name = fmt::format("{}: one block, 1 ns is a cycle at {}", program.program, to_string(program.clock));
    group.lanes = program.picture.lanes;
    for (const Span& span : program.picture.spans) {
      group.spans.push_back({static_cast<std::size_t>(span.lane), span.what, at(span.start), at(span.end)});
    }
    groups.push_back(std::move(group));
    start = at(program.cycles);
  }
  std::ostringstream out;
  write_perfetto(groups, out);
  write_whole_file(path, out.str());
}

std::string told_picture(const DetailedArguments& arguments) {
  if (arguments.timeline.empty()) return {};
  return fmt::format("\nOne block's warps and units: {} (open it in ui.perfetto.dev)\n", arguments.timeline);
}

}  // namespace warploom
