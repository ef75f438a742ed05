// SPDX-License-Identifier: Apache-2.0
// Kernels of one device predicted from the same kernels measured on another, the anchor: measured there x predicted
// here / predicted there. It is what a replay does with operations whose shapes are recorded, so that its error is
// that of such operations.
//
// Beside it: the plain prediction of the same rows, and the captured time scaled by what bounds the kernel at both data
// sheets' peaks (BaselineKind::peaks). Where the anchor has a shape several times, the median of measured / predicted.
#pragma once

#include <string>
#include <vector>

#include "workloads/validation/validation.hpp"

namespace warploom {

// Of a predicted row: what it pairs by.
struct PairingRow {
  std::string device;  // canonical
  std::string shape;   // the cells of the kind's shape_columns()
  double ideal_us = 0;
};

// Cells of the columns that decide the kernel, as far as the row has them.
std::string shape_of(const CsvRow& row, const TableKind& kind);

// At the data sheet's peaks: of arithmetic or memory, whichever takes longer; what the kind itself says where it does.
double ideal_us(const Predicted& predicted, ValidationContext& context);

// The device of `--anchored`, by its canonical name. Throws UserError for one that the library does not describe, and
// where rows of the kind do not pair.
std::string anchor_device(const std::string& name, const TableKind& kind, ValidationContext& context);

// `pairing`: one a predicted row. Rows of the anchor and those that it has no shape for become skipped ones. Groups and
// summaries are the caller's.
void predict_from_anchor(TableValidation& table, const std::vector<PairingRow>& pairing, const std::string& anchor);

}  // namespace warploom
