// SPDX-License-Identifier: Apache-2.0
// How far a run is, on standard error: only where somebody waits for it.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "bindings/cli/console.hpp"

namespace warploom {

enum class ProgressMode {
  none,
  automatic,  // on a terminal, once it has taken a second
  always,     // from the start, as lines where it is no terminal
};

class Progress {
 public:
  // "simulating: 40%, 2 of 5 operations, 1.2 s"; where nobody knows how many there are, "simulating: 2 operations".
  Progress(const Console& console, ProgressMode mode, std::string verb = "simulating", std::string unit = "operations");
  // Takes its line away again.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void operator()(std::size_t done, std::size_t all);
  // A stage in words, with the time beside it.
  void say(const std::string& stage);

 private:
  bool is_due();
  void show(const std::string& text);

  using Clock = std::chrono::steady_clock;

  const Console& console_;
  ProgressMode mode_;
  std::string verb_;
  std::string unit_;
  bool on_terminal_;
  bool has_line_ = false;
  Clock::time_point begun_ = Clock::now();
  Clock::time_point next_;
};

}  // namespace warploom
