// SPDX-License-Identifier: Apache-2.0
// Libraries by their kind: which algorithms one has, and by what cost it chooses among them.
#pragma once

#include "network/collectives/collective.hpp"
#include "sim/core/registry.hpp"

namespace warploom {

class LibraryFamily {
 public:
  virtual ~LibraryFamily() = default;
  // It has the algorithm at all; others can still be asked for by name, as what-ifs.
  virtual bool has(const Setting& setting, const Collective& collective) const = 0;
  // It may choose it by itself.
  virtual bool offers(const Setting& setting, const Collective& collective, Protocol protocol) const = 0;
  // The cost by which it chooses; zero where it compares nothing.
  virtual Time estimate(const Setting& setting, const Collective& collective, Protocol protocol) const = 0;
};

using FamilyRegistry = Registry<LibraryFamily>;
FamilyRegistry family_registry();

}  // namespace warploom
