// SPDX-License-Identifier: Apache-2.0
// The maker of a training step's program: what its parts share while the rows of one role after the other are written.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "workloads/fold.hpp"
#include "workloads/training/gradient_buckets.hpp"
#include "workloads/training/meetings.hpp"
#include "workloads/training/model_rows.hpp"
#include "workloads/training/step_template.hpp"
#include "workloads/training/training_job.hpp"

namespace warploom {

class TrainingStep {
 public:
  explicit TrainingStep(const TrainingJob& job);
  Program build();

 private:
  using Wait = std::pair<StepTemplate::Row, RowId>;  // a template row, and what it waits for besides

  ScheduleShape shape() const {
    return {static_cast<int>(job_.layout.pipeline), micro_batches_, static_cast<int>(job_.layout.virtual_stages)};
  }

  // ---- Before the rows ----

  void make_pairs();
  void make_templates();
  struct Templates {
    StepTemplate forward;
    StepTemplate backward;
    std::vector<GradientBucket> buckets;
  };
  const Chunk& chunk(int c) const { return chunks_[chunk_index(c)]; }
  const Templates& templates(int c) const { return *templates_[chunk_index(c)]; }
  std::size_t chunk_index(int c) const { return static_cast<std::size_t>(c * job_.layout.pipeline + stage_); }

  // ---- The rows of one role ----

  void begin_role(RoleId role);
  void add_start();
  void add_forward(const ScheduleStep& step);
  void add_backward(const ScheduleStep& step, bool completes_gradients);
  bool completes_gradients(std::span<const ScheduleStep> steps, std::size_t index) const;
  void add_end();

  // Replays rows [begin, end) of a template; `waits` in the order of their rows.
  void replay(const StepTemplate& from, StepTemplate::Row begin, StepTemplate::Row end, const ScheduleStep& step,
              std::span<const Wait> waits, std::span<const MemoryDelta> at_first = {});
  // The same for all its units with cut weights: each waits for its weights, and backward its gradient is reduced.
  void replay_gathered(const StepTemplate& from, const ScheduleStep& step, std::vector<Wait> waits);
  RowId receive(Lane lane, PairMeetings& pair, std::size_t message, const ScheduleStep& step, MemoryPart part);
  void send(Lane lane, PairMeetings& pair, std::size_t message, const ScheduleStep& step, MemoryPart part);
  void send_gradient(const ScheduleStep& step);
  std::size_t message(int micro_batch, std::int64_t chunk) const {
    return static_cast<std::size_t>(micro_batch * job_.layout.virtual_stages + chunk);
  }

  void reduce_gradients(const GradientBucket& bucket, Phase phase);
  RowId gather_parameters(const GradientBucket& bucket, Phase phase, std::optional<RowId> after);
  RowId collective(GroupMeetings& meetings, Lane lane, const Call& call, Operation operation,
                   std::span<const RowId> after, std::span<const MemoryDelta> memory = {});
  RowId compute(const char* name, const Kernel& kernel, Cause cause, Phase phase, std::span<const RowId> after = {},
                std::span<const MemoryDelta> memory = {});
  std::optional<RowId> add_small_gradients();
  void add_norm_and_update(std::span<const RowId> after);

  GroupMeetings& group_of(Lane lane) { return lane == Lane::context ? context_ : tensor_; }
  bool cuts_weights() const { return job_.training.zero > 2 && shares_data(); }
  bool shares_data() const { return data_.has_members(); }
  std::int64_t shard(std::int64_t parameters) const {
    return job_.training.zero > 0 ? (parameters + job_.replicas() - 1) / job_.replicas() : parameters;
  }

  const TrainingJob& job_;
  Program program_;
  ModelRows rows_;
  std::vector<Chunk> chunks_;
  Fold fold_;
  int micro_batches_;
  GroupMeetings tensor_;
  GroupMeetings context_;
  GroupMeetings data_;
  GroupMeetings norm_;
  std::vector<PairMeetings> forward_pairs_;   // from stage s to the next; the last to the first with virtual stages
  std::vector<PairMeetings> backward_pairs_;  // to stage s from the next
  std::optional<GroupMeetings> tied_;         // first and last stage share the embedding
  std::vector<std::shared_ptr<const Templates>> templates_;  // by chunk

  // Of the role at hand.
  RoleId role_ = 0;
  std::int64_t stage_ = 0;
  std::array<StreamId, lane_count> streams_{};
  std::optional<RowId> last_compute_;
  std::optional<RowId> last_data_;
  RowId last_replayed_ = 0;
  std::vector<std::vector<RowId>> gathered_;  // by chunk and bucket, until its first forward has waited
  std::vector<bool> holds_gradients_;         // by chunk: whole ones, of micro-batches not reduced yet
  std::vector<RowId> loss_;                   // by micro-batch: the end of its forward on the last stage
  std::vector<std::pair<const StepTemplate*, std::vector<CallId>>> calls_;
  std::vector<RowId> dependencies_;  // scratch
  std::vector<MemoryDelta> memory_;  // scratch
};

}  // namespace warploom
