// SPDX-License-Identifier: Apache-2.0
// Cuts a trace's JSON into its records in a sliding window: memory is bounded by the largest record, not by the file.
//
// A trace is `{"key": value, ..., "traceEvents": [record, ...], "key": value, ...}` with other keys before and after
// the records, or a list of records alone. Between records, what strangers' files have is let pass and counted: a byte
// order mark, trailing commas, elements that are no objects, an array without its end (the records that are whole are
// given and the file is called truncated), text after the end. Within a record only brackets and strings are looked at:
// whether it is JSON, its reader finds; see `resume_within`.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "traces/byte_source.hpp"
#include "traces/repairs.hpp"

namespace warploom {

class JsonRecords {
 public:
  enum class Item : std::uint8_t { record, value, end };
  struct Options {
    std::string_view array = "traceEvents";  // the key of the records
    // Values of keys that it refuses are passed over without being held. Empty: all are held.
    std::function<bool(std::string_view key)> wants;
    std::size_t window = 1UL << 19U;
    std::size_t largest_record = 64UL << 20U;  // and value: more is a broken record, or an unheld value
  };

  JsonRecords(ByteSource& source, Options options, Repairs& repairs);

  // The next record or value; what the views showed before is gone. Throws UserError where nothing can be made of the
  // text.
  Item next();
  // The record, from `{` to `}`, or the value as it is written. json_padding bytes after it can be read.
  std::string_view text() const { return {buffer_.data() + text_begin_, text_size_}; }
  std::string_view key() const { return key_; }  // of a value; raw, without its quotes
  // Bytes of the decompressed file before the record or value.
  std::uint64_t offset() const { return consumed_ + text_begin_; }
  std::int64_t line() const;                         // of `offset`, from 1
  std::int64_t records() const { return records_; }  // given so far, the present one among them
  std::string where() const;                         // "record 17 (byte 812, line 3)"
  bool is_truncated() const { return is_truncated_; }
  bool is_list() const { return is_list_; }  // the root is a list of records

  // The present record is broken (a quote too many makes it swallow its neighbours): cut it short before the next place
  // within it that looks as a record's beginning, and go on from there. False where there is no such place.
  bool resume_within();

 private:
  enum class State : std::uint8_t { start, object, array, after, done };

  bool refill();    // more bytes into the window, what is used of it dropped; false at the end
  int peek_char();  // the next byte that is no space, not taken; -1 at the end
  std::optional<Item> next_in_array();
  std::optional<Item> next_in_object();
  std::optional<Item> take_value();
  bool take_key();
  // Of the value at `at_`, the window grown to hold it; nullptr: larger than `farthest`, or cut off.
  const char* find_end(std::size_t farthest);
  bool skip_value();  // without holding it; false where the file ends in it
  // The first byte that is no space `count` bytes after `at_`, none taken; -1 at the end.
  int char_after(std::size_t count);
  bool is_element();           // what stands in the list where an event should be a value; else it is a broken event's
  bool pass_stray_brackets();  // false: those at `at_` are not too many, no events follow them
  std::optional<Item> resume_after_garbage();  // at the next event, the list's end, or the next key of the root
  void leave_unclosed_array();
  void begin();
  Item finish();
  Item truncate();
  void note(std::string_view name, std::string_view text);

  ByteSource& source_;
  Options options_;
  Repairs& repairs_;
  static constexpr std::size_t least_look_ahead = 32UL << 10U;

  std::vector<char> buffer_;  // [at_, filled_) is the window; json_padding bytes more
  std::size_t look_ahead_;    // for the end of an event
  std::size_t at_ = 0;
  std::size_t filled_ = 0;
  std::uint64_t consumed_ = 0;  // bytes of the file before the buffer
  std::int64_t lines_ = 0;      // line ends among them
  std::size_t text_begin_ = 0;
  std::size_t text_size_ = 0;
  std::string key_;
  std::int64_t records_ = 0;
  State state_ = State::start;
  bool is_list_ = false;
  bool at_end_ = false;
  bool after_comma_ = false;
  bool has_array_ = false;    // the records' key was met
  bool has_element_ = false;  // of the array or object at hand
  bool is_truncated_ = false;
};

}  // namespace warploom
