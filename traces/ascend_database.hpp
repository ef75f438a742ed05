// SPDX-License-Identifier: Apache-2.0
// Reads the database form of an Ascend profile (ascend_pytorch_profiler_N.db, msprof_N.db), and analysis.db beside it.
#pragma once

#include "traces/ascend_capture.hpp"
#include "traces/sqlite_database.hpp"

namespace warploom::ascend {

bool is_profile(const SqliteDatabase& database);
void read_profile(const SqliteDatabase& database, Builder& builder);
// Step times, and how long each communication moved bytes.
void read_analysis(const SqliteDatabase& database, Builder& builder);

}  // namespace warploom::ascend
