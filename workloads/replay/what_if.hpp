// SPDX-License-Identifier: Apache-2.0
// Edits of a captured run: what if kernels were faster, fused or gone, the host quicker, a straggler like the others,
// the network or the clock another.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/config.hpp"
#include "sim/core/config_value.hpp"
#include "traces/captured_run.hpp"

namespace warploom {

// Patterns take `*` for any text and `?` for one character; letters compared without case, on the whole name.
struct ScaleEdit {
  std::string kernels;
  double by = 1;
  static auto fields() {
    return field_list(
        field("kernels", &ScaleEdit::kernels, "names of device operations: `*gemm*`"),
        field("by", &ScaleEdit::by, "what their durations are multiplied by: 0.5 is twice as fast").in(0, 1e6));
  }
};

struct RemoveEdit {
  std::string kernels;
  static auto fields() {
    return field_list(field("kernels", &RemoveEdit::kernels, "names of device operations that are not done"));
  }
};

struct FuseEdit {
  std::string kernels;
  double by = 1;
  static auto fields() {
    return field_list(field("kernels", &FuseEdit::kernels, "neighbours on a stream with such names become one launch"),
                      field("by", &FuseEdit::by,
                            "what the sum of their durations is multiplied by: tensors that are not written and "
                            "read again")
                          .optional()
                          .in(0, 1e6));
  }
};

struct AddEdit {
  std::string after;
  Time duration;
  static auto fields() {
    return field_list(field("after", &AddEdit::after, "each device operation with such a name takes longer"),
                      field("duration", &AddEdit::duration, "by a kernel of this time")
                          .at_most(Time::picoseconds(3'600'000'000'000'000)));
  }
};

struct HostEdit {
  double scale = 1;
  std::optional<Time> launch;
  bool graphs = false;
  static auto fields() {
    return field_list(
        field("scale", &HostEdit::scale, "what the time between calls is multiplied by").optional().in(0, 1e6),
        field("launch", &HostEdit::launch, "from a launch call to its operation on an idle stream"),
        field("graphs", &HostEdit::graphs, "kernels are captured in graphs: no launch waits for the host").optional());
  }
};

struct StragglerEdit {
  std::int64_t rank = 0;
  double slow_down = 1;
  static auto fields() {
    return field_list(
        field("rank", &StragglerEdit::rank, "a rank").at_least(0),
        field("slow_down", &StragglerEdit::slow_down, "every kernel of it takes this much longer").in(0.01, 1e6));
  }
};

struct ReplicasEdit {
  std::int64_t times = 1;
  std::string group;
  static auto fields() {
    return field_list(field("times", &ReplicasEdit::times, "as many data-parallel replicas").in(1, 100'000),
                      field("group", &ReplicasEdit::group,
                            "descriptions of the process groups that grow; default: those that "
                            "say they are data-parallel")
                          .optional());
  }
};

struct CollectiveEdit {
  std::string kind;
  std::string algorithm;
  std::string protocol;
  static auto fields() {
    return field_list(
        field("kind", &CollectiveEdit::kind, "`all_reduce`, `all_gather`, ...; default: all").optional(),
        field("algorithm", &CollectiveEdit::algorithm, "`ring`, `tree`, ..., or wishes such as `^nvls` (NCCL_ALGO)")
            .optional(),
        field("protocol", &CollectiveEdit::protocol, "`ll`, `ll128`, `simple`, or wishes such as `^ll` (NCCL_PROTO)")
            .optional());
  }
  static void check(const CollectiveEdit& edit, const ConfigValue& at, Diagnostics& diagnostics);
};

struct WhatIf {
  std::vector<ScaleEdit> scale;
  std::vector<RemoveEdit> remove;
  std::vector<FuseEdit> fuse;
  std::vector<AddEdit> add;
  std::vector<StragglerEdit> straggler;
  std::vector<std::int64_t> even_out;
  std::optional<HostEdit> host;
  std::optional<ReplicasEdit> data_parallel;
  std::vector<CollectiveEdit> collective;
  std::optional<Frequency> clock;
  std::vector<std::string> set;
  bool overlap = true;
  ConfigValue written;  // as read, so that mistakes can say where they stand; null: from no file

  static auto fields() {
    return field_list(
        field("scale", &WhatIf::scale, "kernels that take longer or shorter").optional(),
        field("remove", &WhatIf::remove, "device operations that are left out").optional(),
        field("fuse", &WhatIf::fuse, "neighbours that become one").optional(),
        field("add", &WhatIf::add, "kernels that come in addition").optional(),
        field("collective", &WhatIf::collective, "how collectives are done instead of the library's choice").optional(),
        field("clock", &WhatIf::clock, "what the devices' clock is locked at: `1.4 GHz`").in(1_MHz, 100_GHz),
        field("set", &WhatIf::set, "what else is changed of the cluster, as with `--set`: `network.nic.rate=400 Gbps`")
            .optional(),
        field("straggler", &WhatIf::straggler, "ranks that are slow").optional(),
        field("even_out", &WhatIf::even_out, "ranks that do as the median of the others does: stragglers taken out")
            .optional(),
        field("host", &WhatIf::host, "the hosts"), field("data_parallel", &WhatIf::data_parallel, "more replicas"),
        field("overlap", &WhatIf::overlap, "false: communication and compute one after another").optional());
  }
};

// A YAML file; an empty one changes nothing. Throws ConfigError with all mistakes.
WhatIf read_what_if(const std::string& path);

// What it changes of the cluster, as `--set` takes it: of the collectives, the clock, and anything else.
std::vector<std::string> overrides_of(const WhatIf& what_if);

// Where `scale[1].kernels` and the like was written; as far as it was.
Origin place_of(const ConfigValue& written, std::string_view path);

// Mistakes that `overrides_of` led to, moved to where the what-if says so; others as they are.
ConfigError placed(const ConfigError& error, const WhatIf& what_if);

// JSON Schema of such files.
std::string what_if_schema();

bool matches(std::string_view pattern, std::string_view name);

// Applied to what is played, removals first: other edits hold for what is left. Throws ConfigError for patterns, ranks,
// groups and kinds of collectives that are not in the run.
void apply(const WhatIf& what_if, const CapturedRun& run, Retiming& retiming);

}  // namespace warploom
