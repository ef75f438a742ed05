// SPDX-License-Identifier: Apache-2.0
// Library files say what they are in their first comment; implementations say it in their registry.
#include "bindings/cli/catalogue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "bindings/report/model_description.hpp"
#include "hw_models/kernels.hpp"
#include "network/collectives.hpp"
#include "network/topologies.hpp"
#include "sim/core/library.hpp"
#include "sim/core/text.hpp"
#include "workloads/models/hugging_face.hpp"
#include "workloads/schedules/schedules.hpp"

namespace warploom {

namespace {

// The first sentence of the comment at the top, licence line apart; of a long one what comes before a comma or colon.
std::string first_comment(const std::string& path) {
  constexpr std::size_t longest = 90;
  std::ifstream file(path);
  std::string line;
  for (int i = 0; i < 10 && std::getline(file, line); ++i) {
    if (!line.starts_with("#")) return {};
    const std::string text(trim(line.substr(1)));
    if (text.empty() || text.starts_with("SPDX")) continue;
    std::string sentence = text.substr(0, text.find(". "));
    if (sentence.size() > longest) sentence.resize(std::min(longest, sentence.find_last_of(",:;", longest)));
    return sentence.ends_with(".") ? sentence.substr(0, sentence.size() - 1) : sentence;
  }
  return {};
}

std::string model_in_words(const std::string& path) {
  try {
    const Model model = read_hugging_face(path);
    const std::string experts = model.has_experts() ? fmt::format(" ({} active, {} of {} experts a token)",
                                                                  parameters_in_words(model.active_parameters()),
                                                                  model.experts.per_token, model.experts.count)
                                                    : "";
    return fmt::format("{} parameters{}: {} layers, hidden {}, {} heads, {} KV heads, vocabulary {}",
                       parameters_in_words(model.parameters()), experts, model.layers, model.hidden, model.heads,
                       model.kv_heads, model.vocab);
  } catch (const UserError& error) {
    return error.message();
  }
}

std::vector<CatalogueEntry> files(const std::string& folder) {
  const bool are_models = folder == "models";
  std::vector<CatalogueEntry> result;
  for (const LibraryEntry& entry : Library::from_environment().entries(are_models ? ".json" : ".yaml")) {
    if (!entry.name.starts_with(folder + "/")) continue;
    result.push_back(
        {entry.name.substr(folder.size() + 1), are_models ? model_in_words(entry.path) : first_comment(entry.path)});
  }
  return result;
}

template <class Registry>
std::vector<CatalogueEntry> kinds_of(const Registry& registry) {
  std::vector<CatalogueEntry> result;
  for (const auto& kind : registry.kinds()) result.push_back({kind.name, kind.meaning});
  return result;
}

std::vector<CatalogueEntry> kernels() {
  std::vector<CatalogueEntry> result;
  for (const KernelFamily* family : kernel_families()) {
    result.push_back({std::string(family->name()), std::string(family->meaning())});
  }
  return result;
}

}  // namespace

std::vector<CatalogueKind> catalogue_kinds() {
  return {{"experiments", "ready to run"},
          {"models", "Hugging Face config.json files"},
          {"clusters", "devices and the network between them"},
          {"examples", "small clusters to copy, one a kind of network"},
          {"devices", "accelerators"},
          {"architectures", "constants that the devices of a generation share"},
          {"fabrics", "switches inside a node or rack"},
          {"libraries", "collective libraries"},
          {"schedules", "pipeline schedules"},
          {"topologies", "kinds of network"},
          {"collectives", "how collective calls are done"},
          {"kernels", "kernel families that can be timed"}};
}

bool is_implementation(const std::string& kind) {
  return kind == "schedules" || kind == "topologies" || kind == "collectives" || kind == "kernels";
}

std::vector<CatalogueEntry> catalogue(const std::string& kind) {
  if (kind == "schedules") return kinds_of(pipeline_schedules());
  if (kind == "topologies") return kinds_of(topology_registry());
  if (kind == "collectives") return kinds_of(collective_registry());
  if (kind == "kernels") return kernels();
  return files(kind);
}

}  // namespace warploom
