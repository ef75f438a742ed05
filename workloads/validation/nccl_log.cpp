// SPDX-License-Identifier: Apache-2.0
// Finds columns by the words of the log's own header, so that versions with and without `root` are the same.
#include "workloads/validation/nccl_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <vector>

#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"

namespace warploom {

namespace {

constexpr std::size_t looked_at = 64 * 1024;
constexpr std::size_t largest_log = std::size_t{64} << 20;

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t start = line.find_first_not_of(" \t\r", at);
    if (start == std::string_view::npos) break;
    const std::size_t end = std::min(line.find_first_of(" \t\r", start), line.size());
    words.push_back(line.substr(start, end - start));
    at = end;
  }
  return words;
}

// The operation that a program or file is named for.
std::optional<std::string> operation_in(std::string_view text) {
  static constexpr std::pair<std::string_view, std::string_view> names[] = {
      {"all_reduce", "all_reduce"}, {"allreduce", "all_reduce"},          {"all_gather", "all_gather"},
      {"allgather", "all_gather"},  {"reduce_scatter", "reduce_scatter"}, {"reducescatter", "reduce_scatter"},
      {"alltoall", "all_to_all"},   {"all_to_all", "all_to_all"},         {"sendrecv", "send_recv"},
      {"broadcast", "broadcast"},
  };
  const std::string lower = to_lower(text);
  for (const auto& [written, meant] : names) {
    if (lower.find(written) != std::string::npos) return std::string(meant);
  }
  return {};
}

struct Log {
  std::string device = "unknown";
  std::set<std::string> hosts;
  int ranks = 0;
  std::string library = "nccl unknown";
  std::optional<std::string> operation;
  std::vector<std::string_view> header;  // size, count, type, ..., time
  std::string rows;
};

// `#  Rank  0 Group  0 Pid 77 on node-1 device  0 [0x1b] NVIDIA H100 80GB HBM3`
void read_rank(std::string_view line, Log& log) {
  const auto words = words_of(line);
  const auto on = std::find(words.begin(), words.end(), "on");
  const std::size_t bracket = line.find(']');
  if (on == words.end() || on + 1 == words.end() || bracket == std::string_view::npos) return;
  ++log.ranks;
  log.hosts.emplace(*(on + 1));
  log.device = std::string(trim(line.substr(bracket + 1)));
}

void read_comment(std::string_view line, Log& log) {
  if (line.find(" Rank ") != std::string_view::npos && line.find(" on ") != std::string_view::npos)
    return read_rank(line, log);
  if (line.find("_perf") != std::string_view::npos && !log.operation) log.operation = operation_in(line);
  const auto words = words_of(line.substr(1));
  if (!words.empty() && words.front() == "size" && std::find(words.begin(), words.end(), "time") != words.end())
    log.header = words;
}

void read_measurement(std::string_view line, Log& log) {
  const auto words = words_of(line);
  const auto column = [&](std::string_view name) -> std::string_view {
    const auto at = std::find(log.header.begin(), log.header.end(), name) - log.header.begin();
    return static_cast<std::size_t>(at) < words.size() && static_cast<std::size_t>(at) < log.header.size()
               ? words[static_cast<std::size_t>(at)]
               : std::string_view();
  };
  log.rows += fmt::format("\n{},{}", column("size"), column("time"));
  log.rows += fmt::format(",{}", column("type"));
}

bool is_measurement(std::string_view line, const Log& log) {
  const auto words = words_of(line);
  return !log.header.empty() && words.size() + 1 >= log.header.size() && !words.empty() &&
         words.front().find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

bool is_nccl_log(std::string_view text) {
  const std::string_view head = text.substr(0, looked_at);
  return (head.find("# nThread") != std::string_view::npos && head.find("nGpus") != std::string_view::npos) ||
         head.find("# Using devices") != std::string_view::npos;
}

std::string nccl_log_as_csv(std::string_view text, const std::string& name) {
  Log log;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = trim(text.substr(at, end - at));
    at = end + 1;
    if (line.starts_with("#")) {
      read_comment(line, log);
    } else if (const auto version = line.find("NCCL version "); version != std::string_view::npos) {
      const std::string_view number = words_of(line.substr(version + 13)).empty()
                                          ? std::string_view("unknown")
                                          : words_of(line.substr(version + 13)).front();
      log.library = "nccl " + std::string(number.substr(0, number.find('+')));
    } else if (is_measurement(line, log)) {
      read_measurement(line, log);
    }
  }
  const Origin origin(name, 0, 0);
  if (log.rows.empty()) throw UserError(origin, "this log of nccl-tests has no measurement");
  if (!log.operation) log.operation = operation_in(std::filesystem::path(name).filename().string());
  if (!log.operation) {
    throw UserError(origin, "nothing says which operation this log of nccl-tests is of",
                    "put it into the file's name, such as `all_reduce.log`");
  }
  const int gpus = std::max(log.ranks, 1);
  const std::size_t nodes = std::max<std::size_t>(log.hosts.size(), 1);
  std::string csv = "device,fabric,nodes,gpus,library,op,algo,dtype,bytes,time_us,note,source";
  for (const std::string& row : split(log.rows.substr(1), '\n')) {
    const auto cells = split(row, ',');
    csv += fmt::format("\n{},{},{},{},{},{},auto,{},{},{},,{}", csv_cell(log.device),
                       nodes == 1 ? "one node" : "cluster", nodes, gpus, csv_cell(log.library), *log.operation,
                       csv_cell(cells[2]), csv_cell(cells[0]), csv_cell(cells[1]), csv_cell(name));
  }
  return csv + "\n";
}

CsvReader open_measured_table(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_regular_file(path, error)) {
    std::ifstream file(path, std::ios::binary);
    std::string text(looked_at, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(file.gcount()));
    if (is_nccl_log(text)) {
      file.clear();
      for (std::string more(looked_at, '\0');
           file.read(more.data(), static_cast<std::streamsize>(more.size())), file.gcount() > 0;) {
        text.append(more.data(), static_cast<std::size_t>(file.gcount()));
        if (text.size() > largest_log) throw UserError(Origin(path, 0, 0), "a log of more than 64 MiB");
      }
      return CsvReader::from_text(nccl_log_as_csv(text, path), path);
    }
  }
  return CsvReader::open(path);
}

}  // namespace warploom
