// SPDX-License-Identifier: Apache-2.0
// The table timer: kernels take what a user measured; what the table does not know takes what another timer says.
#pragma once

#include <memory>
#include <utility>

#include "hw_models/kernel_table.hpp"
#include "sim/play/ports.hpp"

namespace warploom {

class TableTimer final : public KernelTimer {
 public:
  // `other` also says what a kernel demands of the device: a table has durations alone.
  TableTimer(std::shared_ptr<const KernelTable> table, std::shared_ptr<const KernelTimer> other)
      : table_(std::move(table)), other_(std::move(other)) {}

  KernelCost cost(const Kernel& kernel) const override {
    KernelCost cost = other_->cost(kernel);
    const auto measured = table_->time(kernel);
    cost.is_fallback = !measured;
    if (measured) cost.duration = *measured;
    return cost;
  }

 private:
  std::shared_ptr<const KernelTable> table_;
  std::shared_ptr<const KernelTimer> other_;
};

}  // namespace warploom
