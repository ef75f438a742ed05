// SPDX-License-Identifier: Apache-2.0
// The formats of captured traces, told apart by content, and the one way to read any of them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "traces/byte_source.hpp"
#include "traces/capture.hpp"

namespace warploom {

struct ReadOptions {
  bool strict = false;  // a repair is an error
  // Called now and then with (bytes read, bytes in all; 0: unknown) of the file at hand.
  std::function<void(std::uint64_t, std::uint64_t)> progress;
};

// One format. A reader is stateless: the same source gives the same captures.
class TraceReader {
 public:
  virtual ~TraceReader() = default;
  virtual std::string_view name() const = 0;     // "kineto"
  virtual std::string_view meaning() const = 0;  // "PyTorch Kineto and other Chrome traces (.json, .json.gz)"
  // By the first bytes of the (decompressed) content, never by a suffix.
  virtual bool recognises(std::string_view first_bytes) const = 0;
  // One capture a process (most formats: one a file). Throws UserError naming file, record and reason.
  virtual std::vector<Capture> read(ByteSource& source, const ReadOptions& options) const = 0;
  // Formats whose one capture is a folder of files (Ascend).
  virtual bool recognises_folder(const std::filesystem::path& /*folder*/) const { return false; }
  virtual std::vector<Capture> read_folder(const std::filesystem::path& folder, const ReadOptions& options) const;
};

// All of them, in the order in which they are asked.
std::vector<std::unique_ptr<const TraceReader>> trace_readers();

// Whether a file is one of these formats, or packed, by its first bytes.
bool looks_like_trace(const std::string& file);

// Reads files and folders (all their files, and Ascend profiler folders as a whole), archives (.tar, .tar.gz) member by
// member. What is no trace in a folder is skipped and listed in `skipped`; a path given by itself must be one. Ranks
// not in the file are taken from its name. Launches are joined and operations classified.
struct ReadTraces {
  std::vector<Capture> captures;  // by rank, then file
  std::vector<std::string> skipped;
};
ReadTraces read_traces(std::span<const std::string> paths, const ReadOptions& options = {});

}  // namespace warploom
