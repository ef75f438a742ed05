// SPDX-License-Identifier: Apache-2.0
// Reads an experiment's parts, checks them against each other, and runs the result.
#include "workloads/experiment.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>

#include "sim/core/version.hpp"
#include "sim/play/executor.hpp"
#include "workloads/experiment_spec.hpp"
#include "workloads/fallbacks.hpp"
#include "workloads/memory_advice.hpp"
#include "workloads/models/hugging_face.hpp"
#include "workloads/schedules/schedules.hpp"

namespace warploom {

namespace {

namespace fs = std::filesystem;

// Where a key was written, or else its map.
Origin origin_of(const ConfigValue& root, std::initializer_list<std::string_view> keys) {
  ConfigValue value = root;
  for (const auto key : keys) {
    const auto found = value.find(key);
    if (!found) break;
    value = *found;
  }
  return value.origin();
}

// A path relative to the file that names it, or a name in the library.
std::string model_file(const std::string& model, const Origin& origin, const Library& library) {
  std::error_code ignored;
  fs::path relative = model;
  if (relative.is_relative() && origin.is_known() && !origin.is_command_line()) {
    relative = fs::path(origin.file()).parent_path() / model;
  }
  if (fs::exists(relative, ignored)) return relative.string();
  if (fs::exists(model, ignored)) return model;
  return library.path_of(model, ".json");
}

Model read_model(const ExperimentSpec& spec, const ConfigValue& root, const Library& library,
                 Diagnostics& diagnostics) {
  const Origin origin = origin_of(root, {"model"});
  try {
    Model model = read_hugging_face(model_file(spec.model, origin, library));
    if (model.has_experts()) {
      diagnostics.error(origin, "model",
                        fmt::format("{} is a mixture of experts, whose training is not modelled yet", spec.model),
                        "`warploom kernel moe` predicts one layer of experts");
    }
    if (spec.training.padded_vocabulary) {
      if (*spec.training.padded_vocabulary < model.vocab) {
        diagnostics.error(
            origin_of(root, {"training", "padded_vocabulary"}), "training.padded_vocabulary",
            fmt::format("{} is less than the model's vocabulary of {}", *spec.training.padded_vocabulary, model.vocab));
      }
      model.vocab = *spec.training.padded_vocabulary;
    }
    return model;
  } catch (const UserError& error) {
    diagnostics.error(origin, "model", error.message(), error.hint());
  }
  return {};
}

void resolve_batch(TrainingSpec& training, const ConfigValue& root, Diagnostics& diagnostics) {
  const Origin origin = origin_of(root, {"training"});
  const bool has_tokens = training.global_tokens > 0;
  if (has_tokens == (training.global_batch > 0)) {
    diagnostics.error(origin, "training", "needs one of `global_batch` (sequences) and `global_tokens`");
    training.global_batch = std::max<std::int64_t>(training.global_batch, 1);
    return;
  }
  if (!has_tokens || training.sequence_length == 0) return;
  training.global_batch = training.global_tokens / training.sequence_length;
  if (training.global_tokens % training.sequence_length != 0) {
    diagnostics.error(
        origin_of(root, {"training", "global_tokens"}), "training.global_tokens",
        fmt::format("{} is not a multiple of the sequence length {}", training.global_tokens, training.sequence_length),
        fmt::format("{} would be {} sequences", training.global_batch * training.sequence_length,
                    training.global_batch));
    training.global_batch = std::max<std::int64_t>(training.global_batch, 1);
  }
}

void check_positions(const TrainingJob& job, const ConfigValue& root, Diagnostics& diagnostics) {
  const Origin origin = origin_of(root, {"training", "sequence_length"});
  const std::int64_t s = job.training.sequence_length;
  if (job.model.positions == PositionKind::learned && s > job.model.max_positions) {
    diagnostics.error(origin, "training.sequence_length",
                      fmt::format("{} is more than the model's {} learned positions", s, job.model.max_positions));
  }
  const std::int64_t sharing = job.layout.context * (job.layout.cuts_sequence() ? job.layout.tensor : 1);
  if (s % sharing != 0) {
    diagnostics.error(origin, "training.sequence_length",
                      fmt::format("{} is not a multiple of the {} {} ranks that share it", s, sharing,
                                  job.layout.context > 1 ? "context and tensor" : "tensor"),
                      fmt::format("{} would work{}", (s / sharing + 1) * sharing,
                                  job.layout.cuts_sequence() ? ", or layout.sequence_parallel: false" : ""));
  }
  if (job.layout.context > 1 && job.training.attention == AttentionKind::unfused) {
    diagnostics.error(origin_of(root, {"training", "attention"}), "training.attention",
                      "context parallelism needs fused attention: expected `flash`, got `unfused`");
  }
}

// Bytes of a micro-batch must be countable, before anything multiplies them.
void check_micro_batch(const TrainingJob& job, const ConfigValue& root, Diagnostics& diagnostics) {
  const Model& model = job.model;
  const auto tokens = static_cast<double>(job.training.micro_batch) * static_cast<double>(job.training.sequence_length);
  const auto width = static_cast<double>(model.qkv_width() + model.first_mlp_width() + model.vocab + model.hidden);
  if (tokens * width > 1e17) {
    diagnostics.error(origin_of(root, {"training", "micro_batch"}), "training.micro_batch",
                      fmt::format("a micro-batch of {:.1e} tokens is more than any device holds", tokens));
  }
}

void check_layout(TrainingJob& job, std::int64_t devices, std::int64_t node_size, const ConfigValue& root,
                  Diagnostics& diagnostics) {
  const LayoutNeeds needs{devices, node_size, job.training.global_batch, job.training.micro_batch};
  for (const auto& problem : resolve_layout(job.layout, job.model, needs)) {
    const Origin origin = origin_of(root, {"layout", problem.key});
    const std::string path = problem.key.empty() ? "layout" : "layout." + problem.key;
    if (problem.is_warning) {
      diagnostics.warning(origin, path, problem.message, problem.hint);
    } else {
      diagnostics.error(origin, path, problem.message, problem.hint);
    }
  }
}

void make_schedule(TrainingJob& job, const ConfigValue& root, Diagnostics& diagnostics) {
  const auto schedules = pipeline_schedules();
  if (job.training.schedule.is_null()) {
    job.schedule = schedules.make_named(job.layout.virtual_stages > 1 ? "interleaved_1f1b" : "1f1b");
  } else {
    job.schedule = schedules.make(job.training.schedule, diagnostics);
  }
  const std::int64_t micro_batches = job.training.global_batch / (job.data() * job.training.micro_batch);
  constexpr std::int64_t most = 1'000'000;
  if (micro_batches > most) {
    diagnostics.error(origin_of(root, {"training", "global_batch"}), "training.global_batch",
                      fmt::format("{} micro-batches are more than {}", micro_batches, most),
                      "use a larger micro_batch, or more replicas");
    return;
  }
  if (!job.schedule || diagnostics.has_errors()) return;
  const ScheduleShape shape{static_cast<int>(job.layout.pipeline), static_cast<int>(micro_batches),
                            static_cast<int>(job.layout.virtual_stages)};
  if (const auto problem = job.schedule->problem(shape)) {
    diagnostics.error(origin_of(root, {"training", "schedule"}), "training.schedule", problem->message, problem->hint);
  }
}

void check_stragglers(const TrainingJob& job, std::int64_t devices, const ConfigValue& root, Diagnostics& diagnostics) {
  std::set<Rank> seen;
  for (const auto& straggler : job.stragglers) {
    const Origin origin = origin_of(root, {"stragglers"});
    if (straggler.device >= devices) {
      diagnostics.error(origin, "stragglers", fmt::format("device {} of {}", straggler.device, devices),
                        fmt::format("devices are 0 to {}", devices - 1));
    }
    if (!seen.insert(straggler.device).second)
      diagnostics.error(origin, "stragglers", fmt::format("device {} stands twice", straggler.device));
  }
}

// What every step takes for granted, whoever wrote the file.
std::vector<std::string> standing_assumptions(const TrainingJob& job) {
  std::vector<std::string> list = {
      "one step in the steady state: no checkpoint, no evaluation, no failure, data always ready",
  };
  const TrainingSpec& training = job.training;
  list.emplace_back(training.attention == AttentionKind::flash
                        ? "attention by flash attention over whole sequences, causal, without document masks"
                        : "unfused attention: every pair of positions is multiplied, whether it is seen or not");
  if (training.types.product != ProductType::compute)
    list.emplace_back("quantised weights are converted once a step, activations and gradients before every product");
  if (training.iteration_overhead == Time::zero())
    list.emplace_back("no host work between steps (training.iteration_overhead is 0)");
  if (training.zero > 0 && training.overlap_parameter_gather && job.data() > 1) {
    list.emplace_back(
        "updated parameters are gathered during the first forward of the step (those of the step before)");
  }
  if (job.model.has_qkv_bias || job.model.has_mlp_bias)
    list.emplace_back("biases and their gradients cost nothing (fused into matrix products)");
  if (!job.model.ignored_keys.empty()) {
    list.push_back(
        fmt::format("model file: keys without effect on time or memory: {}", fmt::join(job.model.ignored_keys, ", ")));
  }
  for (const auto& straggler : job.stragglers) {
    list.push_back(
        fmt::format("device {}: every kernel takes {} times as long", straggler.device, straggler.slow_down));
  }
  return list;
}

// A step of that many rows would not fit the memory of the machine that simulates it.
void require_playable(const TrainingJob& job, const Origin& origin) {
  constexpr double most = 3e7;
  const double rows = estimated_rows(job);
  if (rows <= most) return;
  throw UserError(
      origin,
      fmt::format("the step would be about {:.1e} operations, more than the {:.0e} that are simulated", rows, most),
      job.unfold ? "run it folded, or unfold a smaller layout" : "use a larger micro_batch, or more replicas");
}

std::int64_t peak_rss_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace

Experiment Experiment::load(const std::string& path, const std::vector<std::string>& overrides,
                            const ExperimentOptions& options) {
  const Library library = Library::from_environment();
  return from_config(load_config(path, overrides, library), library, options);
}

Experiment Experiment::from_config(const ConfigValue& root, const Library& library, const ExperimentOptions& options) {
  Diagnostics diagnostics;
  ExperimentSpec spec = read<ExperimentSpec>(root, diagnostics);
  Experiment experiment;
  experiment.resolved_ = root;
  experiment.name_ = spec.name;
  experiment.seed_ = spec.seed;
  experiment.allows_oversubscribed_memory_ = spec.allow_oversubscribed_memory;

  TrainingJob& job = experiment.job_;
  Cluster cluster;
  // A cluster that is not there has been said; what it lacks is no news.
  if (const auto at = root.find("cluster"); at && at->is_map()) {
    cluster = make_cluster(spec.cluster, spec.devices,
                           {spec.training.types.product_type(), options.ideals, options.uses_cache}, diagnostics);
  }
  spec.training.schedule.mark_all_read();  // make_schedule reads it, once the layout is known
  report_unread(root, diagnostics);
  // What follows compares the parts with each other: only sound parts are worth it.
  diagnostics.throw_if_any();

  job.model = read_model(spec, root, library, diagnostics);
  job.training = spec.training;
  job.layout = spec.layout;
  job.stragglers = spec.stragglers;
  job.launch = has(options.ideals, Ideal::launch) ? Time::zero() : spec.cluster.host.launch;
  resolve_batch(job.training, root, diagnostics);
  diagnostics.throw_if_any();
  check_layout(job, spec.devices, cluster.topology->node_size(), root, diagnostics);
  check_positions(job, root, diagnostics);
  check_micro_batch(job, root, diagnostics);
  if (job.layout.data) make_schedule(job, root, diagnostics);
  check_stragglers(job, spec.devices, root, diagnostics);
  diagnostics.throw_if_any();

  experiment.machine_ = std::make_shared<const Machine>(std::move(cluster.machine));
  experiment.assumptions_ = spec.assumptions;
  for (auto& list : {standing_assumptions(job), cluster.assumptions}) {
    experiment.assumptions_.insert(experiment.assumptions_.end(), list.begin(), list.end());
  }
  if (!options.ideals.empty()) {
    experiment.assumptions_.push_back("what would not be so: free of charge are " + in_words(options.ideals));
  }
  for (const auto& warning : diagnostics.warnings()) {
    experiment.warnings_.push_back(fmt::format("{}: {}{}", warning.path, warning.message,
                                               warning.hint.empty() ? "" : fmt::format(" ({})", warning.hint)));
  }
  return experiment;
}

std::string Experiment::schema() { return json_schema<ExperimentSpec>("Warploom experiment"); }

RunResult Experiment::run(const RunOptions& options) const {
  const auto begin = std::chrono::steady_clock::now();
  TrainingJob job = job_;
  job.unfold = options.unfold;
  require_playable(job, origin_of(resolved_, {"training"}));
  RunResult result;
  result.program = build_training_step(job);
  result.timeline = play(result.program, *machine_, {options.progress});
  result.report = make_report(result.program, *machine_, result.timeline);
  result.report.fallbacks = kernel_fallbacks(result.program, *machine_);
  identify(result.report);
  result.report.simulator.operations = result.program.size();
  result.report.simulator.events = result.timeline.events;
  result.report.simulator.roles = result.program.roles.size();
  result.report.simulator.peak_rss_bytes = peak_rss_bytes();
  result.report.simulator.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  require_fit(result.report);
  return result;
}

void Experiment::identify(Report& report) const {
  report.name = name_;
  report.version = version();
  report.config_hash = config_hash(resolved_);
  report.seed = seed_;
  report.model = job_.model.name;
  report.machine = machine_->name;
  report.assumptions = assumptions_;
  report.warnings.insert(report.warnings.end(), warnings_.begin(), warnings_.end());
}

void Experiment::require_fit(const Report& report) const {
  if (report.fits || allows_oversubscribed_memory_) return;
  const auto worst = std::max_element(report.memory.begin(), report.memory.end(),
                                      [](const auto& a, const auto& b) { return a.peak_bytes < b.peak_bytes; });
  throw UserError(origin_of(resolved_, {"layout"}),
                  fmt::format("{} does not fit: {} needs {} a device at its peak, {} are usable", job_.model.name,
                              worst->role, to_string(Bytes(worst->peak_bytes)), to_string(worst->capacity_usable)),
                  memory_advice(job_, worst->capacity_usable));
}

}  // namespace warploom
