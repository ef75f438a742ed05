// SPDX-License-Identifier: Apache-2.0
// Published bubble rates from published stage times (arXiv:2401.10241, Table 9 and Table 5): our schedules on our
// executor, every message one Tcomm, must give them to four digits.
//
// Cost is the largest span of a stage from its first begin to its last end; rate = 1 - m (F + B + W) / cost. The
// paper's interleaved rows leave out p Tcomm of that cost: subtracted here, in the test alone.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tests/support/pipeline_program.hpp"

namespace warploom {
namespace {

using testing::PipelineProgram;

struct Row {
  const char* model;
  int stages;
  int micro_batches;
  double forward_ms;
  double input_gradient_ms;
  double weight_gradient_ms;
  double message_ms;
  double rate;  // 1F1B
  double interleaved_rate;
  int chunks;
};

// arXiv:2401.10241, Table 9 (times) and Table 5 (rates).
constexpr Row rows[] = {
    {"1.5B", 8, 24, 18.522, 18.086, 9.337, 0.601, .2431, .1055, 3},
    {"1.5B", 8, 32, 18.513, 18.086, 9.331, 0.626, .1985, .0818, 3},
    {"1.5B", 8, 64, 18.546, 18.097, 9.321, 0.762, .1240, .0443, 3},
    {"6.2B", 8, 24, 29.718, 29.444, 19.927, 0.527, .2347, .0808, 4},
    {"6.2B", 8, 32, 29.802, 29.428, 19.530, 0.577, .1898, .0628, 4},
    {"6.2B", 8, 64, 29.935, 29.621, 19.388, 0.535, .1091, .0320, 4},
    {"14.6B", 16, 48, 11.347, 11.248, 8.132, 0.377, .2552, .1104, 3},
    {"14.6B", 16, 64, 11.307, 11.254, 8.101, 0.379, .2082, .0852, 3},
    {"14.6B", 16, 128, 11.325, 11.308, 8.109, 0.378, .1251, .0445, 3},
    {"28.3B", 32, 96, 10.419, 10.207, 7.715, 0.408, .2646, .1493, 2},
    {"28.3B", 32, 128, 10.408, 10.204, 7.703, 0.408, .2168, .1164, 2},
    {"28.3B", 32, 256, 10.402, 10.248, 7.698, 0.460, .1352, .0624, 2},
};

struct Times {
  double forward_ms;
  double input_gradient_ms;
  double weight_gradient_ms;
  double message_ms;
};

Time from_ms(double ms) { return Time::from_seconds(ms * 1e-3); }

// The simulated rate, rounded as the paper prints it.
double rate(const char* schedule, const ScheduleShape& shape, const Times& times) {
  const testing::PipelineTimes stage{from_ms(times.forward_ms),
                                     from_ms(times.input_gradient_ms) + from_ms(times.weight_gradient_ms),
                                     from_ms(times.message_ms)};
  Time cost = PipelineProgram(*pipeline_schedules().make_named(schedule), shape, stage).cost();
  if (shape.chunks > 1) cost -= stage.message * shape.stages;
  const double exact = 1 - shape.micro_batches * (stage.forward + stage.backward) / cost;
  return std::round(exact * 1e4) / 1e4;
}

TEST(PipelineBubbles, OfOneForwardOneBackwardAreThePublishedOnes) {
  for (const auto& row : rows) {
    EXPECT_NEAR(rate("1f1b", {row.stages, row.micro_batches, 1},
                     {row.forward_ms, row.input_gradient_ms, row.weight_gradient_ms, row.message_ms}),
                row.rate, 1e-9)
        << row.model << " m " << row.micro_batches;
  }
}

TEST(PipelineBubbles, OfInterleavedOneForwardOneBackwardAreThePublishedOnes) {
  for (const auto& row : rows) {
    EXPECT_NEAR(rate("interleaved_1f1b", {row.stages, row.micro_batches, row.chunks},
                     {row.forward_ms, row.input_gradient_ms, row.weight_gradient_ms, row.message_ms}),
                row.interleaved_rate, 1e-9)
        << row.model << " m " << row.micro_batches;
  }
}

TEST(PipelineBubbles, AreMoreThanTheFormulaThatForgetsMessages) {
  const auto& row = rows[0];
  const double forgetful = (row.stages - 1.0) / (row.micro_batches + row.stages - 1.0);
  EXPECT_NEAR(forgetful, .2258, 5e-5);
  EXPECT_GT(row.rate, forgetful + .01);
}

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::stringstream in(line);
  for (std::string cell; std::getline(in, cell, ',');) cells.push_back(cell);
  return cells;
}

TEST(PipelineBubbles, OfTheTableAreThePublishedOnes) {
  const char* data = std::getenv("WARPLOOM_DATA");
  if (data == nullptr) GTEST_SKIP() << "WARPLOOM_DATA is not set";
  std::ifstream file(std::string(data) + "/training/pipeline_bubbles.csv");
  if (!file) GTEST_SKIP() << "no training/pipeline_bubbles.csv in " << data;
  int checked = 0;
  for (std::string line; std::getline(file, line);) {
    const auto cells = cells_of(line);
    if (cells.size() < 11 || cells[0] != "arXiv:2401.10241 T5/T9") continue;
    const bool is_interleaved = cells[9] == "1F1B-I";
    if (!is_interleaved && cells[9] != "1F1B") continue;
    const ScheduleShape shape{std::stoi(cells[2]), std::stoi(cells[3]), is_interleaved ? std::stoi(cells[4]) : 1};
    const Times times{std::stod(cells[5]), std::stod(cells[6]), std::stod(cells[7]), std::stod(cells[8])};
    EXPECT_NEAR(rate(is_interleaved ? "interleaved_1f1b" : "1f1b", shape, times), std::stod(cells[10]), 1e-9) << line;
    ++checked;
  }
  EXPECT_EQ(checked, 24);
}

}  // namespace
}  // namespace warploom
