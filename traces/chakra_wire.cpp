// SPDX-License-Identifier: Apache-2.0
// Source: protobuf.dev/programming-guides/encoding.
#include "traces/chakra_wire.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "sim/core/errors.hpp"

namespace warploom {

bool read_varint(const char*& at, const char* end, std::uint64_t& value) {
  value = 0;
  for (unsigned shift = 0; shift < 70; shift += 7) {
    if (at == end) return false;
    const auto byte = static_cast<unsigned char>(*at++);
    if (shift < 64) value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

bool WireMessage::fixed(std::size_t width, std::uint64_t& value) {
  if (static_cast<std::size_t>(end_ - at_) < width) return fail("a number is cut off");
  value = 0;
  for (std::size_t i = 0; i < width; ++i) {
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(at_[i])) << (8 * i);
  }
  at_ += width;
  return true;
}

bool WireMessage::next(WireField& field) {
  if (at_ == end_) return false;
  std::uint64_t tag = 0;
  if (!read_varint(at_, end_, tag)) return fail("a tag is cut off");
  if (tag >> 3U == 0 || tag >> 3U > 0x1FFFFFFF) return fail("a tag names no field");
  field.number = static_cast<std::uint32_t>(tag >> 3U);
  field.type = static_cast<std::uint8_t>(tag & 7U);
  field.value = 0;
  field.bytes = {};
  switch (field.type) {
    case 0:
      return read_varint(at_, end_, field.value) || fail("a number is cut off");
    case 1:
      return fixed(8, field.value);
    case 5:
      return fixed(4, field.value);
    case 2: {
      std::uint64_t length = 0;
      if (!read_varint(at_, end_, length)) return fail("a length is cut off");
      if (length > static_cast<std::uint64_t>(end_ - at_)) return fail("a field is longer than its message");
      field.bytes = {at_, static_cast<std::size_t>(length)};
      at_ += length;
      return true;
    }
    default:
      return fail("a field has a wire type that proto3 does not know");
  }
}

bool DelimitedMessages::fill(std::size_t wanted) {
  constexpr std::size_t step = std::size_t{1} << 20U;
  while (end_ - begin_ < wanted) {
    if (begin_ > 0) {
      std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
      consumed_ += begin_;
      end_ -= begin_;
      begin_ = 0;
    }
    if (buffer_.size() - end_ < step / 2) buffer_.resize(std::max(buffer_.size() + step, 2 * end_));
    const std::size_t count = source_.read(std::span(buffer_).subspan(end_));
    if (count == 0) return false;
    end_ += count;
  }
  return true;
}

std::optional<std::string_view> DelimitedMessages::next() {
  if (begin_ == end_ && !fill(1)) return std::nullopt;
  message_offset_ = consumed_ + begin_;
  if (end_ - begin_ < 10) fill(10);
  std::uint64_t length = 0;
  const char* at = buffer_.data() + begin_;
  if (!read_varint(at, buffer_.data() + end_, length)) {
    if (end_ - begin_ >= 10) {
      throw UserError(fmt::format("{}: byte {}: no length of a message", source_.name(), message_offset_),
                      "a Chakra trace is a sequence of protobuf messages, each behind its length");
    }
    is_truncated_ = true;
    return std::nullopt;
  }
  if (length > most) {
    throw UserError(fmt::format("{}: byte {}: a message of {} bytes, at most {} are read", source_.name(),
                                message_offset_, length, most),
                    "the file is damaged here, or is no Chakra trace");
  }
  begin_ = static_cast<std::size_t>(at - buffer_.data());
  const auto size = static_cast<std::size_t>(length);
  if (!fill(size)) {
    is_truncated_ = true;
    return std::nullopt;
  }
  const std::string_view message(buffer_.data() + begin_, size);
  begin_ += size;
  return message;
}

}  // namespace warploom
