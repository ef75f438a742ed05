// SPDX-License-Identifier: Apache-2.0
// Operations of a captured and of a generated step in the words that both are aligned by.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "sim/play/timeline.hpp"
#include "sim/work/program.hpp"
#include "traces/captured_run.hpp"
#include "workloads/overlay/align.hpp"

namespace warploom {

// What a name says; `nothing` where it says nothing of the list.
OverlayWord word_of(std::string_view name);
OverlayWord word_of(CollectiveKind kind);
OpClass class_of(const Kernel& kernel);
// Equal for products of equal sizes (whichever operand comes first), attention of equal sizes, and small kernels of as
// many elements; 0 where the family tells no size.
std::uint64_t shape_key(const Kernel& kernel);

// The operators' kernels, each text parsed once.
class CapturedKernels {
 public:
  explicit CapturedKernels(const Capture& capture);
  std::optional<Kernel> of(std::uint32_t op);

 private:
  const Capture& capture_;
  std::vector<std::uint32_t> detail_of_op_;  // empty where there are none
  std::map<std::tuple<TextId, TextId, TextId, TextId, OpClass>, std::optional<Kernel>> kernels_;
};

// Of one product; zeros for what is none, or not of known shape, or of several matrices.
struct ProductSize {
  std::array<std::int64_t, 3> mnk{};
  bool is_known() const { return mnk[0] > 0; }
};

// One side: computation (copies with it) and communication, each in order of start.
template <class Id>
struct OverlayLane {
  std::vector<Id> ids;
  std::vector<OverlayToken> tokens;
  std::vector<std::int64_t> parts;  // operations that the token stands for: 1, of joined products more
};

struct CapturedSide {
  std::array<OverlayLane<std::uint32_t>, 2> lanes;  // computation, communication
  std::vector<ProductSize> products;                // of the tokens of computation
  std::vector<DeviceOp> ops;                        // for the totals
  Nanoseconds waiting = 0;
};
// Of the operations that `counts` says so of.
CapturedSide captured_side(const CapturedRun& run, std::uint32_t capture, const std::vector<bool>& counts);

// Projections that the model has as one product and the run as several (queries, keys and values; gate and up):
// products that agree in two sizes and sum up to one of `model` in the third become one token, where the first stands.
// Returns how many were joined into others.
std::int64_t join_split_products(CapturedSide& side, const std::vector<ProductSize>& model);

struct GeneratedSide {
  std::array<OverlayLane<RowId>, 2> lanes;
  std::vector<ProductSize> products;  // of the tokens of computation
  std::vector<DeviceOp> ops;
};
// Which rows of the step: all, forward passes, or the forward pass of the first micro-batch.
enum class GeneratedPart : std::uint8_t { step, forward_passes, one_forward_pass };
GeneratedSide generated_side(const Program& program, const Timeline& timeline, RoleId role, GeneratedPart part);

}  // namespace warploom
