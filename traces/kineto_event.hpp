// SPDX-License-Identifier: Apache-2.0
// One event of a Chrome trace as views into its text: nothing is copied, numbers stay the text that they are.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

namespace warploom {

// What is looked for in `args`.
enum class KinetoArg : std::uint8_t {
  external_id,
  correlation,
  device,
  context,
  stream,
  bytes,
  graph_node,
  record_id,
  input_dims,
  input_type,
  concrete_inputs,
  collective,
  in_elements,
  out_elements,
  group_size,
  element_type,
  in_splits,
  out_splits,
  group_name,
  group_description,
  group_ranks,
  source,
  target,
  sequence,
  rank_start,
  rank_stride,
  sync_kind,
  wait_on_stream,
  wait_on_record,
  name,
};
inline constexpr std::size_t kineto_arg_count = static_cast<std::size_t>(KinetoArg::name) + 1;

// Strings without their quotes and with their escapes; empty: absent.
struct KinetoEvent {
  std::string_view phase;
  std::string_view category;
  std::string_view name;
  std::string_view process;
  std::string_view thread;
  std::string_view time;
  std::string_view duration;
  std::string_view id;  // of a flow
  std::array<std::string_view, kineto_arg_count> args{};

  std::string_view operator[](KinetoArg key) const { return args[static_cast<std::size_t>(key)]; }
  std::optional<std::int64_t> integer(KinetoArg key) const;  // none: absent or no integer
  std::uint64_t id_number(KinetoArg key) const;              // 0: absent or no number
};

class KinetoEventParser {
 public:
  KinetoEventParser();
  ~KinetoEventParser();
  // `text` needs json_padding readable bytes after it. False: no JSON object. The views hold until `text` goes.
  bool parse(std::string_view text, KinetoEvent& event);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The whole of `text` as a number; empty where it is none or does not fit.
std::optional<std::int64_t> integer_of(std::string_view text);

// Categories of events and what becomes of them; older spellings are the same role.
enum class KinetoRole : std::uint8_t {
  kernel,
  copy,
  fill,
  call,
  host_op,
  annotation,
  sync,
  host_time,
  ignored,
  unknown
};
KinetoRole kineto_role(std::string_view category);

}  // namespace warploom
