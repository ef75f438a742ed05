// SPDX-License-Identifier: Apache-2.0
// Tests that play kernels: skipped where SystemC is missing.
#pragma once

#include <gtest/gtest.h>

#include "hw_models/detailed.hpp"

namespace warploom::testing {

class WithDetailedModel : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_detailed_model()) GTEST_SKIP() << "SystemC is missing";
  }
};

}  // namespace warploom::testing
