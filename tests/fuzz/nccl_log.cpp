// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes are either a log of nccl-tests, which is then a table, or a UserError; never a crash.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "workloads/validation/nccl_log.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace warploom;
  try {
    CsvReader table =
        CsvReader::from_text(nccl_log_as_csv({reinterpret_cast<const char*>(data), size}, "all_reduce.log"), "log");
    table.require({"op", "bytes", "time_us"});
  } catch (const UserError& error) {
    if (error.message().empty()) std::abort();
  }
  return 0;
}
