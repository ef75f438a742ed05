// SPDX-License-Identifier: Apache-2.0
// Fitted constants as files: in place where they stand (comments kept, date and source added), or as a file of one's
// own that starts from the original; and the record of errors. Texts only: who writes them writes all or none.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "workloads/calibration/calibration.hpp"

namespace warploom {

using FileText = std::pair<std::string, std::string>;  // path and whole text

// The files that hold changed constants, edited: only the scalars change, and a comment `[fit DATE SOURCES]` stands on
// their lines. Throws UserError for a file that no longer holds what was read.
std::vector<FileText> edited_files(const Calibration& calibration, const std::string& date);

// A file that says `use: base` and overrides the constants as seen from it.
std::string override_text(const Calibration& calibration, const std::string& base, const std::string& file,
                          const std::string& date);

// configs/calibration/residuals.yaml: `bands` in place of the records of the same kind and device in `before` (empty:
// none yet).
std::string residuals_text(const std::vector<ErrorBand>& bands, const std::vector<ErrorBand>& before,
                           const std::string& date);

// One scalar in a YAML text: at line and column (from 1) `before` becomes `after`, and the line's comment is tagged.
std::string with_scalar_replaced(const std::string& text, const Origin& at, const std::string& before,
                                 const std::string& after, const std::string& tag);

}  // namespace warploom
