// SPDX-License-Identifier: Apache-2.0
// Reads profiles of Huawei's Ascend profiler: a folder as a whole, a trace_view.json alone, or a database alone.
#pragma once

#include <memory>

#include "traces/readers.hpp"
#include "traces/sqlite_database.hpp"

namespace warploom {

// A database alone comes by way of the Nsight Systems reader, which recognises any SQLite file.
std::unique_ptr<const TraceReader> make_ascend_reader();
std::vector<Capture> read_ascend_database(const SqliteDatabase& database, const ReadOptions& options);

}  // namespace warploom
