// SPDX-License-Identifier: Apache-2.0
// Plain and gzip sources over files and memory.
#include "traces/byte_source.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>
#include <vector>

#include "sim/core/errors.hpp"

namespace warploom {

namespace {

constexpr std::size_t window = 64UL << 10U;

// Where compressed or plain bytes come from.
class RawBytes {
 public:
  virtual ~RawBytes() = default;
  virtual std::size_t read(std::span<char> into) = 0;
};

class FileBytes final : public RawBytes {
 public:
  FileBytes(std::ifstream file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}
  std::size_t read(std::span<char> into) override {
    file_.read(into.data(), static_cast<std::streamsize>(into.size()));
    if (file_.bad()) throw UserError(fmt::format("{}: cannot be read to its end", path_));
    return static_cast<std::size_t>(file_.gcount());
  }

 private:
  std::ifstream file_;
  std::string path_;
};

class MemoryBytes final : public RawBytes {
 public:
  explicit MemoryBytes(std::string_view content) : rest_(content) {}
  std::size_t read(std::span<char> into) override {
    const std::size_t count = std::min(into.size(), rest_.size());
    std::memcpy(into.data(), rest_.data(), count);
    rest_.remove_prefix(count);
    return count;
  }

 private:
  std::string_view rest_;
};

class PlainSource : public ByteSource {
 public:
  PlainSource(std::string name, std::unique_ptr<RawBytes> raw, std::uint64_t total)
      : ByteSource(std::move(name)), raw_(std::move(raw)) {
    total_ = total;
  }
  std::size_t read(std::span<char> into) override {
    if (ahead_begin_ == ahead_.size()) return produce(into);
    const std::size_t count = std::min(into.size(), ahead_.size() - ahead_begin_);
    std::memcpy(into.data(), ahead_.data() + ahead_begin_, count);
    ahead_begin_ += count;
    return count;
  }
  std::string_view peek() override {
    if (ahead_.size() - ahead_begin_ < window / 2 && !at_end_) {
      ahead_.erase(ahead_.begin(), ahead_.begin() + static_cast<std::ptrdiff_t>(ahead_begin_));
      ahead_begin_ = 0;
      std::size_t filled = ahead_.size();
      ahead_.resize(window);
      while (filled < window && !at_end_) {
        const std::size_t count = produce(std::span(ahead_).subspan(filled));
        at_end_ = count == 0;
        filled += count;
      }
      ahead_.resize(filled);
    }
    return std::string_view(ahead_.data(), ahead_.size()).substr(ahead_begin_);
  }

 protected:
  virtual std::size_t produce(std::span<char> into) {
    const std::size_t count = raw_->read(into);
    taken_ += count;
    return count;
  }
  RawBytes& raw() { return *raw_; }

 private:
  std::unique_ptr<RawBytes> raw_;
  std::vector<char> ahead_;  // peeked
  std::size_t ahead_begin_ = 0;
  bool at_end_ = false;
};

// Members of a gzip file follow one another (RFC 1952, 2.2); zeros after the last are padding.
class GzipSource final : public PlainSource {
 public:
  GzipSource(std::string name, std::unique_ptr<RawBytes> raw, std::uint64_t total)
      : PlainSource(std::move(name), std::move(raw), total), in_(window) {
    WARPLOOM_CHECK(inflateInit2(&stream_, 15 + 16) == Z_OK, "zlib cannot start");
  }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;
  ~GzipSource() override { inflateEnd(&stream_); }

 protected:
  std::size_t produce(std::span<char> into) override {
    stream_.next_out = reinterpret_cast<Bytef*>(into.data());
    stream_.avail_out = static_cast<uInt>(std::min<std::size_t>(into.size(), 1U << 30U));
    const auto room = stream_.avail_out;
    while (!ended_ && stream_.avail_out == room) step();
    return room - stream_.avail_out;
  }

 private:
  void step() {
    if (stream_.avail_in == 0 && !refill()) {
      if (between_) {
        ended_ = true;
        return;
      }
      throw UserError(fmt::format("{}: the gzip stream ends early, after {} bytes", name_, taken_),
                      "the file is cut short: copy it again");
    }
    if (between_ && *stream_.next_in == 0) {  // padding
      ended_ = true;
      return;
    }
    if (between_) inflateReset(&stream_);
    between_ = false;
    const int code = inflate(&stream_, Z_NO_FLUSH);
    if (code == Z_STREAM_END) {
      between_ = true;
    } else if (code != Z_OK && code != Z_BUF_ERROR) {
      throw UserError(fmt::format("{}: broken gzip data near byte {}: {}", name_, taken_,
                                  stream_.msg != nullptr ? stream_.msg : "unknown reason"));
    }
  }
  bool refill() {
    const std::size_t count = raw().read(in_);
    taken_ += count;
    stream_.next_in = reinterpret_cast<Bytef*>(in_.data());
    stream_.avail_in = static_cast<uInt>(count);
    return count > 0;
  }

  z_stream stream_{};
  std::vector<char> in_;
  bool between_ = false;  // a member has ended
  bool ended_ = false;
};

std::unique_ptr<ByteSource> open_raw(std::string name, std::unique_ptr<RawBytes> raw, std::string_view magic,
                                     std::uint64_t total) {
  if (magic.starts_with("\x1f\x8b")) return std::make_unique<GzipSource>(std::move(name), std::move(raw), total);
  return std::make_unique<PlainSource>(std::move(name), std::move(raw), total);
}

}  // namespace

std::unique_ptr<ByteSource> open_bytes(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) throw UserError(fmt::format("cannot read `{}`: no such file", path));
  if (std::filesystem::is_directory(status)) throw UserError(fmt::format("cannot read `{}`: it is a folder", path));
  std::ifstream file(path, std::ios::binary);
  if (!file) throw UserError(fmt::format("cannot read `{}`: permission denied?", path));
  std::uint64_t total = 0;
  std::array<char, 2> magic{};
  std::size_t known = 0;
  if (std::filesystem::is_regular_file(status)) {
    total = std::filesystem::file_size(path, error);
    file.read(magic.data(), magic.size());
    known = static_cast<std::size_t>(file.gcount());
    file.clear();
    file.seekg(0);
  }
  return open_raw(path, std::make_unique<FileBytes>(std::move(file), path), {magic.data(), known}, total);
}

std::unique_ptr<ByteSource> bytes_of(std::string name, std::string_view content) {
  return open_raw(std::move(name), std::make_unique<MemoryBytes>(content), content.substr(0, 2), content.size());
}

}  // namespace warploom
