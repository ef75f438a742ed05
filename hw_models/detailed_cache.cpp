// SPDX-License-Identifier: Apache-2.0
// Keys, the file and its lines.
#include "hw_models/detailed_cache.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace warploom {

namespace {

constexpr std::string_view header = "warploom detailed results 1 ";
constexpr std::size_t most_bytes = 64 << 20;
constexpr std::size_t most_line = 64 << 10;
constexpr std::size_t most_pending = 256;  // lines until they go to the file

// FNV-1a with a mixer behind it; two of them with different starts are the 128 bits of a key.
std::uint64_t hash_of(std::string_view text, std::uint64_t start) {
  std::uint64_t hash = 0xcbf29ce484222325ULL ^ start;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  hash = (hash ^ (hash >> 33)) * 0xff51afd7ed558ccdULL;
  hash = (hash ^ (hash >> 33)) * 0xc4ceb9fe1a85ec53ULL;
  return hash ^ (hash >> 33);
}

constexpr std::uint64_t other_start = 0x9e3779b97f4a7c15ULL;
constexpr std::uint64_t checksum_start = 0x5851f42d4c957f2dULL;

class Descriptor {
 public:
  Descriptor(const std::string& path, int flags) : number_(::open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK)) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  bool is_open() const { return number_ >= 0; }
  int number() const { return number_; }
  // Its size where it is a plain file.
  std::optional<std::size_t> size() const {
    struct stat state{};
    if (::fstat(number_, &state) != 0 || !S_ISREG(state.st_mode)) return {};
    return static_cast<std::size_t>(state.st_size);
  }

 private:
  int number_;
};

bool read_all(const Descriptor& file, std::string& text) {
  for (std::size_t got = 0; got < text.size();) {
    const ssize_t more = ::read(file.number(), text.data() + got, text.size() - got);
    if (more < 0) return false;
    if (more == 0) text.resize(got);  // somebody has cut it meanwhile
    got += static_cast<std::size_t>(more);
  }
  return true;
}

bool append(const std::string& path, std::string_view text) {
  const Descriptor file(path, O_WRONLY | O_APPEND);
  if (!file.is_open() || !file.size()) return false;
  const ssize_t written = ::write(file.number(), text.data(), text.size());
  return written == static_cast<ssize_t>(text.size());
}

std::string line_of(const DetailedKey& key, std::string_view payload) {
  return fmt::format("{:016x}{:016x} {:016x} {}\n", key.high, key.low, hash_of(payload, checksum_start ^ key.low),
                     payload);
}

std::optional<std::uint64_t> hexadecimal(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

constexpr std::size_t key_digits = 32;
constexpr std::size_t payload_at = key_digits + 1 + 16 + 1;

std::optional<DetailedKey> key_of(std::string_view line) {
  if (line.size() <= payload_at || line[key_digits] != ' ' || line[payload_at - 1] != ' ') return {};
  const auto high = hexadecimal(line.substr(0, 16));
  const auto low = hexadecimal(line.substr(16, 16));
  if (!high || !low) return {};
  return DetailedKey{*high, *low};
}

std::optional<DetailedKernel> result_of(const DetailedKey& key, std::string_view line) {
  const std::string_view payload = line.substr(payload_at);
  const auto checksum = hexadecimal(line.substr(key_digits + 1, 16));
  if (!checksum || *checksum != hash_of(payload, checksum_start ^ key.low)) return {};
  return decoded(payload);
}

void add_numbers(const detail::StructInfo& info, const void* owner, std::string& text) {
  for (const detail::FieldInfo& field : info.fields) {
    if (field.name == "name" || field.name == "source" || field.name == "aliases") continue;
    const detail::Nested nested = field.nested(owner);
    text += field.name + ':';
    if (nested.info != nullptr && nested.suffix.empty()) {
      add_numbers(*nested.info, nested.defaults.get(), text);
    } else {
      text += field.show(owner);
    }
    text += ';';
  }
}

}  // namespace

std::string device_numbers(const DeviceSpec& device) {
  DeviceSpec plain = device;
  plain.data_sheet_peaks.clear();
  plain.data_sheet_sparse_peaks.clear();
  std::string text;
  add_numbers(detail::struct_info<DeviceSpec>(), &plain, text);
  // Lists of structs, which do not show what is in them.
  for (const GemmTile& tile : device.architecture.gemm.tiles) {
    add_numbers(detail::struct_info<GemmTile>(), &tile, text);
  }
  for (const SimtKernel& kernel : device.architecture.simt_gemm.kernels) {
    add_numbers(detail::struct_info<SimtKernel>(), &kernel, text);
  }
  for (const GemmSelection& row : device.architecture.gemm.selection.rows) {
    add_numbers(detail::struct_info<GemmSelection>(), &row, text);
  }
  return text;
}

DetailedKey device_key(const DeviceSpec& device) {
  const std::string text = fmt::format("{} {}", detailed_model_sources(), device_numbers(device));
  return {hash_of(text, 0), hash_of(text, other_start)};
}

DetailedKey detailed_key(const Kernel& kernel, const DetailedKey& device, LaunchMode launch,
                         const DetailedOptions& options) {
  std::string text = fmt::format("{} {} {} {} {} {} {} {} {}", kernel.family, static_cast<int>(kernel.input),
                                 static_cast<int>(kernel.weight), static_cast<int>(kernel.output), kernel.flags,
                                 static_cast<int>(launch), options.all_sms, device.high, device.low);
  for (const std::int64_t size : kernel.size) text += fmt::format(" {}", size);
  return {hash_of(text, 0), hash_of(text, other_start)};
}

std::string DetailedCache::usual_folder() {
  if (const char* own = std::getenv("WARPLOOM_CACHE")) return own;
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache == '/') return std::string(cache) + "/warploom";  // others are to be ignored, it says
  const char* home = std::getenv("HOME");
  if (home != nullptr && *home == '/') return std::string(home) + "/.cache/warploom";
  return {};
}

DetailedCache::DetailedCache(std::string folder, std::string model)
    : folder_(std::move(folder)), model_(std::move(model)) {
  if (!folder_.empty()) load();
}

DetailedCache::~DetailedCache() {
  try {
    flush();
  } catch (...) {  // NOLINT(bugprone-empty-catch): a result that is not kept is played again
  }
}

std::string DetailedCache::path() const { return folder_.empty() ? std::string() : folder_ + "/detailed.cache"; }

void DetailedCache::note(const std::string& what) {
  const std::string text = fmt::format("{}: {}", path(), what);
  if (std::ranges::find(notes_, text) == notes_.end()) notes_.push_back(text);
}

std::vector<std::string> DetailedCache::notes() const {
  const std::lock_guard lock(mutex_);
  return notes_;
}

void DetailedCache::load() {
  const Descriptor file(path(), O_RDONLY);
  if (!file.is_open()) {
    std::error_code ignored;
    if (std::filesystem::exists(path(), ignored)) note("the cache cannot be read; it is ignored");
    return;
  }
  const auto size = file.size();
  if (!size) {
    is_in_the_way_ = true;
    return note("is no plain file; it is ignored");
  }
  if (*size > most_bytes) return note("the cache has grown beyond 64 MiB; a new one is begun");
  std::string text(*size, '\0');
  if (!read_all(file, text)) return note("the cache cannot be read; it is ignored");
  const std::string mine = fmt::format("{}{}\n", header, model_);
  if (!text.starts_with(mine)) {
    if (text.empty()) return;
    return note(text.starts_with(header) ? "the cache is of another version of the model; a new one is begun"
                                         : "is no cache of detailed results; it is ignored and replaced");
  }
  is_usable_ = true;
  file_bytes_ = text.size();
  std::size_t broken = 0;
  for (std::size_t at = mine.size(); at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = std::string_view(text).substr(at, end - at);
    at = end + 1;
    if (line.empty()) continue;
    const auto key = line.size() <= most_line ? key_of(line) : std::nullopt;
    if (key) {
      stored_.insert_or_assign(*key, std::string(line));
    } else {
      ++broken;
    }
  }
  if (broken > 0) note(fmt::format("{} lines of the cache are broken; they are ignored", broken));
}

std::optional<DetailedKernel> DetailedCache::find(const DetailedKey& key) {
  const std::lock_guard lock(mutex_);
  const auto known = known_.find(key);
  if (known != known_.end()) return known->second;
  const auto stored = stored_.find(key);
  if (stored == stored_.end()) return {};
  auto result = result_of(key, stored->second);
  stored_.erase(stored);
  if (!result) {
    note("a line of the cache does not hold what it says; it is ignored");
    return {};
  }
  known_.emplace(key, *result);
  return result;
}

void DetailedCache::add(const DetailedKey& key, const DetailedKernel& result) {
  const std::lock_guard lock(mutex_);
  if (!known_.emplace(key, result).second || folder_.empty()) return;
  pending_ += line_of(key, encoded(result));
  if (++pending_lines_ >= most_pending) flush_locked();
}

void DetailedCache::flush() {
  const std::lock_guard lock(mutex_);
  flush_locked();
}

// Written beside its place under a name of this process's own, so that others see the old file or the new one.
bool DetailedCache::replace(std::string_view lines) {
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  const std::string text = fmt::format("{}{}\n{}", header, model_, lines);
  const std::string beside = fmt::format("{}.{}", path(), ::getpid());
  std::ofstream file(beside, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  bool is_written = static_cast<bool>(file);
  if (is_written) {
    std::filesystem::rename(beside, path(), error);
    is_written = !error;
  }
  if (!is_written) std::filesystem::remove(beside, error);
  file_bytes_ = text.size();
  return is_written;
}

void DetailedCache::flush_locked() {
  if (pending_.empty()) return;
  // The line before may be torn: a process that was killed, a full disk.
  const std::string lines = "\n" + pending_;
  pending_.clear();
  pending_lines_ = 0;
  if (is_in_the_way_) return;
  if (is_usable_ && file_bytes_ + lines.size() <= most_bytes && append(path(), lines)) {
    file_bytes_ += lines.size();
    return;
  }
  is_usable_ = replace(lines);
  if (!is_usable_) note("the cache cannot be written; results are not kept");
}

DetailedKernel play_cached(const Kernel& kernel, const DeviceSpec& device, LaunchMode launch,
                           const DetailedOptions& options, DetailedCache* cache,
                           const std::optional<DetailedKey>& known_device) {
  if (cache == nullptr || options.draws) return play_kernel(kernel, device, launch, options);
  const DetailedKey key = detailed_key(kernel, known_device ? *known_device : device_key(device), launch, options);
  if (auto known = cache->find(key)) return *std::move(known);
  DetailedKernel played = play_kernel(kernel, device, launch, options);
  cache->add(key, played);
  return played;
}

}  // namespace warploom
