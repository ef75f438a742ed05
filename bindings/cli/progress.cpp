// SPDX-License-Identifier: Apache-2.0
// One line that is rewritten on a terminal, a line now and then elsewhere.
#include "bindings/cli/progress.hpp"

#include <fmt/format.h>

namespace warploom {

namespace {
using namespace std::chrono_literals;
constexpr std::string_view erase_line = "\r\033[K";
}  // namespace

Progress::Progress(const Console& console, ProgressMode mode, std::string verb, std::string unit)
    : console_(console),
      mode_(mode),
      verb_(std::move(verb)),
      unit_(std::move(unit)),
      on_terminal_(console.tells_a_terminal()) {
  if (mode_ == ProgressMode::automatic && !on_terminal_) mode_ = ProgressMode::none;
  next_ = mode_ == ProgressMode::always ? begun_ : begun_ + 1s;
  if (mode_ == ProgressMode::always && !on_terminal_) console_.tell(verb_ + "\n");
}

Progress::~Progress() {
  if (has_line_) console_.tell(erase_line);
}

bool Progress::is_due() {
  if (mode_ == ProgressMode::none) return false;
  const auto now = Clock::now();
  if (now < next_) return false;
  next_ = now + (on_terminal_ ? 100ms : 1000ms);
  return true;
}

void Progress::show(const std::string& text) {
  if (on_terminal_) {
    console_.tell(fmt::format("{}{}", erase_line, text));
    has_line_ = true;
  } else {
    console_.tell(text + "\n");
  }
}

void Progress::operator()(std::size_t done, std::size_t all) {
  if (!is_due()) return;
  const double share = all > 0 ? static_cast<double>(done) / static_cast<double>(all) : 1;
  const double elapsed = std::chrono::duration<double>(Clock::now() - begun_).count();
  show(all > 0 ? fmt::format("{}: {:3.0f}%, {} of {} {}, {:.1f} s", verb_, 100 * share, done, all, unit_, elapsed)
               : fmt::format("{}: {} {}, {:.1f} s", verb_, done, unit_, elapsed));
}

void Progress::say(const std::string& stage) {
  if (!is_due()) return;
  const double elapsed = std::chrono::duration<double>(Clock::now() - begun_).count();
  show(fmt::format("{}: {}, {:.1f} s", verb_, stage, elapsed));
}

}  // namespace warploom
