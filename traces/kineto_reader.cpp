// SPDX-License-Identifier: Apache-2.0
// Kineto's Chrome trace (pytorch/kineto@114171d, libkineto/src/output_json.cpp): `ts` and `dur` are microseconds
// whatever `displayTimeUnit` says, printed from whole nanoseconds since April 2024, as whole microseconds before;
// `baseTimeNanoseconds`, where given, is to be added. Keys other than `traceEvents` stand before or after it. Device
// operations join their calls by `correlation`; flows (`ac2g`) lack an end more often than not and are used only where
// a correlation is missing.
#include "traces/kineto_reader.hpp"

#include <fmt/format.h>

#include <string>

#include "sim/core/errors.hpp"
#include "traces/json_records.hpp"
#include "traces/json_scan.hpp"
#include "traces/kineto_builder.hpp"
#include "traces/kineto_header.hpp"

namespace warploom {

namespace {

class KinetoReading {
 public:
  KinetoReading(ByteSource& source, const ReadOptions& options)
      : source_(source),
        options_(options),
        repairs_(start(capture_, source, options)),
        records_(source, cutting(), repairs_),
        builder_(capture_, [this] { return records_.where(); }) {}

  Capture read() {
    for (auto item = records_.next(); item != JsonRecords::Item::end; item = records_.next()) {
      if (item == JsonRecords::Item::record) {
        take_record();
      } else if (!read_kineto_header(records_.key(), records_.text(), capture_, builder_.groups())) {
        builder_.note("broken_header", "values beside the events that are no JSON were passed over");
      }
    }
    capture_.is_truncated = records_.is_truncated();
    builder_.finish();
    if (options_.progress) options_.progress(source_.bytes_taken(), source_.bytes_in_all());
    return std::move(capture_);
  }

 private:
  static Repairs& start(Capture& capture, ByteSource& source, const ReadOptions& options) {
    capture.file = source.name();
    capture.format = "kineto";
    capture.repairs = Repairs(source.name(), options.strict);
    return capture.repairs;
  }
  static JsonRecords::Options cutting() {
    JsonRecords::Options options;
    options.wants = is_kineto_header;
    return options;
  }

  void take_record() {
    if (records_.records() % 16384 == 0 && options_.progress) {
      options_.progress(source_.bytes_taken(), source_.bytes_in_all());
    }
    if (parser_.parse(records_.text(), event_)) return builder_.take(event_);
    // A wrong quote or bracket may have made it swallow its neighbours: what is before the next beginning, by itself.
    records_.resume_within();
    if (take_mended()) return;
    builder_.note("broken_event", "events that are no JSON were not kept");
  }

  bool take_mended() {
    JsonMends mends;
    std::string mended = mend_json(records_.text(), mends);
    const std::size_t size = mended.size();
    mended.append(json_padding, ' ');
    if (!parser_.parse({mended.data(), size}, event_)) return false;
    builder_.note(mends);
    builder_.take(event_);
    return true;
  }

  ByteSource& source_;
  const ReadOptions& options_;
  Capture capture_;
  Repairs& repairs_;
  JsonRecords records_;
  KinetoBuilder builder_;
  KinetoEventParser parser_;
  KinetoEvent event_;
};

// A first value that fills all that can be seen, of a key that profilers put before the events.
bool starts_with_large_value(std::string_view object) {
  constexpr std::size_t large = 30'000;
  const auto key = object.find_first_not_of(" \t\r\n");
  if (key == std::string_view::npos || object[key] != '"') return false;
  const std::string_view name = object.substr(key + 1, object.find('"', key + 1) - key - 1);
  return !is_kineto_header(name) && (object.size() >= large || name == "metadata");
}

class KinetoReader final : public TraceReader {
 public:
  std::string_view name() const override { return "kineto"; }
  std::string_view meaning() const override {
    return "PyTorch Kineto and other Chrome traces (.json, .json.gz, archives of them)";
  }
  bool recognises(std::string_view first) const override {
    if (first.starts_with("\xEF\xBB\xBF")) first.remove_prefix(3);
    const auto root = first.find_first_not_of(" \t\r\n");
    if (root == std::string_view::npos) return false;
    const auto has = [first](std::string_view text) { return first.find(text) != std::string_view::npos; };
    if (first[root] == '{') {
      return has("\"traceEvents\"") || has("\"schemaVersion\"") || has("\"deviceProperties\"") ||
             has("\"distributedInfo\"") || starts_with_large_value(first.substr(root + 1));
    }
    return first[root] == '[' && (has("\"ph\"") || first.find_first_not_of(" \t\r\n", root + 1) == first.find(']'));
  }
  std::vector<Capture> read(ByteSource& source, const ReadOptions& options) const override {
    std::vector<Capture> captures;
    captures.push_back(KinetoReading(source, options).read());
    return captures;
  }
};

}  // namespace

std::unique_ptr<const TraceReader> make_kineto_reader() { return std::make_unique<KinetoReader>(); }

}  // namespace warploom
