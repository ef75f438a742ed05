// SPDX-License-Identifier: Apache-2.0
// The constants that calibration may move, as configs/calibration/constants.yaml declares them: where they stand, what
// is physical, and which kind of table decides them.
#pragma once

#include <string>
#include <vector>

#include "sim/core/errors.hpp"
#include "sim/core/library.hpp"

namespace warploom {

struct DeclaredConstant {
  std::string kind;    // of table: `gemm`
  std::string folder;  // of the library: `devices`, `libraries`, `clusters`
  std::string path;    // in such a file: `architecture.gemm.main_loop`
  double low = 0;
  double high = 0;
  std::string unit;             // `us`, `cycles`, `pJ`; empty: a plain number
  std::vector<double> choices;  // only these; else anything between
  bool closed = false;          // its ends mean something (all, none), so that a fit may stay on them
  bool zero_is_off = false;     // at 0 what it is of does not bind: no constant of that file
  Origin origin;

  // Within a thousandth of the range.
  bool is_at_low(double value) const { return value - low < 1e-3 * (high - low); }
  bool is_at_high(double value) const { return high - value < 1e-3 * (high - low); }
};

// Empty where the library has none. Throws ConfigError.
std::vector<DeclaredConstant> declared_constants(const Library& library);

// `0.93`, `2.61 us`: as it is written into a file, three significant digits.
std::string constant_text(double value, const DeclaredConstant& constant);
// The number of such a text in the constant's own unit; throws UserError where it has another unit.
double constant_value(const std::string& text, const DeclaredConstant& constant);

}  // namespace warploom
