// SPDX-License-Identifier: Apache-2.0
// Schemas come from the same declarations that read the files.
#include "bindings/cli/schemas.hpp"

#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "network/collectives/library.hpp"
#include "network/conditions.hpp"
#include "network/fabrics.hpp"
#include "network/topologies.hpp"
#include "sim/core/config.hpp"
#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"
#include "workloads/experiment.hpp"
#include "workloads/experiment_spec.hpp"

namespace warploom {

namespace {

// A network of any kind also says what befalls it and what carries it: those keys stand beside the kind's own.
std::string network_schema() {
  using Json = nlohmann::ordered_json;
  Json network = Json::parse(topology_registry().json_schema());
  const Json conditions = Json::parse(json_schema<Conditions>());
  Json beside = conditions.at("properties");
  beside.erase("use");
  beside["fabric"] = Json::parse(fabric_registry().json_schema());
  for (Json& kind : network.at("oneOf")) kind.at("properties").update(beside);
  return network.dump();
}

using NamedSchema = std::pair<std::string, std::function<std::string()>>;

std::vector<NamedSchema> schemas() {
  return {{"experiment", [] { return Experiment::schema(); }},
          {"cluster", [] { return json_schema<ClusterSpec>("Warploom cluster"); }},
          {"device", [] { return json_schema<DeviceSpec>("Warploom device"); }},
          {"architecture", [] { return json_schema<ArchitectureSpec>("Warploom architecture"); }},
          {"host", [] { return json_schema<HostSpec>("Warploom host"); }},
          {"library", [] { return json_schema<LibrarySpec>("Warploom collective library"); }},
          {"network", network_schema},
          {"conditions", [] { return json_schema<Conditions>("What befalls a network of any kind"); }},
          {"fabric", [] { return fabric_registry().json_schema(); }}};
}

}  // namespace

std::vector<std::string> schema_names() {
  std::vector<std::string> names;
  for (const auto& [name, make] : schemas()) names.push_back(name);
  return names;
}

std::string schema(const std::string& name) {
  for (const auto& [candidate, make] : schemas()) {
    if (candidate == name) return make();
  }
  throw UserError("there is no schema " + warploom::quoted(name));
}

}  // namespace warploom
