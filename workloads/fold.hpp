// SPDX-License-Identifier: Apache-2.0
// Which devices do exactly the same and share a role, and which roles meet in which communicator.
//
// All ranks of a pipeline stage do the same, so that a step has one role a stage. A device that is apart (a straggler)
// makes its tensor peers wait in every layer, its data-parallel peers at every gradient, and its stage neighbours at
// its own tensor coordinate. So the values of each dimension fall into classes, {its own coordinate} and {the others},
// and a role is one class of every dimension: at most 4 roles a stage for one straggler, whatever the device count.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/work/group.hpp"
#include "workloads/layout.hpp"

namespace warploom {

class Fold {
 public:
  // `apart`: ranks that differ from the rest of their stage. `unfold`: every device has its own role.
  Fold(const Layout& layout, std::span<const Rank> apart, bool unfold);

  struct Role {
    std::array<std::size_t, dimension_count> classes{};  // which class of each dimension
    std::int64_t stage = 0;
    std::string name;
    std::vector<RankBox> ranks;
  };
  const std::vector<Role>& roles() const { return roles_; }

  // A process group (all its instances that are alike) and the roles whose devices are in it.
  struct Communicator {
    Group group;
    std::vector<std::uint32_t> roles;
  };
  // Groups along some dimensions: one communicator for every combination of classes of the others.
  std::vector<Communicator> along(std::span<const Dimension> dimensions) const;
  // Pairs from a stage to another with all else equal; member 0 is `from`. The roles are [from, to].
  std::vector<Communicator> between(std::int64_t from, std::int64_t to) const;

 private:
  struct Interval {
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };
  using Class = std::vector<Interval>;

  void add_dimension(Dimension dimension, std::span<const Rank> apart, bool unfold);
  void add_roles();
  std::string name_of(const Role& role) const;
  std::vector<RankBox> boxes(const std::array<const Class*, dimension_count>& classes) const;
  template <class Visit>
  void for_each_combination(const std::array<bool, dimension_count>& varies, Visit visit) const;
  std::uint32_t role_at(const std::array<std::size_t, dimension_count>& classes) const;

  Layout layout_;
  std::array<std::vector<Class>, dimension_count> classes_;
  std::vector<Role> roles_;
};

}  // namespace warploom
