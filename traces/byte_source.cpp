// SPDX-License-Identifier: Apache-2.0
// Plain and gzip sources over files and memory.
#include "traces/byte_source.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
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

class InnerBytes final : public RawBytes {
 public:
  explicit InnerBytes(ByteSource& inner) : inner_(inner) {}
  std::size_t read(std::span<char> into) override { return inner_.read(into); }

 private:
  ByteSource& inner_;
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
      try {
        while (filled < window && !at_end_) {
          const std::size_t count = produce(std::span(ahead_).subspan(filled));
          at_end_ = count == 0;
          filled += count;
        }
      } catch (...) {
        ahead_.resize(filled);  // what came before the broken place can still be read
        throw;
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

// What another source gives, got ready by a thread of its own: whoever parses does not wait for the decompressor, and
// the other way round. A few megabytes at most are ahead.
class AheadSource final : public PlainSource {
 public:
  explicit AheadSource(std::unique_ptr<ByteSource> inner)
      : PlainSource(inner->name(), nullptr, inner->bytes_in_all()), inner_(std::move(inner)) {
    try {
      thread_ = std::thread([this] { run(); });
    } catch (const std::system_error&) {
      is_alone_ = true;  // no thread to be had: then one after the other
    }
  }
  AheadSource(const AheadSource&) = delete;
  AheadSource& operator=(const AheadSource&) = delete;
  ~AheadSource() override {
    {
      const std::lock_guard lock(mutex_);
      stops_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

 protected:
  std::size_t produce(std::span<char> into) override {
    if (is_alone_) {
      const std::size_t count = inner_->read(into);
      taken_ = inner_->bytes_taken();
      return count;
    }
    if (into.empty() || !next_block()) return 0;
    const std::size_t count = std::min(into.size(), block_.bytes.size() - begin_);
    std::memcpy(into.data(), block_.bytes.data() + begin_, count);
    begin_ += count;
    return count;
  }

 private:
  struct Block {
    std::vector<char> bytes;  // fewer than a block: the last
    std::uint64_t taken = 0;
    std::exception_ptr error;  // after what came before
  };
  static constexpr std::size_t most_blocks = 16;
  static constexpr std::size_t block_size = 256UL << 10U;

  bool next_block() {
    if (begin_ < block_.bytes.size()) return true;
    if (block_.error) std::rethrow_exception(block_.error);
    if (is_over_) return false;
    std::unique_lock lock(mutex_);
    if (!block_.bytes.empty()) spare_.push_back(std::move(block_.bytes));
    changed_.wait(lock, [this] { return !ready_.empty(); });
    block_ = std::move(ready_.front());
    ready_.pop_front();
    lock.unlock();
    changed_.notify_all();
    begin_ = 0;
    taken_ = block_.taken;
    is_over_ = block_.bytes.size() < block_size;
    if (!block_.bytes.empty()) return true;
    if (block_.error) std::rethrow_exception(block_.error);
    return false;
  }

  void run() {
    while (true) {
      Block block;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return stops_ || ready_.size() < most_blocks; });
        if (stops_) return;
        if (!spare_.empty()) {
          block.bytes = std::move(spare_.back());
          spare_.pop_back();
        }
      }
      const bool goes_on = fill(block);
      {
        const std::lock_guard lock(mutex_);
        ready_.push_back(std::move(block));
      }
      changed_.notify_all();
      if (!goes_on) return;
    }
  }

  // False: it is the last.
  bool fill(Block& block) {
    std::size_t filled = 0;
    try {
      block.bytes.resize(block_size);
      while (filled < block_size) {
        const std::size_t count = inner_->read(std::span(block.bytes).subspan(filled));
        if (count == 0) break;
        filled += count;
      }
    } catch (...) {
      block.error = std::current_exception();
    }
    block.bytes.resize(filled);
    block.taken = inner_->bytes_taken();
    return filled == block_size && !block.error;
  }

  std::unique_ptr<ByteSource> inner_;  // of the thread, once it runs
  Block block_;                        // being read
  std::size_t begin_ = 0;
  bool is_over_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Block> ready_;
  std::vector<std::vector<char>> spare_;
  bool stops_ = false;
  bool is_alone_ = false;
  std::thread thread_;
};

std::unique_ptr<ByteSource> open_raw(std::string name, std::unique_ptr<RawBytes> raw, std::string_view magic,
                                     std::uint64_t total) {
  constexpr std::uint64_t worth_a_thread = 1UL << 20U;
  if (magic.starts_with("\x1f\x8b")) {
    auto source = std::make_unique<GzipSource>(std::move(name), std::move(raw), total);
    if (total < worth_a_thread || std::thread::hardware_concurrency() < 2) return source;
    return std::make_unique<AheadSource>(std::move(source));
  }
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

// Without a size, so without a thread: the archive around it is read by one alone.
std::unique_ptr<ByteSource> decompressed(ByteSource& inner) {
  const std::string_view magic = inner.peek().substr(0, 2);
  return open_raw(inner.name(), std::make_unique<InnerBytes>(inner), magic, 0);
}

std::unique_ptr<ByteSource> bytes_of(std::string name, std::string_view content) {
  return open_raw(std::move(name), std::make_unique<MemoryBytes>(content), content.substr(0, 2), content.size());
}

}  // namespace warploom
