// SPDX-License-Identifier: Apache-2.0
// One line that is rewritten on a terminal, a line now and then elsewhere.
#include "bindings/cli/progress.hpp"

#include <fmt/format.h>

namespace warploom {

namespace {
using namespace std::chrono_literals;
constexpr std::string_view erase_line = "\r\033[K";
}  // namespace

Progress::Progress(const Console& console, ProgressMode mode)
    : console_(console), mode_(mode), on_terminal_(console.tells_a_terminal()) {
  if (mode_ == ProgressMode::automatic && !on_terminal_) mode_ = ProgressMode::none;
  next_ = mode_ == ProgressMode::always ? begun_ : begun_ + 1s;
  if (mode_ == ProgressMode::always && !on_terminal_) console_.tell("simulating\n");
}

Progress::~Progress() {
  if (has_line_) console_.tell(erase_line);
}

void Progress::operator()(std::size_t done, std::size_t all) {
  if (mode_ == ProgressMode::none) return;
  const auto now = Clock::now();
  if (now < next_) return;
  next_ = now + (on_terminal_ ? 100ms : 1000ms);
  const double share = all > 0 ? static_cast<double>(done) / static_cast<double>(all) : 1;
  const double elapsed = std::chrono::duration<double>(now - begun_).count();
  const auto text = fmt::format("simulating: {:3.0f}%, {} of {} operations, {:.1f} s", 100 * share, done, all, elapsed);
  if (on_terminal_) {
    console_.tell(fmt::format("{}{}", erase_line, text));
    has_line_ = true;
  } else {
    console_.tell(text + "\n");
  }
}

}  // namespace warploom
