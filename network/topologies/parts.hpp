// SPDX-License-Identifier: Apache-2.0
// What networks are made of, as configurations say it: switches and cables with what data sheets tell of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "network/graph/graph.hpp"
#include "sim/core/config.hpp"
#include "sim/core/units.hpp"

namespace warploom {

template <>
struct EnumNames<LinkProtocol> {
  static constexpr std::pair<LinkProtocol, std::string_view> values[] = {{LinkProtocol::ethernet, "ethernet"},
                                                                         {LinkProtocol::infiniband, "infiniband"},
                                                                         {LinkProtocol::nvlink, "nvlink"},
                                                                         {LinkProtocol::pcie, "pcie"},
                                                                         {LinkProtocol::unified_bus, "unified_bus"}};
};

template <>
struct EnumNames<LinkMedium> {
  static constexpr std::pair<LinkMedium, std::string_view> values[] = {
      {LinkMedium::board, "board"}, {LinkMedium::copper, "copper"}, {LinkMedium::optic, "optic"}};
};

// One switch; zero: not known.
struct SwitchSpec {
  std::int64_t radix = 0;
  int chips = 1;
  Bytes buffer{0};
  Power power{0};
  double price = 0;
  static auto fields() {
    return field_list(
        field("radix", &SwitchSpec::radix, "ports of one switch; default: as many as the first tier's switches use")
            .optional()
            .in(2, 1'000'000),
        field("chips", &SwitchSpec::chips, "switch chips that act as one").optional().in(1, 1024),
        field("buffer", &SwitchSpec::buffer, "packet memory that its ports share").optional(),
        field("power", &SwitchSpec::power, "of one").optional(),
        field("price", &SwitchSpec::price, "dollars of one").optional().at_least(0));
  }
};

// One cable with its two ends.
struct CableSpec {
  Bandwidth rate{0};
  LinkMedium medium = LinkMedium::optic;
  std::optional<LinkProtocol> protocol;  // InfiniBand; between switches what the cards' cables have
  Power power{0};
  double price = 0;
  static auto fields() {
    return field_list(
        field("rate", &CableSpec::rate, "of one cable, one way; default: that of the links below").optional(),
        field("medium", &CableSpec::medium, "what it is made of").optional(),
        field("protocol", &CableSpec::protocol,
              "how packets are held back on it; default: InfiniBand, between switches that of the cards"),
        field("power", &CableSpec::power, "of its two ends").optional(),
        field("price", &CableSpec::price, "dollars, both ends included").optional().at_least(0));
  }
};

// Equal links between two neighbours.
struct LinkSpec {
  int links = 1;
  Bandwidth rate{0};
  double efficiency = 1.0;
  Time latency = Time::zero();
  CableSpec cable;
  static auto fields() {
    return field_list(field("links", &LinkSpec::links, "parallel links between two neighbours").optional().in(1, 1024),
                      field("rate", &LinkSpec::rate, "of one link, one way").positive(),
                      field("efficiency", &LinkSpec::efficiency, "share of the rate that payload gets at best")
                          .optional()
                          .in(0.01, 1),
                      field("latency", &LinkSpec::latency, "to cross the link and what forwards behind it").optional(),
                      field("cable", &LinkSpec::cable, "medium, protocol, power and price of one").optional());
  }
};

}  // namespace warploom
