// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes are either a trace, whose references all hold, or a UserError; never a crash. Small windows,
// so that records lie across their borders.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "sim/core/errors.hpp"
#include "traces/decimal_time.hpp"
#include "traces/json_records.hpp"
#include "traces/kineto_reader.hpp"

namespace {

using namespace warploom;

void require(bool holds) {
  if (!holds) std::abort();
}

template <class Items>
bool is_in(std::uint32_t reference, const Items& items) {
  return reference == nothing || reference < items.size();
}

void check(const Capture& capture) {
  for (const auto& op : capture.device_ops) {
    require(op.duration >= 0 && op.stream < capture.streams.size() && is_in(op.launch, capture.calls));
    require(is_in(op.collective, capture.collectives) && is_in(op.host_op, capture.host_ops));
    require(op.name < capture.texts.size());
  }
  for (const auto& call : capture.calls) {
    require(call.thread < capture.threads.size() && is_in(call.host_op, capture.host_ops));
  }
  for (const auto& op : capture.host_ops) {
    require(op.thread < capture.threads.size() && is_in(op.collective, capture.collectives));
  }
  for (const auto& sync : capture.syncs) {
    require(is_in(sync.stream, capture.streams) && is_in(sync.recorded_on, capture.streams));
  }
  for (const auto& flow : capture.hand_offs) {
    require(flow.from_thread < capture.threads.size() && flow.to_thread < capture.threads.size());
  }
  for (const auto& record : capture.collectives) require(is_in(record.group, capture.groups));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  parse_time(text.substr(0, 64));
  std::int64_t records = 0;
  for (const std::size_t window : {std::size_t{1}, std::size_t{100}}) {
    try {
      const auto source = bytes_of("fuzz.json", text);
      Repairs repairs;
      JsonRecords::Options options;
      options.window = window;
      options.largest_record = 4096;
      JsonRecords cutter(*source, options, repairs);
      while (cutter.next() != JsonRecords::Item::end) require(cutter.text().size() <= size);
      records = cutter.records();
    } catch (const UserError& error) {
      require(!error.message().empty());
    }
  }
  try {
    const auto source = bytes_of("fuzz.json", text);
    for (const auto& capture : make_kineto_reader()->read(*source, {})) check(capture);
  } catch (const UserError& error) {
    require(!error.message().empty());
  }
  return records < 0 ? 1 : 0;
}
