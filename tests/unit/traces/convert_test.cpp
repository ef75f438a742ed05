// SPDX-License-Identifier: Apache-2.0
// Captured runs in other forms: what is written is read back and says the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "sim/core/errors.hpp"
#include "tests/support/perfetto_reader.hpp"
#include "traces/chakra_reader.hpp"
#include "traces/chakra_writer.hpp"
#include "traces/convert_chakra.hpp"
#include "traces/convert_timeline.hpp"

namespace warploom {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::string data_file(const std::string& name) {
  const char* data = std::getenv("WARPLOOM_DATA");
  return data == nullptr ? std::string() : (fs::path(data) / "traces" / name).string();
}

class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("warploom-convert-" + std::to_string(::getpid()))) {
    fs::create_directories(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  std::string file(const std::string& name) const { return (path_ / name).string(); }
  std::string write(const std::string& name, const std::string& content) const {
    std::ofstream(file(name), std::ios::binary) << content;
    return file(name);
  }

 private:
  fs::path path_;
};

CapturedRun again(const ChakraExport& written, const Folder& folder) {
  std::vector<std::string> files;
  for (const auto& graph : written.graphs) {
    files.push_back(folder.file("again." + std::to_string(*graph.rank) + ".et"));
    write_chakra_file(graph, files.back());
  }
  return understand(files);
}

Nanoseconds makespan(const CapturedRun& run) {
  Time last = Time::zero();
  for (const Time end : run.timeline.end) last = std::max(last, end);
  return last.ps() / 1000;
}

double difference(const CapturedRun& a, const CapturedRun& b) {
  return std::abs(static_cast<double>(makespan(a) - makespan(b))) / static_cast<double>(makespan(a));
}

TEST(ConvertOracle, MegatronAsChakraReplaysInTheSameTime) {
  const std::string path = data_file("astra_history/megatron-tp8");
  std::cerr << path << "\n";
  if (path.empty()) GTEST_SKIP() << "WARPLOOM_DATA is not set";
  const Folder folder;
  const CapturedRun run = understand(std::vector<std::string>{path});
  const auto written = export_chakra(run);
  const CapturedRun back = again(written, folder);
  std::cerr << makespan(run) << " " << makespan(back) << " " << difference(run, back) << "\n";
  for (const auto& note : written.notes) std::cerr << note << "\n";
  for (std::size_t i = 0; i < run.self.ranks.size(); ++i) {
    std::cerr << run.self.ranks[i].replayed.length() << " " << back.self.ranks[i].replayed.length() << " "
              << run.self.ranks[i].measured.length() << "\n";
  }
  EXPECT_LT(difference(run, back), 1e-3);
}

}  // namespace
}  // namespace warploom
