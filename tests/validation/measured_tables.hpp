// SPDX-License-Identifier: Apache-2.0
// Tests on the tables that WARPLOOM_DATA names: skipped, and said so, where it names none.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "sim/core/csv.hpp"
#include "workloads/validation/validation.hpp"
#include "workloads/validation/validation_context.hpp"

namespace warploom::validation {

class MeasuredTables : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("WARPLOOM_DATA");
    if (folder == nullptr) GTEST_SKIP() << "WARPLOOM_DATA names no folder of measured tables";
    folder_ = std::string(folder) + "/measured/";
  }

  TableValidation validate(const std::string& file, const std::vector<std::string>& where) {
    ValidationContext context(Library({WARPLOOM_SOURCE_DIR "/configs"}));
    ValidationOptions options;
    for (const std::string& filter : where) options.where.push_back(RowFilter::parse(filter));
    return validate_table(CsvReader::open(folder_ + file), context, options);
  }

 private:
  std::string folder_;
};

}  // namespace warploom::validation
