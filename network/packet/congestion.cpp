// SPDX-License-Identifier: Apache-2.0
// The list of controllers.
#include "network/packet/congestion.hpp"

#include "network/packet/control/congestion_table.hpp"
#include "network/packet/control/dcqcn.hpp"
#include "network/packet/control/hpcc.hpp"
#include "network/packet/control/swift.hpp"

namespace warploom {

std::unique_ptr<CongestionController> make_controller(const EthernetSpec& spec, CongestionHost& host) {
  switch (spec.congestion_control) {
    case CongestionControl::dcqcn:
      return std::make_unique<Dcqcn>(spec.dcqcn, host);
    case CongestionControl::hpcc:
      return std::make_unique<Hpcc>(spec.hpcc, host);
    case CongestionControl::swift:
      return std::make_unique<Swift>(spec.swift, host);
    case CongestionControl::none:
      break;
  }
  return nullptr;
}

std::unique_ptr<CongestionController> make_controller(const CongestionTableSpec& spec, CongestionHost& host) {
  if (!spec.enabled) return nullptr;
  return std::make_unique<CongestionTable>(spec, host);
}

}  // namespace warploom
