// SPDX-License-Identifier: Apache-2.0
// Experiments inferred from captures: what traces show, what settings fill in, what is said to be missing.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "sim/core/whole_file.hpp"
#include "workloads/captured/experiment_of.hpp"
#include "workloads/experiment.hpp"

namespace warploom {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
namespace fs = std::filesystem;

struct Widths {
  std::int64_t tokens = 2 * 512;
  std::int64_t batch = 2;
  std::int64_t hidden = 1024;
  std::int64_t heads = 4;  // of the rank
  std::int64_t kv_heads = 2;
  std::int64_t head_dim = 128;
  std::int64_t ffn = 1536;  // of the rank
  std::int64_t vocabulary = 16'000;
  int layers = 6;
  int micro_batches = 3;
};

class Recorder {
 public:
  explicit Recorder(const Widths& widths) : w_(widths) {
    capture_.file = "rank0.json";
    capture_.rank = 0;
    capture_.world_size = 8;
    capture_.devices.push_back({0, "NVIDIA H100 80GB HBM3", 0, 132});
    capture_.threads.resize(1);
    capture_.streams.resize(1);
    capture_.groups.push_back({"3", "TENSOR_MODEL_PARALLEL_GROUP", 2, {0, 1}});
    capture_.groups.push_back({"4", "TENSOR_AND_DATA_PARALLEL_GROUP", 8, {}});
    capture_.groups.push_back({"5", "DATA_PARALLEL_GROUP", 4, {0, 2, 4, 6}});
    for (int i = 0; i < w_.micro_batches; ++i) micro_batch();
  }

  CapturedRun run() {
    CapturedRun run;
    run.matching.of_op.emplace_back(capture_.device_ops.size(), nothing);
    run.captures.push_back(std::move(capture_));
    return run;
  }

 private:
  void add(OpClass op_class, const char* name, const std::string& shapes) {
    HostOp host;
    host.name = capture_.texts.add(name);
    host.shapes = capture_.texts.add(shapes);
    host.types = capture_.texts.add(R"(["c10::BFloat16", "c10::BFloat16", "c10::BFloat16"])");
    DeviceOp op;
    op.start = static_cast<Nanoseconds>(capture_.device_ops.size()) * 100;
    op.duration = 90;
    op.op_class = op_class;
    op.name = capture_.texts.add("kernel");
    op.host_op = static_cast<std::uint32_t>(capture_.host_ops.size());
    capture_.host_ops.push_back(host);
    capture_.device_ops.push_back(op);
  }
  void product(std::int64_t k, std::int64_t n) {
    add(OpClass::gemm, "aten::mm", fmt::format("[[{}, {}], [{}, {}]]", w_.tokens, k, k, n));
  }
  void micro_batch() {
    for (int layer = 0; layer < w_.layers; ++layer) {
      product(w_.hidden, (w_.heads + 2 * w_.kv_heads) * w_.head_dim);
      const std::int64_t length = w_.tokens / w_.batch;
      add(OpClass::attention, "aten::_flash_attention_forward",
          fmt::format("[[{0}, {1}, {2}, {4}], [{0}, {1}, {3}, {4}], [{0}, {1}, {3}, {4}]]", w_.batch, length, w_.heads,
                      w_.kv_heads, w_.head_dim));
      product(w_.heads * w_.head_dim, w_.hidden);
      product(w_.hidden, 2 * w_.ffn);
      product(w_.ffn, w_.hidden);
    }
    product(w_.hidden, w_.vocabulary);
  }

  Widths w_;
  Capture capture_;
};

TEST(CapturedShape, OfADecoderIsReadOffItsProducts) {
  const Widths w;
  const CapturedShape shape = captured_shape(Recorder(w).run());
  EXPECT_EQ(shape.world, 8);
  EXPECT_EQ(shape.tensor, 2);
  EXPECT_FALSE(shape.tensor_is_guessed);
  EXPECT_EQ(shape.data, 4);
  EXPECT_EQ(shape.tokens, w.tokens);
  EXPECT_EQ(shape.micro_batch, w.batch);
  EXPECT_EQ(shape.sequence_length, w.tokens / w.batch);
  EXPECT_EQ(shape.hidden, w.hidden);
  EXPECT_EQ(shape.head_dim, w.head_dim);
  EXPECT_EQ(shape.slice_of_heads, w.heads);
  EXPECT_EQ(shape.slice_of_ffn, w.ffn);
  EXPECT_EQ(shape.slice_of_qkv, (w.heads + 2 * w.kv_heads) * w.head_dim);
  EXPECT_EQ(shape.slice_of_vocabulary, w.vocabulary);
  EXPECT_EQ(shape.is_gated, true);
  EXPECT_EQ(shape.stage_layers, w.layers);
  EXPECT_EQ(shape.micro_batches, w.micro_batches);
  EXPECT_EQ(shape.compute, TrainingType::bf16);
}

struct Loaded {
  std::string yaml;
  Experiment experiment;
};

Loaded loaded(const CapturedRun& run, const RunSettings& settings, const std::string& name) {
  const InferredExperiment inferred = experiment_of(run, settings, name + ".model.json");
  EXPECT_THAT(inferred.missing, IsEmpty());
  const fs::path folder = fs::path(testing::TempDir());
  write_whole_files({{(folder / (name + ".yaml")).string(), inferred.yaml},
                     {(folder / (name + ".model.json")).string(), inferred.model}});
  return {inferred.yaml, Experiment::load((folder / (name + ".yaml")).string())};
}

TEST(ExperimentOf, ACapturedDecoderLoadsAndIsTheModelThatWasCaptured) {
  const Widths w;
  const auto [yaml, experiment] = loaded(Recorder(w).run(), {}, "captured_decoder");
  const TrainingJob& job = experiment.job();
  EXPECT_EQ(job.model.layers, w.layers);
  EXPECT_EQ(job.model.hidden, w.hidden);
  EXPECT_EQ(job.model.heads, 2 * w.heads);
  EXPECT_EQ(job.model.kv_heads, 2 * w.kv_heads);
  EXPECT_EQ(job.model.ffn, 2 * w.ffn);
  EXPECT_EQ(job.model.vocab, 2 * w.vocabulary);
  EXPECT_EQ(job.layout.tensor, 2);
  EXPECT_EQ(job.data(), 4);
  EXPECT_EQ(job.training.micro_batch, w.batch);
  EXPECT_EQ(job.micro_batches(), w.micro_batches);
  EXPECT_THAT(yaml, HasSubstr("# the trace"));
  EXPECT_THAT(yaml, HasSubstr("# not in the trace: recompute"));
  EXPECT_GT(experiment.run().report.step_time, Time::zero());
}

TEST(ExperimentOf, SettingsFillInAndAreContradictedByTheTraceAloud) {
  const RunSettings settings = parse_run_settings(
      "--tensor-model-parallel-size 4 --recompute-granularity full --use-distributed-optimizer", "train.sh");
  const InferredExperiment inferred = experiment_of(Recorder({}).run(), settings, "m.json");
  EXPECT_THAT(inferred.yaml, HasSubstr("the trace; the settings say 4"));
  EXPECT_THAT(inferred.yaml, HasSubstr("recompute: full"));
  EXPECT_THAT(inferred.yaml, HasSubstr("zero: 1"));
}

TEST(ExperimentOf, NamesWhatNeitherTraceNorSettingsSay) {
  Widths w;
  w.vocabulary = 0;
  w.micro_batches = 1;
  CapturedRun run = Recorder(w).run();
  run.captures.front().device_ops.pop_back();  // the head
  run.matching.of_op.front().pop_back();
  const InferredExperiment inferred = experiment_of(run, {}, "m.json");
  EXPECT_THAT(inferred.missing, Contains(HasSubstr("vocabulary")));
  EXPECT_THAT(inferred.missing, Contains(HasSubstr("layers")));
  EXPECT_THAT(inferred.model, IsEmpty());
  EXPECT_THAT(inferred.yaml, HasSubstr("# not in the trace, and needed"));
  // With the number of layers the micro-batches are counted.
  const RunSettings settings = parse_run_settings("--num-layers 6 --vocab-size 32000", "train.sh");
  const auto [yaml, experiment] = loaded(run, settings, "captured_headless");
  EXPECT_EQ(experiment.job().micro_batches(), 1);
  EXPECT_EQ(experiment.job().model.vocab, 32000);
}

TEST(ExperimentOf, MegatronOn8A100IsWhatItsExecutionTracesSay) {
  const char* data = std::getenv("WARPLOOM_DATA");
  if (data == nullptr) GTEST_SKIP() << "set WARPLOOM_DATA for real traces";
  const std::vector<std::string> paths = {std::string(data) + "/traces/astra_history/megatron-tp8"};
  if (!fs::exists(paths.front())) GTEST_SKIP() << paths.front() << " is not there";
  const auto [yaml, experiment] = loaded(understand(paths), {}, "captured_megatron");
  const TrainingJob written = Experiment::load("megatron_8b_8_a100").job();
  const TrainingJob& job = experiment.job();
  EXPECT_EQ(job.model.layers, written.model.layers);
  EXPECT_EQ(job.model.hidden, written.model.hidden);
  EXPECT_EQ(job.model.heads, written.model.heads);
  EXPECT_EQ(job.model.kv_heads, written.model.kv_heads);
  EXPECT_EQ(job.model.ffn, written.model.ffn);
  EXPECT_EQ(job.model.vocab, written.model.vocab);
  EXPECT_EQ(job.layout.tensor, written.layout.tensor);
  EXPECT_EQ(job.layout.sequence_parallel, written.layout.sequence_parallel);
  EXPECT_EQ(job.training.micro_batch, written.training.micro_batch);
  EXPECT_EQ(job.training.sequence_length, written.training.sequence_length);
  EXPECT_EQ(job.micro_batches(), written.micro_batches());
  EXPECT_EQ(job.training.attention, AttentionKind::unfused);
  EXPECT_EQ(job.training.types.compute, TrainingType::fp16);
}

}  // namespace
}  // namespace warploom
