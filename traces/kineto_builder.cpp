// SPDX-License-Identifier: Apache-2.0
// Each event into its place by phase and category.
#include "traces/kineto_builder.hpp"

#include <algorithm>
#include <utility>

namespace warploom {

namespace {

// Far from where sums of two times overflow.
constexpr Nanoseconds latest = 4'000'000'000'000'000'000;
// More than anyone captures; a program of such spans would leave the simulation's clock.
constexpr Nanoseconds longest = Nanoseconds{30} * 86'400 * 1'000'000'000;
constexpr std::string_view overflow_text =
    "events at times beyond 126 years of their base or of more than 30 days were not kept";
constexpr std::size_t most_open_begins = 1U << 20U;
constexpr std::int64_t most_launch_flows = 1 << 16;
constexpr std::size_t most_names = 1U << 20U;

bool is_step(std::string_view name) { return name.starts_with("ProfilerStep"); }

// "stream 7" is 7.
std::string_view stream_number(std::string_view thread) {
  constexpr std::string_view word = "stream ";
  return thread.starts_with(word) ? thread.substr(word.size()) : thread;
}

std::uint64_t flow_id(std::string_view id) {
  if (const auto number = integer_of(id)) return static_cast<std::uint64_t>(*number);
  return std::hash<std::string_view>{}(id);  // beyond 64 bits, or no number
}

SyncKind sync_kind(std::string_view name, bool& is_known) {
  is_known = true;
  if (name.starts_with("Stream Wait")) return SyncKind::stream_wait;
  if (name.starts_with("Event Sync")) return SyncKind::event_sync;
  if (name.starts_with("Stream Sync")) return SyncKind::stream_sync;
  is_known = name.starts_with("Context Sync") || name.starts_with("Device Sync");
  return SyncKind::context_sync;
}

// -1, as a number or as 32 or 64 bits without a sign, is `unknown`.
bool is_unknown(std::string_view id) {
  return id.empty() || id.front() == '-' || id == "4294967295" || id == "18446744073709551615";
}

}  // namespace

KinetoBuilder::KinetoBuilder(Capture& capture, std::function<std::string()> where)
    : capture_(capture), where_(std::move(where)), groups_(capture) {}

void KinetoBuilder::note(std::string_view name, std::string_view text, Nanoseconds moved, std::int64_t count) {
  if (count == 0) return;
  capture_.repairs.note(name, text, capture_.repairs.count(name) == 0 ? where_() : std::string(), moved, count);
}

void KinetoBuilder::note(const JsonMends& mends) {
  note("invalid_escape", "backslashes that escape nothing were taken as themselves", 0, mends.invalid_escapes);
  note("invalid_utf8", "bytes that are no UTF-8 were replaced by U+FFFD", 0, mends.invalid_utf8);
  note("control_character", "raw control characters in texts were kept", 0, mends.control_characters);
  note("stray_quote", "quotes within texts were taken as part of them", 0, mends.stray_quotes);
  note("trailing_comma", "a comma after the last element was passed over", 0, mends.trailing_commas);
  note("not_a_number", "NaN and Infinity were taken as not given", 0, mends.not_numbers);
}

void KinetoBuilder::take(const KinetoEvent& event) {
  ++capture_.event_count;
  switch (event.phase.empty() ? '\0' : event.phase.front()) {
    case 'X':
      return take_complete(event);
    case 'B':
      return take_begin(event);
    case 'E':
      return take_end(event);
    case 's':
    case 'f':
      return take_flow(event);
    case 'M':
      return take_metadata(event);
    default:
      return;  // instants, counters and asynchronous events carry no work
  }
}

bool KinetoBuilder::time_of(std::string_view text, Nanoseconds& time) {
  const DecimalTime parsed = parse_time(text);
  any_time_ = true;
  is_fine_ = is_fine_ || parsed.is_finer_than_unit;
  if (parsed.status == DecimalTime::Status::malformed) {
    note("missing_time", "events without a readable time were not kept");
    return false;
  }
  if (!parsed.is_ok() || parsed.ns > latest || parsed.ns < -latest) {
    note("time_overflow", overflow_text);
    return false;
  }
  time = parsed.ns;
  return true;
}

KinetoBuilder::Category& KinetoBuilder::category_of(std::string_view name) {
  const auto place =
      std::find_if(categories_.begin(), categories_.end(), [&](const Category& known) { return known.name == name; });
  if (place != categories_.end()) return *place;
  if (categories_.size() >= 1000) return categories_.back();  // hostile: the last stands for the rest
  return categories_.emplace_back(Category{std::string(name), kineto_role(name), 0});
}

void KinetoBuilder::take_complete(const KinetoEvent& event) {
  Category& category = category_of(event.category);
  ++category.count;
  if (category.role == KinetoRole::ignored) return;
  Span span;
  if (!time_of(event.time, span.start)) return;
  if (event.duration.empty()) {
    note("missing_duration", "complete events without a duration were taken to last no time");
  } else if (!time_of(event.duration, span.duration)) {
    return;
  }
  take_span(event, span);
}

void KinetoBuilder::take_span(const KinetoEvent& event, Span span) {
  if (span.duration < 0) {
    note("negative_duration", "durations below zero were set to zero", -span.duration);
    span.duration = 0;
  }
  if (span.duration > longest) return note("time_overflow", overflow_text);
  KinetoRole role = category_of(event.category).role;
  if (event.category.empty()) {  // PyTorch's profiler before Kineto tells them by process
    if (event.process == "CPU functions") role = KinetoRole::host_op;
    if (event.process == "CUDA functions") role = KinetoRole::kernel;
  }
  switch (role) {
    case KinetoRole::kernel:
      return add_device_op(event, span, DeviceOpKind::kernel);
    case KinetoRole::copy:
      return add_device_op(event, span, DeviceOpKind::copy);
    case KinetoRole::fill:
      return add_device_op(event, span, DeviceOpKind::fill);
    case KinetoRole::call:
      return add_call(event, span);
    case KinetoRole::host_op:
      if (is_step(event.name)) return add_annotation(event, span);
      return add_host_op(event, span);
    case KinetoRole::annotation:
      return add_annotation(event, span);
    case KinetoRole::sync:
      return add_sync(event, span);
    case KinetoRole::host_time:
      return extend_host(span);
    case KinetoRole::ignored:
      return;
    case KinetoRole::unknown:
      note("unknown_category", "events of categories that are not known here were counted and not kept");
      return;
  }
}

void KinetoBuilder::extend_host(Span span) {
  auto& host = capture_.host_span;
  if (!host) host = {span.start, span.start + span.duration};
  host->first = std::min(host->first, span.start);
  host->second = std::max(host->second, span.start + span.duration);
}

TextId KinetoBuilder::text_of(std::string_view raw) {
  JsonMends mends;
  const std::string_view text = unescape_json(raw, buffer_, mends);
  note(mends);
  return capture_.texts.add(text);
}

TextId KinetoBuilder::canonical_text_of(std::string_view raw) {
  if (raw.empty()) return nothing;
  key_.assign(raw);
  const auto [place, is_new] = canonical_.try_emplace(key_, nothing);
  if (is_new) {
    canonical_json(raw, buffer_);
    place->second = capture_.texts.add(buffer_);
  }
  return place->second;
}

std::uint32_t KinetoBuilder::thread_of(std::string_view process, std::string_view thread) {
  key_.assign(process).append(1, '\0').append(thread);
  if (last_thread_ != nothing && key_ == last_thread_key_) return last_thread_;
  const auto [place, is_new] = threads_.try_emplace(key_, static_cast<std::uint32_t>(capture_.threads.size()));
  if (is_new) {
    HostThread host;
    const auto number = integer_of(thread);
    host.process = integer_of(process).value_or(0);
    host.id = number.value_or(-1 - static_cast<std::int64_t>(capture_.threads.size()));
    if (!number) host.name = thread;
    capture_.threads.push_back(std::move(host));
  }
  last_thread_key_ = key_;
  return last_thread_ = place->second;
}

std::uint32_t KinetoBuilder::stream_of(std::string_view device, std::string_view context, std::string_view stream) {
  key_.assign(device).append(1, '\0').append(context).append(1, '\0').append(stream);
  if (last_stream_ != nothing && key_ == last_stream_key_) return last_stream_;
  const auto [place, is_new] = streams_.try_emplace(key_, static_cast<std::uint32_t>(capture_.streams.size()));
  if (is_new) {
    capture_.streams.push_back({integer_of(device).value_or(0), integer_of(context).value_or(0), std::string(stream)});
  }
  last_stream_key_ = key_;
  return last_stream_ = place->second;
}

void KinetoBuilder::add_device_op(const KinetoEvent& event, Span span, DeviceOpKind kind) {
  if (span.start == 0 && span.duration == 0) {
    note("zero_timestamp", "device operations at time 0 that last no time were not kept");
    return;
  }
  const std::string_view device = event[KinetoArg::device];
  const std::string_view stream = event[KinetoArg::stream];
  DeviceOp op;
  op.start = span.start;
  op.duration = span.duration;
  op.kind = kind;
  op.name = text_of(event.name);
  op.correlation = event.id_number(KinetoArg::correlation);
  op.stream = stream_of(device.empty() ? event.process : device, event[KinetoArg::context],
                        stream.empty() ? stream_number(event.thread) : stream);
  // Newer ids are 64 bits wide, graph and node in one: the node's half.
  if (const auto node = event.integer(KinetoArg::graph_node); node && *node > 0) {
    op.graph_node = static_cast<std::int32_t>(*node & 0x7fffffff);
  }
  if (kind != DeviceOpKind::kernel) {
    op.bytes = std::max<std::int64_t>(event.integer(KinetoArg::bytes).value_or(0), 0);
  } else {
    op.collective = groups_.collective_of(event);
  }
  if (op.correlation == 0) ++without_correlation_;
  // Where no operator is linked, some versions repeat the correlation.
  const std::uint64_t external = event.id_number(KinetoArg::external_id);
  device_operators_.push_back(external == op.correlation ? 0 : external);
  capture_.device_ops.push_back(op);
}

void KinetoBuilder::add_call(const KinetoEvent& event, Span span) {
  extend_host(span);
  HostCall call;
  call.start = span.start;
  call.duration = span.duration;
  call.name = text_of(event.name);
  call.correlation = event.id_number(KinetoArg::correlation);
  call.thread = thread_of(event.process, event.thread);
  const auto [kind, is_new] = call_kinds_.try_emplace(call.name, CallKind::other);
  if (is_new) kind->second = call_kind(capture_.texts[call.name]);
  call.kind = kind->second;
  if (call.correlation == 0) ++without_correlation_;
  const std::uint64_t external = event.id_number(KinetoArg::external_id);
  call_operators_.push_back(external == call.correlation ? 0 : external);
  capture_.calls.push_back(call);
}

void KinetoBuilder::add_host_op(const KinetoEvent& event, Span span) {
  extend_host(span);
  HostOp op;
  op.start = span.start;
  op.duration = span.duration;
  op.name = text_of(event.name);
  op.thread = thread_of(event.process, event.thread);
  op.external_id = event.id_number(KinetoArg::external_id);
  op.record_id = event.integer(KinetoArg::record_id).value_or(-1);
  op.shapes = canonical_text_of(event[KinetoArg::input_dims]);
  op.types = canonical_text_of(event[KinetoArg::input_type]);
  op.values = canonical_text_of(event[KinetoArg::concrete_inputs]);
  op.collective = groups_.collective_of(event);
  capture_.host_ops.push_back(op);
}

void KinetoBuilder::add_annotation(const KinetoEvent& event, Span span) {
  extend_host(span);
  capture_.annotations.push_back(
      {span.start, span.duration, text_of(event.name), thread_of(event.process, event.thread)});
}

void KinetoBuilder::add_sync(const KinetoEvent& event, Span span) {
  const std::string_view kind = event[KinetoArg::sync_kind];
  bool is_known = false;
  Sync sync;
  sync.kind = sync_kind(kind.empty() ? event.name : kind, is_known);
  if (!is_known) return note("unknown_sync", "synchronisations of a kind that is not known here were not kept");
  sync.start = span.start;
  sync.duration = span.duration;
  sync.correlation = event.id_number(KinetoArg::correlation);
  const std::string_view device = event[KinetoArg::device].empty() ? event.process : event[KinetoArg::device];
  const std::string_view context = event[KinetoArg::context];
  if (const auto stream = event[KinetoArg::stream]; !is_unknown(stream)) {
    sync.stream = stream_of(device, context, stream);
  }
  if (const auto stream = event[KinetoArg::wait_on_stream]; !is_unknown(stream)) {
    sync.recorded_on = stream_of(device, context, stream);
  }
  if (!is_unknown(event[KinetoArg::wait_on_record])) {
    sync.record_correlation = event.id_number(KinetoArg::wait_on_record);
  }
  capture_.syncs.push_back(sync);
}

void KinetoBuilder::take_begin(const KinetoEvent& event) {
  Begun begun;
  if (!time_of(event.time, begun.start)) return;
  if (open_begins_ >= most_open_begins) {
    return note("unclosed_begin", "events whose end did not come were not kept");
  }
  begun.name = event.name;
  begun.category = event.category;
  begun_[std::string(event.process) + '\0' + std::string(event.thread)].push_back(std::move(begun));
  ++open_begins_;
}

void KinetoBuilder::take_end(const KinetoEvent& event) {
  const auto place = begun_.find(std::string(event.process) + '\0' + std::string(event.thread));
  Nanoseconds end = 0;
  if (!time_of(event.time, end)) return;
  if (place == begun_.end() || place->second.empty()) {
    return note("unopened_end", "ends of events whose beginning did not come were passed over");
  }
  const Begun begun = std::move(place->second.back());
  place->second.pop_back();
  --open_begins_;
  KinetoEvent whole = event;  // arguments stand at the end, or at both
  whole.name = begun.name;
  whole.category = begun.category;
  Category& category = category_of(whole.category);
  ++category.count;
  if (category.role != KinetoRole::ignored) take_span(whole, {begun.start, end - begun.start});
}

void KinetoBuilder::take_flow(const KinetoEvent& event) {
  const bool is_launch = event.category == "ac2g" || event.category == "async_cpu_to_gpu" || event.category == "async";
  if (is_launch ? dropped_flows_ : event.category != "fwdbwd") return;
  Flow flow;
  if (!time_of(event.time, flow.time)) return;
  flow.id = flow_id(event.id);
  flow.is_start = event.phase == "s";
  flow.is_launch = is_launch;
  if (!is_launch) flow.lane = thread_of(event.process, event.thread);
  flows_.push_back(flow);
  if (is_launch && ++launch_flows_ > most_launch_flows && without_correlation_ == 0) drop_launch_flows();
}

// A file of so many operations, all of them with correlations, needs none.
void KinetoBuilder::drop_launch_flows() {
  dropped_flows_ = true;
  std::erase_if(flows_, [](const Flow& flow) { return flow.is_launch; });
  flows_.shrink_to_fit();
}

void KinetoBuilder::take_metadata(const KinetoEvent& event) {
  const bool is_process = event.name == "process_name";
  if ((!is_process && event.name != "thread_name") || event[KinetoArg::name].empty()) return;
  if (thread_names_.size() + process_names_.size() >= most_names) return;
  JsonMends mends;
  const std::string_view name = unescape_json(event[KinetoArg::name], buffer_, mends);
  note(mends);
  if (is_process) {
    process_names_.insert_or_assign(std::string(event.process), std::string(name));
  } else {
    thread_names_.insert_or_assign(std::string(event.process) + '\0' + std::string(event.thread), std::string(name));
  }
}

}  // namespace warploom
