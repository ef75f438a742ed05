// SPDX-License-Identifier: Apache-2.0
// What this build and its library have to offer: names with one line each, by kind.
#pragma once

#include <string>
#include <vector>

namespace warploom {

struct CatalogueEntry {
  std::string name;
  std::string meaning;
};

struct CatalogueKind {
  std::string name;     // "devices"
  std::string meaning;  // "what `device: {use: ...}` may name"
};

// In the order in which they are listed.
std::vector<CatalogueKind> catalogue_kinds();
// Files of the library for some kinds, implementations for others.
std::vector<CatalogueEntry> catalogue(const std::string& kind);
// Whether the entries of a kind are implementations in this program rather than files.
bool is_implementation(const std::string& kind);

}  // namespace warploom
