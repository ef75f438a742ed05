// SPDX-License-Identifier: Apache-2.0
// Speed of the readers of Nsight Systems and XPlane, on files made here: operations a second, bytes a second.
#include <benchmark/benchmark.h>
#include <sqlite3.h>

#include <cstdint>
#include <string>

#include "traces/nsight_reader.hpp"
#include "traces/xplane_reader.hpp"

namespace {

using namespace warploom;

constexpr std::int64_t process = (std::int64_t{1} << 56) | (std::int64_t{5} << 24);

// As many kernels as launches, of ten names on four streams.
std::string report(std::int64_t kernels) {
  sqlite3* database = nullptr;
  sqlite3_open(":memory:", &database);
  const std::string statements =
      "CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,"
      " streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER,"
      " nameId INTEGER, eventClass INTEGER);"
      "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n WHERE i < 10) INSERT INTO StringIds SELECT i,"
      " 'void kernel_' || i || '<float>(float*)' FROM n;"
      "UPDATE StringIds SET value = 'cudaLaunchKernel_v7000' WHERE id = 10;"
      "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n WHERE i < " +
      std::to_string(kernels - 1) +
      ") INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT i*10000, i*10000+9000, 0, 1, i%4, i+1, " +
      std::to_string(process) +
      ", i%10 FROM n;"
      "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT start-5000, start-1000, globalPid+5, correlationId, 10, 0 FROM "
      "CUPTI_ACTIVITY_KIND_KERNEL;";
  sqlite3_exec(database, statements.c_str(), nullptr, nullptr, nullptr);
  sqlite3_int64 size = 0;
  unsigned char* bytes = sqlite3_serialize(database, "main", &size, 0);
  std::string file(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  sqlite3_free(bytes);
  sqlite3_close(database);
  return file;
}

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 128; value >>= 7U) bytes += static_cast<char>((value & 127U) | 128U);
  return bytes + static_cast<char>(value);
}
std::string number(unsigned field, std::uint64_t value) { return varint(field << 3U) + varint(value); }
std::string bytes(unsigned field, const std::string& content) {
  return varint((field << 3U) | 2U) + varint(content.size()) + content;
}

std::string space(std::uint64_t events) {
  std::string line = bytes(2, "Stream #1(Kernel)") + number(3, 1000);
  for (std::uint64_t i = 0; i < events; ++i) {
    line += bytes(4, number(1, 1 + i % 10) + number(2, i * 10'000'000) + number(3, 9'000'000) +
                         bytes(4, number(1, 1) + number(3, i + 1)));
  }
  std::string plane = bytes(2, "/device:GPU:0") + bytes(3, line);
  for (std::uint64_t i = 1; i <= 10; ++i) {
    plane += bytes(4, number(1, i) + bytes(2, number(1, i) + bytes(2, "fusion." + std::to_string(i))));
  }
  return bytes(1, plane + bytes(5, number(1, 1) + bytes(2, number(1, 1) + bytes(2, "correlation_id"))));
}

void read(benchmark::State& state, const TraceReader& reader, const std::string& file, std::int64_t operations) {
  for (auto _ : state) {
    const auto source = bytes_of("bench", file);
    benchmark::DoNotOptimize(reader.read(*source, {}));
  }
  state.SetItemsProcessed(state.iterations() * operations);
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(file.size()));
}

void nsight_rows(benchmark::State& state) {
  read(state, *make_nsight_reader(), report(state.range(0)), 2 * state.range(0));
}
void xplane_events(benchmark::State& state) {
  read(state, *make_xplane_reader(), space(static_cast<std::uint64_t>(state.range(0))), state.range(0));
}

BENCHMARK(nsight_rows)->Arg(200'000)->Unit(benchmark::kMillisecond);
BENCHMARK(xplane_events)->Arg(500'000)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
