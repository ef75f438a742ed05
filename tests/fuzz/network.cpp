// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes are either a network, which can be written out and routed, or a UserError; never a crash,
// never more memory than the bound on what is written out.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "network/conditions.hpp"
#include "network/graph/routing.hpp"
#include "sim/core/config_value.hpp"
#include "sim/core/errors.hpp"

namespace {

using namespace warploom;

void use(const Topology& topology) {
  const NetworkGraph graph = topology.graph();
  if (graph.vertex_count() > 100'000 || graph.links().size() > 100'000) return;
  if (graph.device_count() != topology.device_count()) std::abort();
  if (topology.device_count() < 2) return;
  const Rank last = topology.device_count() - 1;
  const auto router = topology.router(graph);
  const auto path = router->hashed_path({graph.device(0), graph.device(last), 1}, 1);
  if (path.empty() || graph.to(path.back()) != graph.device(last)) std::abort();
  double arriving = 0;
  for (const EdgeShare& share : router->even_split(graph.device(0), graph.device(last)))
    arriving += graph.to(share.edge) == graph.device(last) ? share.share : 0;
  if (arriving < 1 - 1e-6 || arriving > 1 + 1e-6) std::abort();
  if (topology.latency(0, last) < Time::zero()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 4096) return 0;
  try {
    const auto value = parse_config_text({reinterpret_cast<const char*>(data), size}, "fuzz.yaml");
    Diagnostics diagnostics;
    for (const std::int64_t devices : {0, 2}) {
      const auto topology = make_topology(value, devices, diagnostics);
      if (!topology && !diagnostics.has_errors()) std::abort();
      if (topology && topology->cluster_size() < 100'000) use(*topology);
    }
  } catch (const UserError& error) {
    if (error.message().empty()) std::abort();
  }
  return 0;
}
