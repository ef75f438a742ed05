// SPDX-License-Identifier: Apache-2.0
// A counter that all threads draw their next job from.
#include "sim/core/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace warploom {

namespace {

class Jobs {
 public:
  Jobs(std::size_t count, const std::function<void(std::size_t)>& job) : job_(job), end_(count) {}

  // Jobs are drawn in order, so that all before one that fails have been drawn.
  void work() {
    for (std::size_t i = next_++; i < end_; i = next_++) {
      try {
        job_(i);
      } catch (...) {
        fail(i);
      }
    }
  }
  void finish() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  void fail(std::size_t job) {
    const std::scoped_lock lock(mutex_);
    if (error_ && failed_ < job) return;
    error_ = std::current_exception();
    failed_ = job;
    end_ = std::min(end_.load(), job);
  }

  const std::function<void(std::size_t)>& job_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<std::size_t> end_;
  std::mutex mutex_;
  std::exception_ptr error_;
  std::size_t failed_ = 0;
};

}  // namespace

void in_parallel(std::size_t count, const std::function<void(std::size_t)>& job) {
  Jobs jobs(count, job);
  {
    std::vector<std::jthread> others;
    const std::size_t threads = std::min<std::size_t>(count, std::thread::hardware_concurrency());
    for (std::size_t i = 1; i < threads; ++i) others.emplace_back([&jobs] { jobs.work(); });
    jobs.work();
  }
  jobs.finish();
}

void in_parallel(const std::function<void()>& one, const std::function<void()>& other) {
  in_parallel(2, [&](std::size_t i) { i == 0 ? one() : other(); });
}

}  // namespace warploom
