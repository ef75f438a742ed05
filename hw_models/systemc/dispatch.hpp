// SPDX-License-Identifier: Apache-2.0
// The order in which SMs get blocks: each takes the next one when it has a place free.
#pragma once

#include <cstdint>
#include <vector>

#include "hw_models/programs/kernel_program.hpp"

namespace warploom::detailed {

// What a block is worth beside others, in turns: its start and end are about two.
inline double block_work(std::int64_t turns) { return static_cast<double>(turns) + 2; }
inline double block_work(const BlockGroup& group) { return block_work(group.work > 0 ? group.work : group.turns); }

// Blocks alike, that an SM starts one after the other.
struct BlockRun {
  BlockGroup group;
  double load = 1;  // share of the SMs that have work meanwhile
};

// The next block of an SM.
class BlockSource {
 public:
  virtual ~BlockSource() = default;
  virtual bool is_empty() const = 0;
  virtual BlockRun next() = 0;  // of one block
  // Blocks like the next one that follow at once, and nobody else takes.
  virtual std::int64_t alike() const = 0;
  virtual void skip(std::int64_t blocks) = 0;
};

// Those of one SM.
class OwnBlocks final : public BlockSource {
 public:
  explicit OwnBlocks(std::vector<BlockRun> runs) : runs_(std::move(runs)) {}
  bool is_empty() const override { return at_ == runs_.size(); }
  BlockRun next() override;
  std::int64_t alike() const override { return is_empty() ? 0 : runs_[at_].group.blocks; }
  void skip(std::int64_t blocks) override { runs_[at_].group.blocks -= blocks; }

 private:
  std::vector<BlockRun> runs_;
  std::size_t at_ = 0;
};

// Those of all SMs.
class SharedBlocks final : public BlockSource {
 public:
  explicit SharedBlocks(std::vector<BlockGroup> groups) : groups_(std::move(groups)) {}
  bool is_empty() const override { return at_ == groups_.size(); }
  BlockRun next() override;
  std::int64_t alike() const override { return 0; }
  void skip(std::int64_t) override {}

 private:
  std::vector<BlockGroup> groups_;
  std::size_t at_ = 0;
};

// What the SM that ends last does, if blocks take as long as their turns; blocks go to the SM that is free first.
std::vector<BlockRun> busiest_sm(const std::vector<BlockGroup>& groups, int sms, int places);

}  // namespace warploom::detailed
