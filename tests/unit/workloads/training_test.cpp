// SPDX-License-Identifier: Apache-2.0
// The training step as a program: its FLOPs, bytes moved and bytes kept are those of the formulas.
#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <tuple>

#include "sim/play/report.hpp"
#include "tests/support/training_jobs.hpp"
#include "tests/support/training_programs.hpp"
#include "workloads/memory_formulas.hpp"
#include "workloads/models/hugging_face.hpp"

namespace warploom {
namespace {

using namespace warploom::literals;
using testing::gemm_flops;
using testing::job_of;
using testing::kept_a_layer;
using testing::small_gpt;
using testing::small_llama;

// Rows of one role by name of the call's kind and cause: how many, and how many bytes in all.
struct Traffic {
  int rows = 0;
  std::int64_t bytes = 0;
};
std::map<std::pair<CollectiveKind, Cause>, Traffic> traffic_of(const Program& program, RoleId role) {
  std::map<std::pair<CollectiveKind, Cause>, Traffic> traffic;
  for (RowId row = 0; row < program.size(); ++row) {
    if (program.role_of(row) != role || program.meeting[row] == none) continue;
    const Call& call = program.calls[program.meetings[program.meeting[row]].call];
    auto& sum = traffic[{call.kind, program.cause[row]}];
    ++sum.rows;
    sum.bytes += call.bytes.count();
  }
  return traffic;
}

// Many kinds of step: (recompute, zero, sequence parallel, overlap).
std::vector<TrainingJob> many_jobs() {
  std::vector<TrainingJob> jobs;
  for (const auto& shape : {testing::JobShape{1, 1, 1, 1, 2},
                            {2, 1, 1, 1, 2},
                            {1, 1, 4, 1, 2},
                            {2, 2, 2, 1, 3},
                            {2, 2, 2, 2, 4},
                            {1, 4, 1, 1, 8}}) {
    for (const auto recompute : {Recompute::none, Recompute::selective, Recompute::full}) {
      for (const int zero : {0, 1, 2}) {
        for (const bool option : {false, true}) {
          for (const auto& model : {small_gpt(), small_llama()}) {
            TrainingJob job = job_of(model, shape);
            job.model.has_tied_embeddings = option;
            job.training.recompute = recompute;
            job.training.zero = zero;
            job.layout.sequence_parallel = option;
            job.training.overlap_gradient_reduce = option;
            job.training.overlap_parameter_gather = option;
            job.training.types.gradient_reduce = option ? TrainingType::bf16 : TrainingType::fp32;
            jobs.push_back(job);
          }
        }
      }
    }
  }
  return jobs;
}

std::string text(const TrainingJob& job) {
  return enum_name(job.training.recompute) + " zero " + std::to_string(job.training.zero) + " t" +
         std::to_string(job.layout.tensor) + " p" + std::to_string(job.layout.pipeline) + " d" +
         std::to_string(job.data()) + (job.layout.sequence_parallel ? " sp" : "") +
         (job.model.is_gated ? " llama" : " gpt");
}

// ---- FLOPs --------------------------------------------------------------------------------------------------------

TEST(Training, MultipliesEveryMatrixParameterSixTimesAToken) {
  for (const auto& job : many_jobs()) {
    const Model& model = job.model;
    const auto matrices = static_cast<double>(model.layers * (model.hidden * (model.qkv_width() + model.query_width()) +
                                                              model.hidden * (model.first_mlp_width() + model.ffn)) +
                                              model.vocab * model.hidden);
    const auto tokens = static_cast<double>(job.training.global_batch * job.training.sequence_length);
    EXPECT_DOUBLE_EQ(gemm_flops(build_training_step(job), false), 6 * matrices * tokens) << text(job);
  }
}

TEST(Training, RecomputesALayersForwardProductsInFullMode) {
  TrainingJob job = job_of(small_llama(), {2, 2, 2, 1, 4});
  EXPECT_EQ(gemm_flops(build_training_step(job), true), 0);
  job.training.recompute = Recompute::selective;
  EXPECT_EQ(gemm_flops(build_training_step(job), true), 0);
  job.training.recompute = Recompute::full;
  const Program program = build_training_step(job);
  const double head = 6 * static_cast<double>(job.model.vocab * job.model.hidden) * program.worth.tokens;
  EXPECT_DOUBLE_EQ(gemm_flops(program, true), (gemm_flops(program, false) - head) / 3);
}

TEST(Training, CountsModelFlopsAsTheConventionSays) {
  TrainingJob job = job_of(small_llama(), {1, 1, 1, 1, 1});
  job.model = read_hugging_face(std::string(WARPLOOM_SOURCE_DIR) + "/configs/models/llama3_405b.json");
  job.training.sequence_length = 8192;
  job.training.global_batch = 2048;
  const auto flops_a_token = [&](FlopConvention convention) {
    job.training.flop_convention = convention;
    const Worth worth = worth_of(job);
    EXPECT_EQ(worth.tokens, 2048.0 * 8192);
    return worth.model_flops.value() / worth.tokens;
  };
  // 6 x (405.85e9 - 2.10e9), and 6 or 12 x 126 layers x 8,192 x 16,384.
  EXPECT_NEAR(flops_a_token(FlopConvention::parameters), 6 * (405.85e9 - 128256.0 * 16384), 0.02e12);
  EXPECT_NEAR(flops_a_token(FlopConvention::attention_causal) - flops_a_token(FlopConvention::parameters),
              6.0 * 126 * 8192 * 16384, 1e6);
  EXPECT_NEAR(flops_a_token(FlopConvention::attention_full) - flops_a_token(FlopConvention::parameters),
              12.0 * 126 * 8192 * 16384, 1e6);
  // Published: 400 TFLOP/s on 16,384 devices is then a step of 6.46 s.
  EXPECT_NEAR(flops_a_token(FlopConvention::attention_causal) * 16777216 / (16384 * 400e12), 6.46, 0.005);
  EXPECT_EQ(worth_of(job).hardware_flops, worth_of(job).model_flops);
}

TEST(Training, CountsTheForwardAgainAsHardwareFlopsInFullRecomputation) {
  TrainingJob job = job_of(small_gpt(), {1, 1, 1, 1, 1});
  job.training.recompute = Recompute::full;
  const Worth worth = worth_of(job);
  const auto head = static_cast<double>(job.model.vocab * job.model.hidden);
  const double layers =
      worth.model_flops.value() - 6 * worth.tokens * (head + static_cast<double>(job.model.norm_parameters()));
  EXPECT_NEAR(worth.hardware_flops / worth.model_flops, 1 + layers / 3 / worth.model_flops.value(), 1e-9);
}

// ---- Communication ------------------------------------------------------------------------------------------------

TEST(Training, AllReducesFourTimesALayerAndMicroBatchWithoutSequenceParallelism) {
  TrainingJob job = job_of(small_llama(4), {2, 4, 1, 1, 4});
  job.layout.sequence_parallel = false;
  const std::int64_t bsh = job.tokens_a_micro_batch() * job.model.hidden * 2;
  const auto count = [&] {
    return traffic_of(build_training_step(job), 1)[{CollectiveKind::all_reduce, Cause::exposed_tp}];
  };
  EXPECT_EQ(count().rows, 4 * 4);  // stage 1: one layer, 4 micro-batches
  EXPECT_EQ(count().bytes, 4 * 4 * bsh);
  job.training.recompute = Recompute::full;
  EXPECT_EQ(count().rows, 6 * 4);
}

TEST(Training, GathersAndScattersTheSameBytesWithSequenceParallelismAndGathersInputsAgain) {
  const TrainingJob job = job_of(small_llama(4), {2, 4, 1, 1, 4});
  const std::int64_t bsh = job.tokens_a_micro_batch() * job.model.hidden * 2;
  auto traffic = traffic_of(build_training_step(job), 1);
  EXPECT_EQ((traffic[{CollectiveKind::reduce_scatter, Cause::exposed_tp}].bytes), 4 * 4 * bsh);
  // Two forward, two gradients and two inputs again backward.
  EXPECT_EQ((traffic[{CollectiveKind::all_gather, Cause::exposed_tp}].bytes), 4 * 6 * bsh);
}

TEST(Training, SendsEveryMicroBatchAcrossEveryChunkBoundaryOnceEachWay) {
  for (const std::int64_t v : {1, 2}) {
    const TrainingJob job = job_of(small_llama(8), {2, 4, 1, v, 8});
    const Program program = build_training_step(job);
    int sends = 0;
    int receives = 0;
    for (RowId row = 0; row < program.size(); ++row) {
      sends += program.kind[row] == OperationKind::send ? 1 : 0;
      receives += program.kind[row] == OperationKind::recv ? 1 : 0;
      if (program.kind[row] != OperationKind::send) continue;
      const Call& call = program.calls[program.meetings[program.meeting[row]].call];
      EXPECT_EQ(call.bytes.count(), job.tokens_a_micro_batch() * job.model.hidden * 2 / 2);  // cut over 2 tensor ranks
    }
    EXPECT_EQ(sends, 2 * 8 * (4 * v - 1));
    EXPECT_EQ(receives, sends);
  }
}

TEST(Training, ReducesEveryGradientAndGathersEveryParameterOnce) {
  for (const bool overlaps : {false, true}) {
    for (const std::int64_t bucket : {std::int64_t{1}, std::int64_t{3'000'000}, std::int64_t{1'000'000'000}}) {
      TrainingJob job = job_of(small_llama(4), {1, 2, 4, 2, 4});
      job.training.bucket_parameters = bucket;
      job.training.overlap_gradient_reduce = job.training.overlap_parameter_gather = overlaps;
      for (RoleId stage = 0; stage < 2; ++stage) {
        const std::int64_t parameters = stage_parameters(job, chunks_of(job.layout, job.model), stage);
        auto traffic = traffic_of(build_training_step(job), stage);
        EXPECT_EQ((traffic[{CollectiveKind::reduce_scatter, Cause::exposed_dp}].bytes), 4 * parameters);
        EXPECT_EQ((traffic[{CollectiveKind::all_gather, Cause::exposed_dp}].bytes), 2 * parameters);
      }
      job.training.zero = 0;
      auto traffic = traffic_of(build_training_step(job), 0);
      EXPECT_EQ((traffic[{CollectiveKind::all_reduce, Cause::exposed_dp}].bytes),
                4 * stage_parameters(job, chunks_of(job.layout, job.model), 0));
      EXPECT_EQ((traffic.count({CollectiveKind::all_gather, Cause::exposed_dp})), 0U);
    }
  }
}

TEST(Training, ReducesABucketBesideTheBackwardOfTheLayersBeforeIt) {
  TrainingJob job = job_of(small_llama(4), {1, 1, 4, 1, 2});
  const auto ends = [&] {
    const Program program = build_training_step(job);
    const Timeline timeline = play(program, testing::size_machine());
    Time first_reduce = Time::max();
    Time last_backward = Time::zero();
    for (RowId row = 0; row < program.size(); ++row) {
      if (program.names[program.row_name[row]] == "gradient_reduce")
        first_reduce = std::min(first_reduce, timeline.begin[row]);
      if (program.names[program.row_name[row]] == "embedding_backward") last_backward = timeline.end[row];
    }
    return std::pair(first_reduce, last_backward);
  };
  EXPECT_LT(ends().first, ends().second);
  job.training.overlap_gradient_reduce = false;
  EXPECT_GE(ends().first, ends().second);
}

// ---- Memory -------------------------------------------------------------------------------------------------------

TEST(Training, GivesBackAllThatItTakes) {
  for (const auto& job : many_jobs()) {
    const Program program = build_training_step(job);
    std::map<std::pair<RoleId, MemoryPart>, std::int64_t> held;
    for (RowId row = 0; row < program.size(); ++row) {
      for (const bool at_end : {false, true}) {
        for (const auto& delta : program.memory_deltas(row)) {
          if (delta.at_end != at_end) continue;
          auto& now = held[{program.role_of(row), delta.part}];
          now += delta.bytes;
          ASSERT_GE(now, 0) << text(job) << " " << program.names[program.row_name[row]];
        }
      }
    }
    for (const auto& [place, bytes] : held) {
      EXPECT_EQ(bytes, 0) << text(job) << " role " << place.first << " "
                          << memory_part_names[static_cast<std::size_t>(place.second)];
    }
  }
}

// A8 without its attention scores (flash attention keeps 4 bytes a query and head instead).
TEST(Training, KeepsThePublishedActivationsALayer) {
  TrainingJob job = job_of(small_gpt(), {1, 1, 1, 1, 1});
  LayerShape shape{.sequence = 256, .micro_batch = 2, .hidden = 512, .heads = 8};
  const auto kept = [&] { return static_cast<double>(kept_a_layer(job)); };
  const double log_sum_exp = 4.0 * 2 * 8 * 256;
  EXPECT_EQ(kept(), layer_activation_bytes(shape, ActivationMode::selective) + log_sum_exp);
  job.layout.tensor = 4;
  shape.tensor = 4;
  job.layout.sequence_parallel = false;
  EXPECT_EQ(kept(), layer_activation_bytes(shape, ActivationMode::selective) + log_sum_exp / 4);
  job.layout.sequence_parallel = shape.sequence_parallel = true;
  EXPECT_EQ(kept(), layer_activation_bytes(shape, ActivationMode::selective) + log_sum_exp / 4);
  job.training.recompute = Recompute::full;
  EXPECT_EQ(kept(), layer_activation_bytes(shape, ActivationMode::full));
  job.layout.sequence_parallel = shape.sequence_parallel = false;
  EXPECT_EQ(kept(), layer_activation_bytes(shape, ActivationMode::full));
}

// Megatron's sum for gated models: s b h (18 + 4 ffn/h) with dropout masks and one KV head a head; ours has the second
// half of the first MLP product too, and no masks.
TEST(Training, KeepsWhatAGatedGroupedQueryLayerSaves) {
  TrainingJob job = job_of(small_llama(), {1, 1, 1, 1, 1});
  const std::int64_t tokens = 2 * 256;
  const std::int64_t expected =
      tokens * (2 * (512 + 512 + 512 + 512) + 2 * (512 + 2 * 256) + 2 * 512 + 4 * 8 + 2 * (2 * 1536 + 1536));
  EXPECT_EQ(kept_a_layer(job), expected);
  job.training.recompute = Recompute::selective;
  EXPECT_EQ(kept_a_layer(job), expected - tokens * 2 * (512 + 512 + 1536));
}

MemoryReport memory_of_stage_0(const TrainingJob& job) {
  const Program program = build_training_step(job);
  const Machine machine = testing::size_machine();
  return make_report(program, machine, play(program, machine)).memory.front();
}

TEST(Training, FirstStagesPeakFollowsVirtualStagesAndMicroBatches) {
  const auto activations = [](std::int64_t v, int m) {
    TrainingJob job = job_of(small_gpt(64), {1, 4, 1, v, m});
    return static_cast<double>(memory_of_stage_0(job).parts[static_cast<std::size_t>(MemoryPart::activations)]);
  };
  const double layer = static_cast<double>(kept_a_layer(job_of(small_gpt(), {1, 1, 1, 1, 1})));
  const double stage = 16 * layer;
  // Embedding outputs beside the layers; at the peak a last layer may be half undone.
  const double slack = 1.5 * layer;
  EXPECT_NEAR(activations(1, 1), stage, slack);
  EXPECT_NEAR(activations(1, 2), 2 * stage, slack);
  EXPECT_NEAR(activations(1, 4), 4 * stage, slack);
  EXPECT_NEAR(activations(1, 16), 4 * stage, slack);  // min(p, m) in flight
  EXPECT_NEAR(activations(2, 16), 4 * stage * interleaved_activation_factor(4, 2), slack);
  EXPECT_NEAR(activations(4, 16), 4 * stage * interleaved_activation_factor(4, 4), slack);
  EXPECT_NEAR(activations(8, 16), 4 * stage * interleaved_activation_factor(4, 8), slack);
}

TEST(Training, HoldsStateAsZeroSays) {
  TrainingJob job = job_of(small_llama(4), {1, 1, 4, 1, 1});
  const auto parameters = static_cast<double>(job.model.parameters());
  for (const int zero : {0, 1, 2}) {
    job.training.zero = zero;
    job.training.types.gradient = job.training.types.gradient_reduce = TrainingType::bf16;
    const Program program = build_training_step(job);
    const auto& resident = program.roles[0].resident_bytes;
    const double bytes = static_cast<double>(std::accumulate(resident.begin(), resident.end(), std::int64_t{0}));
    EXPECT_NEAR(bytes / parameters, zero_bytes_a_parameter(zero, 4), 1e-5) << zero;
  }
  // Megatron-LM: 6 + 12/d bytes with FP32 gradients in a distributed optimizer.
  job.training.zero = 1;
  job.training.types.gradient = job.training.types.gradient_reduce = TrainingType::fp32;
  const Program program = build_training_step(job);
  const auto& resident = program.roles[0].resident_bytes;
  EXPECT_NEAR(static_cast<double>(std::accumulate(resident.begin(), resident.end(), std::int64_t{0})) / parameters,
              6 + 12.0 / 4, 1e-5);
}

TEST(Training, FreesGradientsAsTheyAreReducedInZeroTwo) {
  TrainingJob job = job_of(small_llama(8), {1, 2, 4, 4, 2});
  job.training.zero = 1;
  const std::int64_t whole = memory_of_stage_0(job).peak_bytes;
  job.training.zero = 2;
  EXPECT_LT(memory_of_stage_0(job).peak_bytes, whole);
}

// ---- Playing ------------------------------------------------------------------------------------------------------

TEST(Training, PlaysToItsEndInEveryMode) {
  for (const auto& job : many_jobs()) {
    const Program program = build_training_step(job);
    const Machine machine = testing::size_machine();
    const Timeline timeline = play(program, machine);
    EXPECT_GT(timeline.makespan, Time::zero()) << text(job);
    // The oldest claim of all: what is recomputed, done and undone adds up.
    const Report report = make_report(program, machine, timeline);
    double sum = 0;
    for (const double seconds : report.seconds) sum += seconds;
    EXPECT_NEAR(sum, report.step_time.seconds(), 1e-9 * sum + 1e-12) << text(job);
  }
}

TEST(Training, FoldedIsUnfoldedToThePicosecond) {
  for (auto job : many_jobs()) {
    const Time folded = play(build_training_step(job), testing::size_machine()).makespan;
    job.unfold = true;
    EXPECT_EQ(play(build_training_step(job), testing::size_machine()).makespan, folded) << text(job);
  }
}

TEST(Training, FoldedIsUnfoldedToThePicosecondWithStragglers) {
  for (const auto& order :
       {Layout{}.order, {Dimension::data, Dimension::pipeline, Dimension::context, Dimension::tensor}}) {
    for (const auto& devices : {std::vector<Rank>{0}, {13}, {13, 14}, {3, 22}}) {
      TrainingJob job = job_of(small_llama(8), {2, 4, 3, 2, 4});
      job.layout.order = order;
      const Time healthy = play(build_training_step(job), testing::size_machine()).makespan;
      for (const Rank device : devices) job.stragglers.push_back({device, 1.2});
      const Program program = build_training_step(job);
      EXPECT_LT(program.roles.size(), 24U * devices.size());
      const Time folded = play(program, testing::size_machine()).makespan;
      job.unfold = true;
      EXPECT_EQ(play(build_training_step(job), testing::size_machine()).makespan, folded);
      EXPECT_GT(folded, healthy);
    }
  }
}

TEST(Training, WaitsForTheHostBeforeTheOptimizerAndForDataBeforeTheStep) {
  TrainingJob job = job_of(small_llama(4), {1, 1, 2, 1, 1});
  const Time plain = play(build_training_step(job), testing::size_machine()).makespan;
  job.training.iteration_overhead = 3_us;
  job.training.synchronisation = 5_us;
  EXPECT_EQ(play(build_training_step(job), testing::size_machine()).makespan, plain + 8_us);
}

}  // namespace
}  // namespace warploom
