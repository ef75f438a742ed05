// SPDX-License-Identifier: Apache-2.0
// The fields of a protobuf message as they stand in memory, one after the other: no schema, no copies, every length
// checked against what is there. (developers.google.com/protocol-buffers/docs/encoding)
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace warploom {

struct WireField {
  enum class Type : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };
  std::uint32_t number = 0;
  Type type = Type::varint;
  std::uint64_t value = 0;  // of all but bytes
  std::string_view bytes;

  bool is(std::uint32_t field, Type kind) const { return number == field && type == kind; }
  std::int64_t integer() const { return static_cast<std::int64_t>(value); }
};

class WireReader {
 public:
  explicit WireReader(std::string_view message) : message_(message) {}

  // The next field; false at the end, and where what follows is no field: then `is_broken`, and `offset` tells where.
  bool next(WireField& field) {
    if (at_ >= message_.size()) return false;
    field_start_ = at_;
    std::uint64_t key = 0;
    if (!varint(key) || key >> 3U == 0 || key >> 3U > 0x1FFFFFFF) return fail();
    field.number = static_cast<std::uint32_t>(key >> 3U);
    field.bytes = {};
    field.value = 0;
    switch (key & 7U) {
      case 0:
        field.type = WireField::Type::varint;
        return varint(field.value) || fail();
      case 1:
        field.type = WireField::Type::fixed64;
        return fixed(field.value, 8) || fail();
      case 5:
        field.type = WireField::Type::fixed32;
        return fixed(field.value, 4) || fail();
      case 2: {
        field.type = WireField::Type::bytes;
        std::uint64_t size = 0;
        if (!varint(size) || size > message_.size() - at_) return fail();
        field.bytes = message_.substr(at_, static_cast<std::size_t>(size));
        at_ += static_cast<std::size_t>(size);
        return true;
      }
      default:
        return fail();  // groups, and what never was
    }
  }
  bool is_broken() const { return is_broken_; }
  std::size_t offset() const { return field_start_; }  // of the last field asked for

 private:
  bool varint(std::uint64_t& value) {
    value = 0;
    for (unsigned shift = 0; shift < 64 && at_ < message_.size(); shift += 7) {
      const auto byte = static_cast<unsigned char>(message_[at_++]);
      value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
      if ((byte & 0x80U) == 0) return true;
    }
    return false;
  }
  // Little-endian.
  bool fixed(std::uint64_t& value, std::size_t size) {
    if (message_.size() - at_ < size) return false;
    for (std::size_t i = 0; i < size; ++i) {
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(message_[at_ + i])) << (8 * i);
    }
    at_ += size;
    return true;
  }
  bool fail() {
    is_broken_ = true;
    at_ = message_.size();
    return false;
  }

  std::string_view message_;
  std::size_t at_ = 0;
  std::size_t field_start_ = 0;
  bool is_broken_ = false;
};

}  // namespace warploom
