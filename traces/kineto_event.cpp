// SPDX-License-Identifier: Apache-2.0
// One pass over an event with simdjson: keys are compared where they stand.
#include "traces/kineto_event.hpp"

#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

#include "sim/core/text.hpp"
#include "traces/json_scan.hpp"

namespace warploom {

namespace {

using simdjson::ondemand::object;
using simdjson::ondemand::value;

static_assert(json_padding >= simdjson::SIMDJSON_PADDING);

struct ArgName {
  std::string_view text;  // with its closing quote, which ends the comparison
  KinetoArg key;
};
// Sorted by first letter. Both spellings where versions of Kineto differ.
constexpr std::array arg_names = {
    ArgName{"Collective name\"", KinetoArg::collective},
    ArgName{"Concrete Inputs\"", KinetoArg::concrete_inputs},
    ArgName{"Dst Rank\"", KinetoArg::target},
    ArgName{"External id\"", KinetoArg::external_id},
    ArgName{"Global rank start\"", KinetoArg::rank_start},
    ArgName{"Global rank stride\"", KinetoArg::rank_stride},
    ArgName{"Group size\"", KinetoArg::group_size},
    ArgName{"In msg nelems\"", KinetoArg::in_elements},
    ArgName{"In split size\"", KinetoArg::in_splits},
    ArgName{"Input Dims\"", KinetoArg::input_dims},
    ArgName{"Input dims\"", KinetoArg::input_dims},
    ArgName{"Input type\"", KinetoArg::input_type},
    ArgName{"Out msg nelems\"", KinetoArg::out_elements},
    ArgName{"Out split size\"", KinetoArg::out_splits},
    ArgName{"Process Group Description\"", KinetoArg::group_description},
    ArgName{"Process Group Name\"", KinetoArg::group_name},
    ArgName{"Process Group Ranks\"", KinetoArg::group_ranks},
    ArgName{"Record function id\"", KinetoArg::record_id},
    ArgName{"Seq\"", KinetoArg::sequence},
    ArgName{"Src Rank\"", KinetoArg::source},
    ArgName{"bytes\"", KinetoArg::bytes},
    ArgName{"context\"", KinetoArg::context},
    ArgName{"correlation\"", KinetoArg::correlation},
    ArgName{"cuda_sync_kind\"", KinetoArg::sync_kind},
    ArgName{"device\"", KinetoArg::device},
    ArgName{"dtype\"", KinetoArg::element_type},
    ArgName{"external id\"", KinetoArg::external_id},
    ArgName{"graph node id\"", KinetoArg::graph_node},
    ArgName{"name\"", KinetoArg::name},
    ArgName{"stream\"", KinetoArg::stream},
    ArgName{"wait_on_cuda_event_record_corr_id\"", KinetoArg::wait_on_record},
    ArgName{"wait_on_stream\"", KinetoArg::wait_on_stream},
};

// Where each first letter's names begin; those of `c` end where those of `c + 1` begin.
constexpr std::array<std::uint8_t, 257> first_places = [] {
  std::array<std::uint8_t, 257> places{};
  std::size_t next = 0;
  for (std::size_t letter = 0; letter < 257; ++letter) {
    while (next < arg_names.size() && static_cast<unsigned char>(arg_names[next].text[0]) < letter) ++next;
    places[letter] = static_cast<std::uint8_t>(next);
  }
  return places;
}();

bool key_is(const char* key, std::string_view name) { return std::equal(name.begin(), name.end(), key); }

// A scalar's text: strings without quotes, numbers and words without the spaces that follow.
std::string_view scalar(std::string_view token) {
  while (!token.empty() && static_cast<unsigned char>(token.back()) <= ' ') token.remove_suffix(1);
  if (token.size() >= 2 && token.front() == '"' && token.back() == '"') return token.substr(1, token.size() - 2);
  return token == "null" ? std::string_view() : token;
}

// False: broken. Lists and objects as their text.
bool text_of(value& item, std::string_view& text) {
  std::string_view token = item.raw_json_token();
  if (token.empty()) return false;
  if (token.front() == '[') {
    simdjson::ondemand::array list;
    return item.get_array().get(list) == simdjson::SUCCESS && list.raw_json().get(text) == simdjson::SUCCESS;
  }
  if (token.front() == '{') {
    object inner;
    return item.get_object().get(inner) == simdjson::SUCCESS && inner.raw_json().get(text) == simdjson::SUCCESS;
  }
  text = scalar(token);
  return true;
}

bool read_args(value& item, KinetoEvent& event) {
  object args;
  if (item.get_object().get(args) != simdjson::SUCCESS) return false;
  for (auto each : args) {
    simdjson::ondemand::field field;
    if (std::move(each).get(field) != simdjson::SUCCESS) return false;
    const char* key = field.key().raw();
    const auto letter = static_cast<unsigned char>(*key);
    for (std::size_t i = first_places[letter]; i < first_places[letter + 1U]; ++i) {
      if (!key_is(key, arg_names[i].text)) continue;
      if (!text_of(field.value(), event.args[static_cast<std::size_t>(arg_names[i].key)])) return false;
      break;
    }
  }
  return true;
}

// Categories that fill a large trace and of which nothing is kept: their arguments are not looked at.
bool needs_args(const KinetoEvent& event) {
  if (event.phase == "s" || event.phase == "f" || event.phase == "i") return false;
  return event.category != "python_function" && event.category != "gpu_user_annotation";
}

}  // namespace

struct KinetoEventParser::Impl {
  simdjson::ondemand::parser parser;
};

KinetoEventParser::KinetoEventParser() : impl_(std::make_unique<Impl>()) {}
KinetoEventParser::~KinetoEventParser() = default;

bool KinetoEventParser::parse(std::string_view text, KinetoEvent& event) {
  event = {};
  simdjson::ondemand::document document;
  if (impl_->parser.iterate(text.data(), text.size(), text.size() + json_padding).get(document) != simdjson::SUCCESS) {
    return false;
  }
  object fields;
  if (document.get_object().get(fields) != simdjson::SUCCESS) return false;
  for (auto each : fields) {
    simdjson::ondemand::field field;
    if (std::move(each).get(field) != simdjson::SUCCESS) return false;
    const char* key = field.key().raw();
    std::string_view* target = nullptr;
    switch (*key) {
      case 'p':
        target = key_is(key, "ph\"") ? &event.phase : key_is(key, "pid\"") ? &event.process : nullptr;
        break;
      case 'c':
        target = key_is(key, "cat\"") ? &event.category : nullptr;
        break;
      case 'n':
        target = key_is(key, "name\"") ? &event.name : nullptr;
        break;
      case 't':
        target = key_is(key, "tid\"") ? &event.thread : key_is(key, "ts\"") ? &event.time : nullptr;
        break;
      case 'd':
        target = key_is(key, "dur\"") ? &event.duration : nullptr;
        break;
      case 'i':
        target = key_is(key, "id\"") ? &event.id : nullptr;
        break;
      case 'a':
        if (key_is(key, "args\"") && needs_args(event) && field.value().raw_json_token().starts_with('{')) {
          if (!read_args(field.value(), event)) return false;
        }
        break;
      default:
        break;
    }
    if (target != nullptr && !text_of(field.value(), *target)) return false;
  }
  return true;
}

std::optional<std::int64_t> integer_of(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<std::int64_t> KinetoEvent::integer(KinetoArg key) const { return integer_of((*this)[key]); }

std::uint64_t KinetoEvent::id_number(KinetoArg key) const {
  const std::string_view text = (*this)[key];
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : 0;
}

KinetoRole kineto_role(std::string_view category) {
  using Role = std::pair<std::string_view, KinetoRole>;
  // Spellings of 2021 (Operator, Kernel, ...) differ from today's by more than case. Back ends other than CUDA's and
  // ROCm's keep their own names; their device work is read as kernels.
  static constexpr std::array roles = {
      Role{"kernel", KinetoRole::kernel},
      Role{"gpu_memcpy", KinetoRole::copy},
      Role{"memcpy", KinetoRole::copy},
      Role{"gpu_memset", KinetoRole::fill},
      Role{"memset", KinetoRole::fill},
      Role{"cuda_runtime", KinetoRole::call},
      Role{"cuda_driver", KinetoRole::call},
      Role{"runtime", KinetoRole::call},
      Role{"cpu_op", KinetoRole::host_op},
      Role{"operator", KinetoRole::host_op},
      Role{"user_annotation", KinetoRole::annotation},
      Role{"cuda_sync", KinetoRole::sync},
      Role{"xpu_sync", KinetoRole::sync},
      Role{"mtia_runtime", KinetoRole::call},
      Role{"xpu_runtime", KinetoRole::call},
      Role{"xpu_driver", KinetoRole::call},
      Role{"privateuse1_runtime", KinetoRole::call},
      Role{"privateuse1_driver", KinetoRole::call},
      Role{"mtia_ccp_events", KinetoRole::kernel},
      Role{"hpu_op", KinetoRole::kernel},
      Role{"python_function", KinetoRole::host_time},
      Role{"gpu_user_annotation", KinetoRole::ignored},
      Role{"trace", KinetoRole::ignored},
      Role{"overhead", KinetoRole::ignored},
      Role{"cuda_event", KinetoRole::ignored},
      Role{"external_correlation", KinetoRole::ignored},
      Role{"cpu_instant_event", KinetoRole::ignored},
      Role{"collective_comm", KinetoRole::ignored},
      Role{"cuda_profiler_range", KinetoRole::ignored},
      Role{"mtia_insight", KinetoRole::ignored},
      Role{"mtia_counters", KinetoRole::ignored},
      Role{"glow_runtime", KinetoRole::ignored},
      Role{"xpu_scope_profiler", KinetoRole::ignored},
      Role{"hardware_counters", KinetoRole::ignored},
  };
  const std::string lower = to_lower(category);
  const auto place = std::find_if(roles.begin(), roles.end(), [&](const Role& role) { return role.first == lower; });
  return place == roles.end() ? KinetoRole::unknown : place->second;
}

}  // namespace warploom
