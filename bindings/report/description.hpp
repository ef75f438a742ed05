// SPDX-License-Identifier: Apache-2.0
// A thing of the library with its numbers, as text and as JSON.
#pragma once

#include <string>
#include <vector>

#include "sim/core/config_notes.hpp"

namespace warploom {

struct DerivedValue {
  std::string name;   // "peak bf16"
  std::string value;  // "989 TFLOP/s"
  std::string how;
};

struct Description {
  std::string name;
  std::string meaning;
  std::vector<ValueNote> notes;
  std::vector<DerivedValue> derived;
  std::string example;       // a file to copy; empty: none
  std::string example_name;  // by which the library knows it: `examples/torus_16`
};

std::string to_text(const Description& description);
std::string to_json(const Description& description);

}  // namespace warploom
