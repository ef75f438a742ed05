// SPDX-License-Identifier: Apache-2.0
// Jobs that do not depend on each other, on all cores: the results are the same as one after another.
#pragma once

#include <cstddef>
#include <functional>

namespace warploom {

// Runs job(0) to job(count - 1), each once; the thread of the caller takes part. Of jobs that throw, the one with the
// least number is heard, as if they had run in order; later ones may then not have run.
void in_parallel(std::size_t count, const std::function<void(std::size_t)>& job);
// Both; of the two the first is heard first.
void in_parallel(const std::function<void()>& one, const std::function<void()>& other);

}  // namespace warploom
