// SPDX-License-Identifier: Apache-2.0
// Planned and played collectives against measured ones: one node gates, several nodes are for the record.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "network/collective_estimate.hpp"
#include "sim/core/config_value.hpp"
#include "sim/core/csv.hpp"
#include "sim/core/library.hpp"

namespace warploom {
namespace {

struct Row {
  std::string device, fabric, library, op, algorithm;
  std::int64_t nodes = 1;
  std::int64_t gpus = 1;
  std::int64_t bytes = 0;
  double time_us = 0;

  std::string version() const {
    const auto number = library.substr(library.find(' ') + 1);
    return number[0] >= '0' && number[0] <= '9' ? number : "";
  }
};

std::vector<Row> measured() {
  std::vector<Row> rows;
  const char* folder = std::getenv("WARPLOOM_DATA");
  if (folder == nullptr) return rows;
  CsvReader table = CsvReader::open(std::string(folder) + "/net/collectives.csv");
  CsvRow row;
  while (table.next(row)) {
    const auto text = [&](const char* column) { return std::string(row.text(column)); };
    rows.push_back({text("device"), text("fabric"), text("library"), text("op"), text("algo"), row.integer("nodes"),
                    row.integer("gpus"), row.integer("bytes"), row.number("time_us")});
  }
  return rows;
}

// Whole nodes of a cluster.
const Network& cluster(const std::string& name, std::int64_t devices, const std::string& version) {
  static std::map<std::string, Network> known;
  const std::string key = name + " " + std::to_string(devices) + " " + version;
  if (const auto found = known.find(key); found != known.end()) return found->second;
  const Library library({WARPLOOM_SOURCE_DIR "/configs"});
  std::vector<std::string> overrides;
  if (!version.empty()) overrides.push_back("library.version=" + version);
  const auto value = load_config(WARPLOOM_SOURCE_DIR "/configs/clusters/" + name + ".yaml", overrides, library);
  Diagnostics diagnostics;
  auto made = make_network(*value.find("network"), *value.find("library"), devices, diagnostics);
  diagnostics.throw_if_any();
  return known.emplace(key, std::move(made)).first->second;
}

CollectiveEstimate predicted(const std::string& cluster_name, const Row& row, const CollectiveChoice& choice = {}) {
  const Network& network = cluster(cluster_name, std::max<std::int64_t>(row.nodes, 1) * 8, row.version());
  return estimate_chosen(network, {*collective_kind(row.op), Bytes(row.bytes), DataType::fp16, 0},
                         first_ranks(row.gpus), choice);
}

struct Score {
  double error = 0;
  double bias = 0;
  double worst = 0;
  int count = 0;
  void add(double predicted, double actual) {
    const double relative = predicted / actual - 1;
    error += std::abs(relative);
    bias += relative;
    worst = std::max(worst, std::abs(relative));
    ++count;
  }
  double mape() const { return error / std::max(count, 1); }
};

std::ostream& operator<<(std::ostream& out, const Score& score) {
  return out << score.count << " points, MAPE " << 100 * score.mape() << "%, bias "
             << 100 * score.bias / std::max(score.count, 1) << "%, worst " << 100 * score.worst << "%";
}

void expect_node_within(const std::string& cluster_name, const std::string& device, double all_within,
                        double large_within) {
  const auto rows = measured();
  if (rows.empty()) GTEST_SKIP() << "WARPLOOM_DATA is not set";
  Score all;
  Score large;
  std::map<std::string, Score> parts;
  for (const auto& row : rows) {
    if (row.nodes != 1 || row.device != device) continue;
    const auto estimate = predicted(cluster_name, row);
    const double took = estimate.duration.microseconds();
    all.add(took, row.time_us);
    parts[row.library].add(took, row.time_us);
    parts[row.op + " of " + std::to_string(row.gpus)].add(took, row.time_us);
    parts[estimate.algorithm + "/" + estimate.protocol].add(took, row.time_us);
    if (row.bytes >= 64 << 20) large.add(took, row.time_us);
  }
  ASSERT_GT(all.count, 100);
  for (const auto& [part, score] : parts) std::cout << "  " << part << ": " << score << "\n";
  std::cout << device << ": " << all << "\n64 MiB and more: " << large << "\n";
  EXPECT_LT(all.mape(), all_within);
  EXPECT_LT(large.mape(), large_within);
}

// The goals are 15% and 6% on a set that was left out; these are in sample, and guard against getting worse. What is
// known of left-out sets stands in configs/libraries.
TEST(MeasuredCollectives, AnA100NodeIsWithinFivePercent) { expect_node_within("dgx_a100", "a100_sxm", 0.05, 0.04); }
TEST(MeasuredCollectives, AnH100NodeIsWithinEightPercent) { expect_node_within("dgx_h100", "h100_sxm", 0.08, 0.04); }
TEST(MeasuredCollectives, AB200NodeIsWithinSixPercent) { expect_node_within("dgx_b200", "b200_sxm", 0.06, 0.06); }
// Eight ranks cross sockets, and the measured times repeat badly.
TEST(MeasuredCollectives, AnL40sServerIsWithinAFifth) { expect_node_within("l40s_node", "l40s", 0.20, 0.25); }

// Other people's nodes and versions. The NVLS constants were fitted to their calls of 16 MiB and more, too; the rings
// were not.
TEST(MeasuredCollectives, OtherH100NodesAreWithinTenPercentFromAMebibyte) {
  const auto rows = measured();
  if (rows.empty()) GTEST_SKIP() << "WARPLOOM_DATA is not set";
  Score score;
  std::map<std::string, Score> parts;
  for (const auto& row : rows) {
    if (row.nodes != 1 || row.device.find("H100") == std::string::npos || row.bytes < 1 << 20) continue;
    const bool is_ring = row.algorithm.starts_with("RING");
    const auto estimate = predicted("dgx_h100", row, is_ring ? CollectiveChoice{"ring", ""} : CollectiveChoice{});
    score.add(estimate.duration.microseconds(), row.time_us);
    parts[row.fabric + " " + row.algorithm].add(estimate.duration.microseconds(), row.time_us);
  }
  ASSERT_GT(score.count, 50);
  for (const auto& [part, one] : parts) std::cout << "  " << part << ": " << one << "\n";
  std::cout << score << "\n";
  EXPECT_LT(score.mape(), 0.10);
}

bool has_400_gigabits(const Row& row) {
  return row.fabric.find("16x200G") != std::string::npos || row.fabric.find("32x100G") != std::string::npos;
}

// Large all-reduces over two nodes and more: NVLS tree. One run of a p5 pair is not of this kind: its own table says
// that it is slower than the other.
TEST(MeasuredCollectives, LargeAllReducesOverNodesAreWithinSixPercent) {
  const auto rows = measured();
  if (rows.empty()) GTEST_SKIP() << "WARPLOOM_DATA is not set";
  Score score;
  for (const auto& row : rows) {
    if (row.op != "all_reduce" || row.nodes < 2 || !has_400_gigabits(row) || row.bytes < std::int64_t{2} << 30)
      continue;
    const auto estimate = predicted("dgx_h100", row);
    score.add(estimate.duration.microseconds(), row.time_us);
    std::cout << row.fabric << ", " << row.gpus << " ranks, " << (row.bytes >> 20) << " MiB, " << estimate.algorithm
              << "/" << estimate.protocol << ": " << estimate.duration.microseconds() / 1000 << " ms, measured "
              << row.time_us / 1000 << " ms\n";
  }
  ASSERT_GT(score.count, 5);
  std::cout << score << "\n";
  EXPECT_LT(score.mape(), 0.06);
}

}  // namespace
}  // namespace warploom
