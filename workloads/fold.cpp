// SPDX-License-Identifier: Apache-2.0
// Roles and communicators as products of classes: boxes of strides, never lists of ranks.
#include "workloads/fold.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sim/core/errors.hpp"

namespace warploom {

namespace {

constexpr std::array all_dimensions = {Dimension::tensor, Dimension::context, Dimension::pipeline, Dimension::data};
constexpr std::size_t at(Dimension dimension) { return static_cast<std::size_t>(dimension); }

// Digits from the innermost out, neighbours that continue each other joined: {8, 1}, {16, 8} is {128, 1}.
std::vector<Stride> tidy(std::vector<Stride> digits) {
  std::erase_if(digits, [](const Stride& digit) { return digit.count == 1; });
  std::sort(digits.begin(), digits.end(), [](const Stride& a, const Stride& b) { return a.stride < b.stride; });
  std::vector<Stride> joined;
  for (const auto& digit : digits) {
    if (!joined.empty() && joined.back().stride * joined.back().count == digit.stride) {
      joined.back().count *= digit.count;
    } else {
      joined.push_back(digit);
    }
  }
  return joined;
}

}  // namespace

Fold::Fold(const Layout& layout, std::span<const Rank> apart, bool unfold) : layout_(layout) {
  for (const Dimension dimension : all_dimensions) add_dimension(dimension, apart, unfold);
  add_roles();
}

// Stages always differ; elsewhere the coordinates of the ranks that are apart, each alone, and all the rest.
void Fold::add_dimension(Dimension dimension, std::span<const Rank> apart, bool unfold) {
  auto& classes = classes_[at(dimension)];
  const std::int64_t size = layout_.size(dimension);
  if (unfold || dimension == Dimension::pipeline) {
    for (std::int64_t i = 0; i < size; ++i) classes.push_back({{i, i + 1}});
    return;
  }
  std::vector<std::int64_t> alone;
  for (const Rank rank : apart) alone.push_back(layout_.coordinates(rank)[at(dimension)]);
  std::sort(alone.begin(), alone.end());
  alone.erase(std::unique(alone.begin(), alone.end()), alone.end());

  Class rest;
  std::int64_t begin = 0;
  for (const std::int64_t i : alone) {
    if (begin < i) rest.push_back({begin, i});
    begin = i + 1;
  }
  if (begin < size) rest.push_back({begin, size});
  if (!rest.empty()) classes.push_back(std::move(rest));
  for (const std::int64_t i : alone) classes.push_back({{i, i + 1}});
}

template <class Visit>
void Fold::for_each_combination(const std::array<bool, dimension_count>& varies, Visit visit) const {
  std::array<std::size_t, dimension_count> chosen{};
  const auto count = [&](Dimension d) { return varies[at(d)] ? classes_[at(d)].size() : 1; };
  for (chosen[2] = 0; chosen[2] < count(Dimension::pipeline); ++chosen[2]) {
    for (chosen[3] = 0; chosen[3] < count(Dimension::data); ++chosen[3]) {
      for (chosen[1] = 0; chosen[1] < count(Dimension::context); ++chosen[1]) {
        for (chosen[0] = 0; chosen[0] < count(Dimension::tensor); ++chosen[0]) visit(chosen);
      }
    }
  }
}

void Fold::add_roles() {
  for_each_combination({true, true, true, true}, [&](const auto& chosen) {
    Role role;
    role.classes = chosen;
    role.stage = static_cast<std::int64_t>(chosen[at(Dimension::pipeline)]);
    std::array<const Class*, dimension_count> classes{};
    for (std::size_t d = 0; d < dimension_count; ++d) classes[d] = &classes_[d][chosen[d]];
    role.ranks = boxes(classes);
    role.name = name_of(role);
    roles_.push_back(std::move(role));
  });
}

std::uint32_t Fold::role_at(const std::array<std::size_t, dimension_count>& chosen) const {
  const std::size_t t = classes_[0].size();
  const std::size_t c = classes_[1].size();
  const std::size_t d = classes_[3].size();
  return static_cast<std::uint32_t>(((chosen[2] * d + chosen[3]) * c + chosen[1]) * t + chosen[0]);
}

std::string Fold::name_of(const Role& role) const {
  std::string name = fmt::format("stage {}", role.stage);
  for (const Dimension dimension : {Dimension::tensor, Dimension::context, Dimension::data}) {
    const auto& classes = classes_[at(dimension)];
    if (classes.size() == 1) continue;
    std::vector<std::string> parts;
    for (const auto& [begin, end] : classes[role.classes[at(dimension)]]) {
      parts.push_back(end - begin == 1 ? fmt::format("{}", begin) : fmt::format("{}-{}", begin, end - 1));
    }
    name += fmt::format(", {} {}", enum_name(dimension), fmt::join(parts, "+"));
  }
  return name;
}

std::vector<RankBox> Fold::boxes(const std::array<const Class*, dimension_count>& classes) const {
  std::vector<RankBox> result = {RankBox{}};
  for (const Dimension dimension : all_dimensions) {
    if (classes[at(dimension)] == nullptr) continue;
    const std::int64_t stride = layout_.stride(dimension);
    std::vector<RankBox> next;
    for (const auto& box : result) {
      for (const auto& [begin, end] : *classes[at(dimension)]) {
        RankBox cut = box;
        cut.base += begin * stride;
        cut.digits.push_back({end - begin, stride});
        next.push_back(std::move(cut));
      }
    }
    result = std::move(next);
  }
  for (auto& box : result) box.digits = tidy(std::move(box.digits));
  return result;
}

std::vector<Fold::Communicator> Fold::along(std::span<const Dimension> dimensions) const {
  std::array<bool, dimension_count> is_inside{};
  std::vector<Stride> digits;
  for (const Dimension dimension : dimensions) {
    is_inside[at(dimension)] = true;
    digits.push_back({layout_.size(dimension), layout_.stride(dimension)});
  }
  std::array<bool, dimension_count> is_outside{};
  for (std::size_t d = 0; d < dimension_count; ++d) is_outside[d] = !is_inside[d];

  std::vector<Communicator> result;
  for_each_combination(is_outside, [&](const auto& chosen) {
    Communicator communicator;
    communicator.group.members = {0, tidy(digits)};
    std::array<const Class*, dimension_count> classes{};
    for (std::size_t d = 0; d < dimension_count; ++d) classes[d] = is_outside[d] ? &classes_[d][chosen[d]] : nullptr;
    communicator.group.instances = boxes(classes);
    for_each_combination(is_inside, [&](const auto& inside) {
      auto all = chosen;
      for (std::size_t d = 0; d < dimension_count; ++d) {
        if (is_inside[d]) all[d] = inside[d];
      }
      communicator.roles.push_back(role_at(all));
    });
    result.push_back(std::move(communicator));
  });
  return result;
}

std::vector<Fold::Communicator> Fold::between(std::int64_t from, std::int64_t to) const {
  WARPLOOM_CHECK(from != to, "stage {} sends to itself", from);
  constexpr std::size_t pipeline = at(Dimension::pipeline);
  std::vector<Communicator> result;
  for_each_combination({true, true, false, true}, [&](auto chosen) {
    Communicator communicator;
    communicator.group.members = {0, {{2, (to - from) * layout_.stride(Dimension::pipeline)}}};
    std::array<const Class*, dimension_count> classes{};
    chosen[pipeline] = static_cast<std::size_t>(from);
    for (std::size_t d = 0; d < dimension_count; ++d) classes[d] = &classes_[d][chosen[d]];
    communicator.group.instances = boxes(classes);
    communicator.roles.push_back(role_at(chosen));
    chosen[pipeline] = static_cast<std::size_t>(to);
    communicator.roles.push_back(role_at(chosen));
    result.push_back(std::move(communicator));
  });
  return result;
}

}  // namespace warploom
