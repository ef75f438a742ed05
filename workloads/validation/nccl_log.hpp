// SPDX-License-Identifier: Apache-2.0
// What nccl-tests prints, as a table of collectives.
//
// The columns are those of net/collectives.csv: device, fabric, nodes, gpus, library, op, algo, dtype, bytes, time_us
// (out of place, one call), note, source. `#  Rank` lines say devices and hosts, `NCCL version` the library; the
// operation stands in newer logs, else in the file's name.
#pragma once

#include <string>
#include <string_view>

#include "sim/core/csv.hpp"

namespace warploom {

bool is_nccl_log(std::string_view text);

// CSV text; `name` stands for the file in messages. Throws UserError for a log without measurements, and where nothing
// says which operation it is.
std::string nccl_log_as_csv(std::string_view text, const std::string& name);

// A CSV file, or the output of nccl-tests.
CsvReader open_measured_table(const std::string& path);

}  // namespace warploom
