// SPDX-License-Identifier: Apache-2.0
// Signals arrive through a signalfd, so that their handling is ordinary code: no handlers, no global state.
#include "bindings/cli/interrupts.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <utility>

#include "sim/core/errors.hpp"

namespace warploom {

namespace {

// Those that ask to end, but for the ones that our caller had ignored (nohup, background jobs).
sigset_t wanted_signals() {
  sigset_t wanted;
  sigemptyset(&wanted);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction now = {};
    sigaction(signal, nullptr, &now);
    if (now.sa_handler != SIG_IGN) sigaddset(&wanted, signal);
  }
  return wanted;
}

}  // namespace

Interrupts::Interrupts(std::function<void(int)> end) : end_(std::move(end)) {
  const sigset_t wanted = wanted_signals();
  pthread_sigmask(SIG_BLOCK, &wanted, nullptr);
  signals_ = signalfd(-1, &wanted, SFD_CLOEXEC);
  stop_ = eventfd(0, EFD_CLOEXEC);
  WARPLOOM_CHECK(signals_ >= 0 && stop_ >= 0, "no descriptors for signals");
  thread_ = std::thread([this] { wait(); });
}

Interrupts::~Interrupts() {
  const std::uint64_t one = 1;
  while (::write(stop_, &one, sizeof one) < 0 && errno == EINTR) {
  }
  thread_.join();
  ::close(stop_);
  ::close(signals_);
}

void Interrupts::wait() {
  while (true) {
    pollfd watched[2] = {{signals_, POLLIN, 0}, {stop_, POLLIN, 0}};
    if (::poll(watched, 2, -1) < 0 && errno != EINTR) return;
    if (watched[0].revents & POLLIN) {
      signalfd_siginfo signal = {};
      if (::read(signals_, &signal, sizeof signal) != sizeof signal) continue;
      const std::scoped_lock lock(mutex_);
      const auto undo = std::move(undo_);  // it may clear undo_
      if (undo) undo();
      end_(128 + static_cast<int>(signal.ssi_signo));
      return;
    }
    if (watched[1].revents & POLLIN) return;
  }
}

}  // namespace warploom
