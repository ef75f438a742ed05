// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes are either a configuration, which then explains itself, or a UserError; never a crash.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/config.hpp"

namespace {

using namespace warploom;

enum class Algorithm { ring, tree };

struct Link {
  Time latency;
  Bandwidth bandwidth;
  int lanes = 1;
  double efficiency = 1;
  static auto fields() {
    return field_list(field("latency", &Link::latency, "latency"), field("bandwidth", &Link::bandwidth, "").positive(),
                      field("lanes", &Link::lanes, "lanes").optional().in(1, 64),
                      field("efficiency", &Link::efficiency, "").optional().in(0, 1));
  }
};

struct Pod {
  std::string name;
  std::vector<Link> links;
  Algorithm algorithm = Algorithm::ring;
  bool is_fast = false;
  std::optional<Bytes> buffer;
  std::map<std::string, std::int64_t> counts;
  ConfigValue fabric;
  static auto fields();
};

}  // namespace

template <>
struct warploom::EnumNames<Algorithm> {
  static constexpr std::pair<Algorithm, std::string_view> values[] = {{Algorithm::ring, "ring"},
                                                                      {Algorithm::tree, "tree"}};
};

auto Pod::fields() {
  return field_list(field("name", &Pod::name, "").optional(), field("links", &Pod::links, "").optional(),
                    field("algorithm", &Pod::algorithm, "").optional(), field("fast", &Pod::is_fast, "").optional(),
                    field("buffer", &Pod::buffer, ""), field("counts", &Pod::counts, "").optional(),
                    field("fabric", &Pod::fabric, "").optional());
}

// The first line may hold overrides: `#set a.b=c;d=e`.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> overrides;
  if (text.starts_with("#set ")) {
    std::string_view line = text.substr(5, text.find('\n') - 5);
    while (!line.empty() && overrides.size() < 8) {
      const std::size_t end = line.find(';');
      overrides.emplace_back(line.substr(0, end));
      line.remove_prefix(end == std::string_view::npos ? line.size() : end + 1);
    }
  }
  ConfigValue root;
  try {
    root = parse_config_text(text, "fuzz.yaml", overrides, Library());
  } catch (const UserError& error) {
    if (std::string_view(error.what()).empty()) std::abort();
    return 0;
  }
  Diagnostics diagnostics;
  (void)read<Pod>(root, diagnostics);
  report_unread(root, diagnostics);
  (void)format_diagnostics(diagnostics.all());
  // What is explained reads back as the same configuration; an exception here is a finding.
  const ConfigValue again = parse_config_text(explain(root), "again.yaml", {}, Library());
  if (config_hash(again) != config_hash(root)) std::abort();
  return 0;
}
