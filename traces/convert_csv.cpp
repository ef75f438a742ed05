// SPDX-License-Identifier: Apache-2.0
// Operations as lines of a table.
#include <fmt/format.h>

#include <array>
#include <iterator>
#include <string>

#include "sim/core/errors.hpp"
#include "traces/classify.hpp"
#include "traces/convert_timeline.hpp"

namespace warploom {

namespace {

constexpr std::array<std::string_view, 5> kind_names = {"kernel", "copy", "fill", "sync", "graph"};
// RFC 4180, 2.5 to 2.7.
void add_text(std::string& line, std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    line += text;
  } else {
    line += '"';
    for (const char c : text) {
      if (c == '"') line += '"';
      line += c;
    }
    line += '"';
  }
  line += ',';
}

void add_number(std::string& line, std::int64_t value) { fmt::format_to(std::back_inserter(line), "{},", value); }

Nanoseconds at_epoch(const Capture& capture, Nanoseconds time) {
  Nanoseconds result = 0;
  if (__builtin_add_overflow(time, capture.base_time.value_or(0), &result)) {
    throw UserError(fmt::format("{}: a time is beyond 292 years from the epoch", capture.file));
  }
  return result;
}

void add_communication(std::string& line, const Capture& capture, const DeviceOp& op) {
  const CollectiveRecord* record = op.op_class == OpClass::communication ? collective_of(capture, op) : nullptr;
  add_text(line, record == nullptr ? std::string_view() : capture.texts[record->name]);
  add_text(line,
           record == nullptr || record->group == nothing ? std::string_view() : capture.groups[record->group].name);
  if (record != nullptr && record->in_elements >= 0) line += std::to_string(record->in_elements);
  line += ',';
  if (record != nullptr && record->out_elements >= 0) line += std::to_string(record->out_elements);
  line += ',';
  add_text(line, record == nullptr ? std::string_view() : capture.texts[record->type]);
}

class Table {
 public:
  explicit Table(std::ostream& out) : out_(out) {}

  void write(const Capture& capture) {
    std::vector<TextId> shapes(capture.device_ops.size(), nothing);
    for (const auto& detail : capture.details) shapes[detail.op] = detail.shapes;
    for (std::uint32_t i = 0; i < capture.device_ops.size(); ++i) {
      const auto& op = capture.device_ops[i];
      TextId shape = shapes[i];
      if (shape == nothing && op.host_op != nothing) shape = capture.host_ops[op.host_op].shapes;
      line_.clear();
      add_place(capture, op);
      add_text(line_, kind_names[static_cast<std::size_t>(op.kind)]);
      add_text(line_, op_class_names[static_cast<std::size_t>(op.op_class)]);
      add_text(line_, capture.texts[op.name]);
      add_number(line_, at_epoch(capture, op.start));
      add_number(line_, op.duration);
      if (op.launch != nothing) line_ += std::to_string(at_epoch(capture, capture.calls[op.launch].start));
      line_ += ',';
      if (op.correlation != 0) line_ += std::to_string(op.correlation);
      line_ += ',';
      if (op.kind == DeviceOpKind::copy || op.kind == DeviceOpKind::fill) line_ += std::to_string(op.bytes);
      line_ += ',';
      add_communication(line_, capture, op);
      add_text(line_, op.host_op == nothing ? std::string_view() : capture.texts[capture.host_ops[op.host_op].name]);
      add_text(line_, capture.texts[shape]);
      line_.back() = '\r';
      out_ << line_ << '\n';
    }
  }

 private:
  void add_place(const Capture& capture, const DeviceOp& op) {
    if (const auto rank = known_rank(capture)) line_ += std::to_string(*rank);
    line_ += ',';
    const auto& stream = capture.streams[op.stream];
    add_number(line_, stream.device);
    add_text(line_, stream.name);
  }

  std::ostream& out_;
  std::string line_;
};

}  // namespace

void write_capture_csv(const std::vector<Capture>& captures, std::ostream& out) {
  out << "rank,device,stream,kind,class,name,start_ns,duration_ns,launch_ns,correlation,bytes,collective,group,"
         "in_elements,out_elements,type,operator,shapes\r\n";
  Table table(out);
  for (const auto& capture : captures) table.write(capture);
  if (!out.flush()) throw UserError("could not write the table", "is there space left on the disk?");
}

}  // namespace warploom
