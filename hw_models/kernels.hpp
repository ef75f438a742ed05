// SPDX-License-Identifier: Apache-2.0
// The kernel families: what a kernel computes, moves and costs. kernels.cpp lists them all.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hw_models/device.hpp"
#include "sim/core/units.hpp"
#include "sim/play/ports.hpp"
#include "sim/work/kernel.hpp"

namespace warploom {

// One of Kernel::size, as the command line, tables and error texts call it.
struct KernelParameter {
  std::string_view name;  // `kv_heads`
  std::string_view meaning;
  std::optional<std::int64_t> usual{};  // what it is where nobody says; none: must be said
  std::int64_t least = 1;
};

// One bit of Kernel::flags.
struct KernelFlag {
  std::string_view name;  // `causal`
  std::uint32_t bit = 0;
  std::string_view meaning;
};

// One way in which a kernel library could do a kernel.
struct KernelCandidate {
  std::string what;   // `128 x 256, k in 2 parts`
  Kernel kernel;      // with that choice named: any model can time it
  double waves = 0;   // blocks over SMs
  double steps = 0;   // of the main loop, of one block
  double parts = 1;   // of the sums
  Cycles nominal{0};  // by the rule's own count
  bool is_chosen = false;
  std::string why;  // it is taken, or not
  Time duration;    // predicted by whoever asks for it, the gap before it included
};

// What a library does with a kernel, and why.
struct KernelChoice {
  std::string by;                           // `caller`, `table`, `rule`; empty for families without a choice
  std::string why;                          // in a sentence
  std::vector<KernelCandidate> candidates;  // of the rule, the best first, and what was chosen
  std::size_t left_out = 0;                 // candidates that are worse than these
};

class KernelFamily {
 public:
  virtual ~KernelFamily() = default;
  virtual std::string_view name() const = 0;
  virtual std::string_view meaning() const = 0;
  // What Kernel::size holds, in that order.
  virtual std::span<const KernelParameter> parameters() const = 0;
  virtual std::span<const KernelFlag> flags() const { return {}; }
  // Of the result, where nobody says: products of narrow types leave 16 bits.
  virtual DataType usual_output(DataType input) const { return bits(input) <= 8 ? DataType::bf16 : input; }
  // Bits of the narrowest values that it takes; fewer than 8 share a byte.
  virtual int least_bits() const { return 4; }
  // Throws UserError when a size is out of range or the sizes do not fit together.
  void check(const Kernel& kernel) const;
  virtual Flops flops(const Kernel& kernel) const = 0;
  // Compulsory traffic: every input read once, every output written once.
  virtual Bytes bytes(const Kernel& kernel) const = 0;
  // Alone on the device; the gap before it is the timer's.
  virtual KernelCost cost(const Kernel& kernel, const DeviceSpec& device) const = 0;
  // What the library could have chosen, and what it does.
  virtual KernelChoice choice(const Kernel&, const DeviceSpec&) const { return {}; }

 protected:
  // What must hold between sizes that are in range one by one.
  virtual void check_together(const Kernel&) const {}
};

std::span<const KernelFamily* const> kernel_families();

// Throws InternalError for a family that is not listed.
const KernelFamily& kernel_family(std::string_view name);

// Shorthand, checks included.
Flops flops(const Kernel& kernel);
Bytes bytes(const Kernel& kernel);

}  // namespace warploom
