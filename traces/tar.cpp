// SPDX-License-Identifier: Apache-2.0
// The members of a tar stream, each as a source of its own (POSIX.1-1988 ustar, with GNU's and pax' long names skipped
// over: they only matter for messages).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "sim/core/errors.hpp"
#include "traces/byte_source.hpp"

namespace warploom {

namespace {

constexpr std::size_t block = 512;
using Header = std::array<char, block>;

std::string_view field(const Header& header, std::size_t at, std::size_t length) {
  const std::string_view text(header.data() + at, length);
  return text.substr(0, text.find('\0'));
}

// -1 for what is no octal number.
std::int64_t octal(std::string_view text) {
  std::int64_t value = 0;
  bool any = false;
  for (const char c : text) {
    if (c == ' ' && !any) continue;
    if (c == ' ') break;
    if (c < '0' || c > '7') return -1;
    value = value * 8 + (c - '0');
    any = true;
  }
  return any ? value : -1;
}

bool is_header(std::string_view bytes) {
  if (bytes.size() < block) return false;
  Header header{};
  std::memcpy(header.data(), bytes.data(), block);
  std::int64_t sum = 8 * ' ';  // the checksum's own place counts as spaces
  for (std::size_t i = 0; i < block; ++i) {
    if (i < 148 || i >= 156) sum += static_cast<unsigned char>(header[i]);
  }
  return octal(field(header, 148, 8)) == sum;
}

class Member final : public ByteSource {
 public:
  Member(ByteSource& archive, std::string name, std::uint64_t size)
      : ByteSource(std::move(name)), archive_(archive), rest_(size) {
    total_ = size;
  }
  std::size_t read(std::span<char> into) override {
    const std::size_t wanted = std::min<std::uint64_t>(into.size(), rest_);
    if (wanted == 0) return 0;
    const std::size_t count = archive_.read(into.first(wanted));
    if (count == 0) throw UserError(fmt::format("{}: the archive ends within it", name_));
    rest_ -= count;
    taken_ += count;
    return count;
  }
  // The archive's next bytes, as many of them as are this member's.
  std::string_view peek() override {
    return archive_.peek().substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(rest_, block * 128)));
  }

 private:
  ByteSource& archive_;
  std::uint64_t rest_;
};

bool read_block(ByteSource& source, Header& header) {
  std::size_t filled = 0;
  while (filled < block) {
    const std::size_t count = source.read(std::span(header).subspan(filled));
    if (count == 0) break;
    filled += count;
  }
  return filled == block;
}

void skip(ByteSource& source, std::uint64_t bytes) {
  Header scratch{};
  while (bytes > 0) {
    const std::size_t count = source.read(std::span(scratch).first(std::min<std::uint64_t>(block, bytes)));
    if (count == 0) return;
    bytes -= count;
  }
}

}  // namespace

bool for_each_member(ByteSource& source, const std::function<void(ByteSource&)>& visit) {
  if (!is_header(source.peek())) return false;
  Header header{};
  while (read_block(source, header)) {
    if (header[0] == '\0') break;  // the end: two blocks of zeros
    const std::int64_t size = octal(field(header, 124, 12));
    if (!is_header({header.data(), block}) || size < 0) {
      throw UserError(fmt::format("{}: a broken tar header after `{}`", source.name(), field(header, 0, 100)));
    }
    const auto bytes = static_cast<std::uint64_t>(size);
    const char type = header[156];
    std::string name(field(header, 0, 100));
    if (const auto prefix = field(header, 345, 155); field(header, 257, 5) == "ustar" && !prefix.empty()) {
      name = fmt::format("{}/{}", prefix, name);
    }
    if (type == '0' || type == '\0') {
      Member member(source, fmt::format("{}!{}", source.name(), name), bytes);
      visit(member);
      skip(member, bytes);
    } else {
      skip(source, bytes);
    }
    skip(source, (block - bytes % block) % block);
  }
  return true;
}

}  // namespace warploom
