// SPDX-License-Identifier: Apache-2.0
// Ctrl-C and kill: a thread waits for the signal, undoes what is unfinished and ends the process, whatever else runs.
#pragma once

#include <functional>
#include <mutex>
#include <thread>

namespace warploom {

class Interrupts {
 public:
  // `end` is called once, in the waiting thread, with 128 + the number of the signal; it does not return in the command
  // itself. Construct before any other thread: the signals are blocked for all threads that follow.
  explicit Interrupts(std::function<void(int exit_code)> end);
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  // Runs `step` so that an interrupt comes before or after it, never inside.
  template <class Step>
  void uninterrupted(Step step) {
    const std::scoped_lock lock(mutex_);
    step();
  }
  // What to undo when an interrupt comes; an empty function when nothing is unfinished. Call inside uninterrupted().
  void set_undo(std::function<void()> undo) { undo_ = std::move(undo); }

 private:
  void wait();

  std::function<void(int)> end_;
  std::mutex mutex_;
  std::function<void()> undo_;
  int signals_ = -1;  // signalfd
  int stop_ = -1;     // eventfd
  std::thread thread_;
};

}  // namespace warploom
