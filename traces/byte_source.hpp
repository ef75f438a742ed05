// SPDX-License-Identifier: Apache-2.0
// A file as a stream of bytes, decompressed as it is read (gzip is told by its magic, never by the suffix).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace warploom {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Fills from the front and returns how many bytes came; 0 at the end. Throws UserError for a broken compressed
  // stream; what came before it has been given.
  virtual std::size_t read(std::span<char> into) = 0;
  // The next bytes (up to 64 KiB), without taking them.
  virtual std::string_view peek() = 0;
  // For messages: the path, "archive!member" inside an archive.
  const std::string& name() const { return name_; }
  std::uint64_t bytes_taken() const { return taken_; }   // of the file on disk, for progress
  std::uint64_t bytes_in_all() const { return total_; }  // on disk; 0: unknown

 protected:
  explicit ByteSource(std::string name) : name_(std::move(name)) {}
  std::string name_;
  std::uint64_t taken_ = 0;
  std::uint64_t total_ = 0;
};

// Throws UserError for a path that cannot be read.
std::unique_ptr<ByteSource> open_bytes(const std::string& path);
// Of a source within another (a compressed member of an archive), which must outlive it.
std::unique_ptr<ByteSource> decompressed(ByteSource& inner);
// Of bytes in memory, for tests and fuzzing; gzip is decompressed as well.
std::unique_ptr<ByteSource> bytes_of(std::string name, std::string_view content);

// Calls `visit` for every regular file of a tar stream, in order; false when `source` holds no tar. Members longer than
// the archive and broken headers are a UserError.
bool for_each_member(ByteSource& source, const std::function<void(ByteSource&)>& visit);

}  // namespace warploom
