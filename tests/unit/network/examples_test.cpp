// SPDX-License-Identifier: Apache-2.0
// The examples that ship: each loads, is connected, and has the counts of its formulas.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "network/conditions.hpp"
#include "network/inspection.hpp"
#include "network/network.hpp"
#include "sim/core/config.hpp"
#include "sim/core/library.hpp"

namespace warploom {
namespace {

using namespace literals;

const Library& library() {
  static const Library made({WARPLOOM_SOURCE_DIR "/configs"});
  return made;
}

Inspection inspected(const std::string& name) {
  const auto config = load_config("examples/" + name, {}, library());
  Diagnostics diagnostics;
  const auto topology = make_topology(*config.find("network"), 0, diagnostics);
  diagnostics.throw_if_any();
  return inspect(*topology);
}

std::int64_t count(const Inspection& found, const std::string& name) {
  std::int64_t sum = 0;
  for (const VertexCount& one : found.vertices) sum += one.name == name ? one.count : 0;
  return sum;
}

std::int64_t cables(const Inspection& found, const std::string& name) {
  std::int64_t sum = 0;
  for (const CableCount& one : found.cables) sum += one.name == name ? one.count : 0;
  return sum;
}

TEST(Examples, AllLoadAndPlan) {
  std::set<std::string> kinds;
  for (const LibraryEntry& entry : library().entries()) {
    if (!entry.name.starts_with("examples/")) continue;
    const auto config = load_config(entry.name, {}, library());
    Diagnostics diagnostics;
    const Network network = make_network(*config.find("network"), *config.find("library"), 8, diagnostics);
    ASSERT_FALSE(diagnostics.has_errors()) << entry.name << format_diagnostics(diagnostics.all());
    kinds.insert(std::string(network.topology->kind()));
    Group all;
    all.members.digits = {{8, 1}};
    all.instances = {{0, {}}};
    EXPECT_FALSE(network.planner->plan({CollectiveKind::all_reduce, 64_MiB, DataType::bf16, 0}, all).steps.empty());
  }
  for (const char* kind : {"torus", "hypercube", "full_mesh", "dragonfly_plus", "rail_only", "graph", "pcie_tree",
                           "cluster", "rail_fat_tree"}) {
    EXPECT_TRUE(kinds.contains(kind)) << kind;
  }
}

TEST(Examples, GridsHaveTheirFormulas) {
  const Inspection torus = inspected("torus_64");
  EXPECT_EQ(torus.diameter, 2 + 2 + 2);
  EXPECT_EQ(torus.bisection, 2 * 64 / 4 * 50_GBps);
  EXPECT_EQ(inspected("torus_16").diameter, 4);
  EXPECT_EQ(inspected("hypercube_16").diameter, 4);
  EXPECT_EQ(inspected("hypercube_16").bisection, 8 * 50_GBps);
  EXPECT_EQ(inspected("mesh_8").diameter, 1);
  EXPECT_EQ(inspected("mesh_8x8").diameter, 2);
  EXPECT_EQ(inspected("mesh_8x8").bisection, 4 * 4 * 8 * 56_GBps);
}

TEST(Examples, SwitchedOnesHaveTheirCounts) {
  const Inspection dragonfly = inspected("dragonfly_plus_72");
  EXPECT_EQ(dragonfly.devices, 72);
  EXPECT_EQ(count(dragonfly, "leaf"), 9);
  EXPECT_EQ(count(dragonfly, "spine"), 6);
  EXPECT_EQ(cables(dragonfly, "global"), 3 * 8);
  EXPECT_EQ(inspected("rail_only_256").diameter, 2 + 2);
  const Inspection written = inspected("written_out");
  EXPECT_EQ(written.bisection, 2 * 50_GBps);
  EXPECT_EQ(written.power(), Power(2 * 300 + 10 * 15));
  EXPECT_DOUBLE_EQ(written.price(), 2 * 9000 + 10 * 900);
}

// Hosts too: sockets with their memory, storage cards, coherent links in PCIe's stead.
TEST(Examples, HostsHaveMemoryStorageAndCoherentLinks) {
  const Inspection server = inspected("pcie_server");
  EXPECT_EQ(count(server, "socket"), 2);
  EXPECT_EQ(count(server, "pcie switch"), 4);
  EXPECT_EQ(count(server, "storage"), 4);
  const Inspection grace = inspected("grace_tray");
  EXPECT_EQ(cables(grace, "c2c"), grace.devices);
  EXPECT_EQ(count(grace, "socket"), grace.devices / 2);
  EXPECT_EQ(count(grace, "storage"), grace.devices / 2);
}

TEST(Examples, APlacedJobIsOfFourNodes) {
  const Inspection job = inspected("placed_job");
  EXPECT_EQ(job.devices, 32);
  EXPECT_TRUE(job.is_part());
  std::int64_t down = 0;
  for (const VertexCount& one : job.vertices) down += one.down;
  EXPECT_EQ(down, 1);  // the card of device 9
}

}  // namespace
}  // namespace warploom
