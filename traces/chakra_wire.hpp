// SPDX-License-Identifier: Apache-2.0
// Protobuf's wire format, field by field, without copies: what a reader of 10^7 small messages needs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "traces/byte_source.hpp"

namespace warploom {

struct WireField {
  std::uint32_t number = 0;
  std::uint8_t type = 0;        // 0 varint, 1 eight bytes, 2 text or message, 5 four bytes
  std::uint64_t value = 0;      // of 0, 1 and 5
  std::string_view bytes = {};  // of 2
};

// Walks one message. `broken()` says why it ended where it did, null at its proper end.
class WireMessage {
 public:
  explicit WireMessage(std::string_view bytes) : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}
  bool next(WireField& field);
  const char* broken() const { return broken_; }

 private:
  bool fail(const char* why) { return broken_ = why, false; }
  bool fixed(std::size_t width, std::uint64_t& value);

  const char* at_;
  const char* end_;
  const char* broken_ = nullptr;
};

// A varint at the front of `at`..`end`; moves `at`. False: cut off or longer than ten bytes.
bool read_varint(const char*& at, const char* end, std::uint64_t& value);

// Messages behind their lengths, one after another; a buffer that grows as bytes come, never by what a length claims.
class DelimitedMessages {
 public:
  explicit DelimitedMessages(ByteSource& source) : source_(source) {}
  // The next message, valid until the next call; nothing at the end. Throws UserError for a length that is none and for
  // one above `most`.
  std::optional<std::string_view> next();
  bool is_truncated() const { return is_truncated_; }       // the file ends within a message
  std::uint64_t offset() const { return message_offset_; }  // of the message's length, in the decompressed file
  static constexpr std::uint64_t most = std::uint64_t{256} << 20U;

 private:
  bool fill(std::size_t wanted);  // until so many bytes are there; false: the source has ended

  ByteSource& source_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::uint64_t consumed_ = 0;  // bytes before buffer_[0]
  std::uint64_t message_offset_ = 0;
  bool is_truncated_ = false;
};

}  // namespace warploom
