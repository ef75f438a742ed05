// SPDX-License-Identifier: Apache-2.0
// One training step as a program. Every role runs its stage's schedule; each entry of it replays the template of a
// chunk's forward or backward; messages between stages, reduced gradients and gathered parameters have streams of their
// own.
#include "workloads/training/training_step.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "hw_models/kernels/element_wise.hpp"
#include "sim/core/errors.hpp"

namespace warploom {

namespace {

constexpr std::array all_dimensions = {Dimension::tensor, Dimension::context, Dimension::pipeline, Dimension::data};
constexpr std::array<std::pair<const char*, StreamKind>, lane_count> lanes = {{
    {"compute", StreamKind::compute},
    {"tensor parallel", StreamKind::communication},
    {"context parallel", StreamKind::communication},
    {"data parallel", StreamKind::communication},
    {"send forward", StreamKind::communication},
    {"receive forward", StreamKind::communication},
    {"send backward", StreamKind::communication},
    {"receive backward", StreamKind::communication},
    {"host", StreamKind::host},
}};

std::vector<Rank> devices_of(const std::vector<Straggler>& stragglers) {
  std::vector<Rank> devices;
  for (const auto& straggler : stragglers) devices.push_back(straggler.device);
  return devices;
}

}  // namespace

TrainingStep::TrainingStep(const TrainingJob& job)
    : job_(job),
      rows_(job),
      chunks_(chunks_of(job.layout, job.model)),
      fold_(job.layout, devices_of(job.stragglers), job.unfold),
      micro_batches_(job.micro_batches()),
      tensor_(program_, fold_, fold_.along(std::array{Dimension::tensor})),
      context_(program_, fold_, fold_.along(std::array{Dimension::context})),
      data_(program_, fold_, fold_.along(std::array{Dimension::context, Dimension::data})),
      norm_(program_, fold_,
            job.training.zero > 0 ? fold_.along(all_dimensions)
                                  : fold_.along(std::array{Dimension::tensor, Dimension::pipeline})) {
  make_pairs();
  make_templates();
}

Program TrainingStep::build() {
  program_.worth = worth_of(job_);
  for (RoleId role = 0; role < fold_.roles().size(); ++role) {
    begin_role(role);
    add_start();
    const auto steps = job_.schedule->steps(shape(), static_cast<int>(stage_));
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (steps[i].is_forward) {
        add_forward(steps[i]);
      } else {
        add_backward(steps[i], completes_gradients(steps, i));
      }
    }
    add_end();
  }
  return std::move(program_);
}

void TrainingStep::make_pairs() {
  const std::int64_t p = job_.layout.pipeline;
  if (p == 1) return;
  const auto messages = static_cast<std::size_t>(micro_batches_ * job_.layout.virtual_stages);
  Call message;
  message.bytes = Bytes(rows_.bytes.local);
  message.type = job_.type();
  const std::int64_t wraps = job_.layout.virtual_stages > 1 ? 1 : 0;
  for (std::int64_t s = 0; s < p - 1 + wraps; ++s) {
    forward_pairs_.emplace_back(program_, fold_, s, (s + 1) % p, message, messages);
  }
  for (std::int64_t s = 0; s < p - 1 + wraps; ++s) {
    backward_pairs_.emplace_back(program_, fold_, (s + 1) % p, s, message, messages);
  }
  if (job_.model.has_tied_embeddings) {
    std::vector<Fold::Communicator> ends = fold_.between(0, p - 1);
    tied_.emplace(program_, fold_, std::move(ends));
  }
}

void TrainingStep::make_templates() {
  std::map<std::tuple<std::int64_t, bool, bool>, std::shared_ptr<const Templates>> known;
  for (const Chunk& chunk : chunks_) {
    auto& made = known[{chunk.layers, chunk.has_embedding, chunk.has_head}];
    if (!made) {
      made = std::make_shared<Templates>(
          Templates{rows_.forward(program_, chunk), rows_.backward(program_, chunk), gradient_buckets(job_, chunk)});
    }
    templates_.push_back(made);
  }
}

void TrainingStep::begin_role(RoleId id) {
  const Fold::Role& folded = fold_.roles()[id];
  stage_ = folded.stage;
  const std::int64_t parameters = stage_parameters(job_, chunks_, stage_);
  const std::int64_t gradients = job_.training.zero > 1 && shares_data() ? shard(parameters) : parameters;

  Role role;
  role.name = folded.name;
  role.ranks = folded.ranks;
  role.launch = job_.launch;
  for (const auto& straggler : job_.stragglers) {
    if (role.device_count() == 1 && role.ranks[0].base == straggler.device) role.slow_down = straggler.slow_down;
  }
  const auto part = [&](MemoryPart which) -> std::int64_t& {
    return role.resident_bytes[static_cast<std::size_t>(which)];
  };
  part(MemoryPart::weights) = (cuts_weights() ? shard(parameters) : parameters) * bits(job_.type()) / 8;
  if (cuts_weights()) {
    // Gathered: the unit at work and the one after it.
    std::int64_t largest = 0;
    for (int c = 0; c < static_cast<int>(job_.layout.virtual_stages); ++c) {
      for (const auto unit : unit_parameters(job_, chunk(c))) largest = std::max(largest, unit);
    }
    part(MemoryPart::buffers) = 2 * largest * bits(job_.type()) / 8;
  }
  part(MemoryPart::gradients) = gradients * bits(job_.gradient_type()) / 8;
  part(MemoryPart::optimizer) = shard(parameters) * job_.optimizer_bytes_a_parameter();
  role_ = program_.add_role(std::move(role));
  for (std::size_t lane = 0; lane < lane_count; ++lane) {
    streams_[lane] = program_.add_stream({role_, lanes[lane].second, lanes[lane].first});
  }
  last_compute_.reset();
  last_data_.reset();
  gathered_.assign(static_cast<std::size_t>(job_.layout.virtual_stages), {});
  holds_gradients_.assign(static_cast<std::size_t>(job_.layout.virtual_stages), false);
  loss_.assign(static_cast<std::size_t>(micro_batches_), none);
  calls_.clear();
}

// ---- Rows -------------------------------------------------------------------------------------------------------

RowId TrainingStep::compute(const char* name, const Kernel& kernel, Cause cause, Phase phase,
                            std::span<const RowId> after, std::span<const MemoryDelta> memory) {
  Operation operation;
  operation.stream = streams_[static_cast<std::size_t>(Lane::compute)];
  operation.cause = cause;
  operation.phase = phase;
  operation.name = program_.add_name(name);
  operation.kernel = program_.add_kernel(kernel);
  last_compute_ = program_.add(operation, after, memory);
  return *last_compute_;
}

RowId TrainingStep::collective(GroupMeetings& meetings, Lane lane, const Call& call, Operation operation,
                               std::span<const RowId> after, std::span<const MemoryDelta> memory) {
  operation.kind = OperationKind::collective;
  operation.stream = streams_[static_cast<std::size_t>(lane)];
  operation.meeting = meetings.next(role_, meetings.call(role_, call));
  return program_.add(operation, after, memory);
}

void TrainingStep::replay(const StepTemplate& from, StepTemplate::Row begin, StepTemplate::Row end,
                          const ScheduleStep& step, std::span<const Wait> waits,
                          std::span<const MemoryDelta> at_first) {
  auto known = std::find_if(calls_.begin(), calls_.end(), [&](const auto& entry) { return entry.first == &from; });
  if (known == calls_.end()) {
    std::vector<CallId> ids;
    for (const auto& call : from.calls)
      ids.push_back(group_of(call.lane).call(role_, {call.kind, call.bytes, call.type}));
    known = calls_.insert(known, {&from, std::move(ids)});
  }
  const auto first_layer = static_cast<std::int32_t>(chunk(step.chunk).first_layer);
  const auto base = static_cast<RowId>(program_.size()) - begin;  // rows of this range only name each other
  for (StepTemplate::Row row = begin; row < end; ++row) {
    const auto& entry = from.rows[row];
    Operation operation = entry.operation;
    operation.stream = streams_[static_cast<std::size_t>(entry.lane)];
    operation.micro_batch = step.micro_batch;
    if (operation.layer >= 0) operation.layer += first_layer;
    dependencies_.clear();
    for (auto d = entry.dependency_begin; d < entry.dependency_end; ++d) {
      WARPLOOM_CHECK(from.dependencies[d] >= begin, "a unit that depends on another");
      dependencies_.push_back(base + from.dependencies[d]);
    }
    for (; !waits.empty() && waits.front().first == row; waits = waits.subspan(1))
      dependencies_.push_back(waits.front().second);
    if (entry.lane == Lane::tensor || entry.lane == Lane::context) {
      operation.meeting = group_of(entry.lane).next(role_, known->second[entry.call]);
      // A library call is queued behind all kernels launched before it.
      if (entry.dependency_begin == entry.dependency_end && last_compute_) dependencies_.push_back(*last_compute_);
    }
    std::span<const MemoryDelta> memory =
        std::span(from.memory).subspan(entry.memory_begin, entry.memory_end - entry.memory_begin);
    if (row == begin && !at_first.empty()) {
      memory_.assign(memory.begin(), memory.end());
      memory_.insert(memory_.end(), at_first.begin(), at_first.end());
      memory = memory_;
    }
    const RowId added = program_.add(operation, dependencies_, memory);
    if (entry.lane == Lane::compute) last_compute_ = added;
    last_replayed_ = added;
  }
}

// FSDP: a unit's weights are gathered while the unit before it works; its gradient is reduced behind the gather of the
// next, on the same communicator.
void TrainingStep::replay_gathered(const StepTemplate& from, const ScheduleStep& step, std::vector<Wait> waits) {
  const Phase phase = step.is_forward ? Phase::forward : Phase::backward;
  const auto parameters = unit_parameters(job_, chunk(step.chunk));
  const std::size_t count = parameters.size();
  const auto unit_at = [&](std::size_t u) {
    const std::size_t index = step.is_forward ? u : count - 1 - u;
    return GradientBucket{parameters[index], index, index};
  };
  RowId gathered = gather_parameters(unit_at(0), phase, last_compute_);
  for (std::size_t u = 0; u < count; ++u) {
    const RowId here = gathered;
    if (u + 1 < count) gathered = gather_parameters(unit_at(u + 1), phase, last_compute_);
    waits.emplace_back(from.units[u].begin, here);
    const MemoryDelta taken{MemoryPart::gradients, false, unit_at(u).parameters * bits(job_.gradient_type()) / 8};
    const auto at_first = step.is_forward ? std::span<const MemoryDelta>() : std::span(&taken, 1);
    replay(from, from.units[u].begin, from.units[u].end, step, waits, at_first);
    if (!step.is_forward) reduce_gradients(unit_at(u), Phase::backward);
    waits.clear();
  }
}

RowId TrainingStep::receive(Lane lane, PairMeetings& pair, std::size_t message, const ScheduleStep& step,
                            MemoryPart part) {
  Operation operation;
  operation.kind = OperationKind::recv;
  operation.stream = streams_[static_cast<std::size_t>(lane)];
  operation.cause = Cause::exposed_pp;
  operation.phase = step.is_forward ? Phase::forward : Phase::backward;
  operation.name = program_.add_name(step.is_forward ? "receive_activation" : "receive_gradient");
  operation.meeting = pair.of(role_, message);
  operation.micro_batch = step.micro_batch;
  const MemoryDelta taken{part, false, rows_.bytes.local};
  return program_.add(operation, {}, std::span(&taken, 1));
}

void TrainingStep::send(Lane lane, PairMeetings& pair, std::size_t message, const ScheduleStep& step, MemoryPart part) {
  Operation operation;
  operation.kind = OperationKind::send;
  operation.stream = streams_[static_cast<std::size_t>(lane)];
  operation.cause = Cause::exposed_pp;
  operation.phase = step.is_forward ? Phase::forward : Phase::backward;
  operation.name = program_.add_name(step.is_forward ? "send_activation" : "send_gradient");
  operation.meeting = pair.of(role_, message);
  operation.micro_batch = step.micro_batch;
  const MemoryDelta given{part, true, -rows_.bytes.local};
  program_.add(operation, std::span(&last_replayed_, 1), std::span(&given, 1));
}

// ---- The parts of a step ----------------------------------------------------------------------------------------

void TrainingStep::add_start() {
  const TrainingSpec& training = job_.training;
  if (training.iteration_overhead > Time::zero()) {
    Operation operation;
    operation.kind = OperationKind::host;
    operation.stream = streams_[static_cast<std::size_t>(Lane::host)];
    operation.cause = Cause::data;
    operation.name = program_.add_name("iteration_overhead");
    operation.duration = training.iteration_overhead;
    program_.add(operation);
  }
  const std::int64_t parameters = stage_parameters(job_, chunks_, stage_);
  const std::int64_t element = bits(job_.gradient_type()) / 8;
  compute("zero_gradients",
          element_wise({.elements = parameters, .bytes_read = 0, .bytes_written = element, .flops = 0}),
          Cause::optimizer, Phase::optimizer);
  if (training.types.product != ProductType::compute) {
    // Converted once a step, with a transposed copy: micro-batches after the first find them.
    std::int64_t matrices = 0;
    for (int c = 0; c < static_cast<int>(job_.layout.virtual_stages); ++c) {
      matrices += chunk(c).layers * job_.model.layer_parameters_a_rank(job_.layout.tensor);
    }
    compute("weights_quantise",
            element_wise({.elements = matrices, .bytes_read = bits(job_.type()) / 8, .bytes_written = 2, .flops = 2}),
            Cause::other_compute, Phase::forward);
  }
  if (training.zero == 0 || cuts_weights() || !shares_data() || !training.overlap_parameter_gather) return;
  for (int c = 0; c < static_cast<int>(job_.layout.virtual_stages); ++c) {
    const auto& buckets = templates(c).buckets;
    auto& gathered = gathered_[static_cast<std::size_t>(c)];
    gathered.assign(buckets.size(), none);
    // In the order in which the forward pass needs them.
    for (std::size_t b = buckets.size(); b-- > 0;)
      gathered[b] = gather_parameters(buckets[b], Phase::forward, std::nullopt);
  }
}

void TrainingStep::add_forward(const ScheduleStep& step) {
  const Chunk& here = chunk(step.chunk);
  const Templates& made = templates(step.chunk);
  const std::int64_t p = job_.layout.pipeline;
  std::vector<Wait> waits;
  if (!here.has_embedding) {
    const std::int64_t sender = (stage_ + p - 1) % p;
    const std::int64_t sent_chunk = stage_ > 0 ? step.chunk : step.chunk - 1;
    waits.emplace_back(0, receive(Lane::recv_forward, forward_pairs_[static_cast<std::size_t>(sender)],
                                  message(step.micro_batch, sent_chunk), step, MemoryPart::activations));
  }
  auto& gathered = gathered_[static_cast<std::size_t>(step.chunk)];
  for (std::size_t b = gathered.size(); b-- > 0;) {
    waits.emplace_back(made.forward.units[made.buckets[b].first_unit].begin, gathered[b]);
  }
  gathered.clear();
  if (cuts_weights()) {
    replay_gathered(made.forward, step, std::move(waits));
  } else {
    replay(made.forward, 0, static_cast<StepTemplate::Row>(made.forward.rows.size()), step, waits);
  }
  if (here.has_head) {
    loss_[static_cast<std::size_t>(step.micro_batch)] = last_replayed_;
  } else {
    send(Lane::send_forward, forward_pairs_[static_cast<std::size_t>(stage_)], message(step.micro_batch, step.chunk),
         step, MemoryPart::activations);
  }
}

// Whether the chunk's gradients are reduced after this backward. With cut gradients (zero 2) a stage has room for whole
// gradients of the chunk at work only: they are reduced, and added to the rank's part, whenever the schedule turns to
// another chunk. Otherwise once a step, after the last micro-batch.
bool TrainingStep::completes_gradients(std::span<const ScheduleStep> steps, std::size_t index) const {
  const bool reduces_early = job_.training.zero > 1 && job_.training.overlap_gradient_reduce;
  for (std::size_t i = index + 1; i < steps.size(); ++i) {
    if (steps[i].is_forward) continue;
    if (steps[i].chunk == steps[index].chunk) return false;
    if (reduces_early) return true;
  }
  return true;
}

void TrainingStep::add_backward(const ScheduleStep& step, bool completes_gradients) {
  const Chunk& here = chunk(step.chunk);
  const Templates& made = templates(step.chunk);
  const std::int64_t p = job_.layout.pipeline;
  std::vector<Wait> waits;
  if (here.has_head) {
    waits.emplace_back(0, loss_[static_cast<std::size_t>(step.micro_batch)]);
  } else {
    const std::int64_t sent_chunk = stage_ + 1 < p ? step.chunk : step.chunk + 1;
    waits.emplace_back(0, receive(Lane::recv_backward, backward_pairs_[static_cast<std::size_t>(stage_)],
                                  message(step.micro_batch, sent_chunk), step, MemoryPart::buffers));
  }
  if (cuts_weights()) {
    replay_gathered(made.backward, step, std::move(waits));
    if (!here.has_embedding) send_gradient(step);
    return;
  }
  auto holds_gradients = holds_gradients_[static_cast<std::size_t>(step.chunk)];
  std::vector<MemoryDelta> taken;
  if (job_.training.zero > 1 && shares_data() && !holds_gradients) {
    taken.push_back({MemoryPart::gradients, false, units_of(job_, here).total() * bits(job_.gradient_type()) / 8});
  }
  holds_gradients = !completes_gradients;
  StepTemplate::Row begin = 0;
  if (completes_gradients && job_.training.overlap_gradient_reduce && shares_data()) {
    // Units of the backward come from the last to the first.
    const std::size_t units = made.backward.units.size();
    for (const auto& bucket : made.buckets) {
      const StepTemplate::Row end = made.backward.units[units - 1 - bucket.first_unit].end;
      replay(made.backward, begin, end, step, waits, taken);
      reduce_gradients(bucket, Phase::backward);
      waits.clear();
      taken.clear();
      begin = end;
    }
  }
  replay(made.backward, begin, static_cast<StepTemplate::Row>(made.backward.rows.size()), step, waits, taken);
  if (!here.has_embedding) send_gradient(step);
}

void TrainingStep::send_gradient(const ScheduleStep& step) {
  const std::int64_t p = job_.layout.pipeline;
  send(Lane::send_backward, backward_pairs_[static_cast<std::size_t>((stage_ + p - 1) % p)],
       message(step.micro_batch, step.chunk), step, MemoryPart::buffers);
}

Program build_training_step(const TrainingJob& job) { return TrainingStep(job).build(); }

}  // namespace warploom
