// SPDX-License-Identifier: Apache-2.0
// A device as data: units, clocks, rates, memories, power, and the constants of its architecture's kernels.
//
// Peaks are derived: SMs x clock x FLOP a clock and SM. A data-sheet peak may stand in `check`; it must follow from
// them within 2%, and says nothing once something above the file it is written in (another file, the command line) has
// changed one of its inputs.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hw_models/architecture.hpp"
#include "sim/core/config.hpp"
#include "sim/core/config_instance.hpp"
#include "sim/core/units.hpp"
#include "sim/work/data_type.hpp"

namespace warploom {

struct SmSpec {
  int count = 0;
  int threads = 2048;
  Bytes shared_memory{0};
  double shared_memory_bytes_per_cycle = 128;
  double vector_lanes = 0;
  double special_function_lanes = 0;
  double integer_lanes = 64;
  int registers = 65536;
  int blocks = 32;
  int tensor_memory_columns = 0;
  static auto fields() {
    return field_list(
        field("count", &SmSpec::count, "streaming multiprocessors").in(1, 100000),
        field("threads", &SmSpec::threads, "resident threads an SM at most").optional().in(32, 65536),
        field("shared_memory", &SmSpec::shared_memory, "shared memory that the blocks of an SM may use").positive(),
        field("shared_memory_bytes_per_cycle", &SmSpec::shared_memory_bytes_per_cycle,
              "bytes a clock between shared memory and an SM's units")
            .optional()
            .in(1, 65536),
        field("vector_lanes", &SmSpec::vector_lanes, "FP32 multiply-adds a clock and SM").in(1, 65536),
        field("special_function_lanes", &SmSpec::special_function_lanes, "exponentials a clock and SM").in(1, 65536),
        field("integer_lanes", &SmSpec::integer_lanes, "integer instructions, compares and conversions a clock and SM")
            .optional()
            .in(1, 65536),
        field("registers", &SmSpec::registers, "32-bit registers an SM").optional().in(1024, 1 << 24),
        field("blocks", &SmSpec::blocks, "resident blocks an SM at most").optional().in(1, 4096),
        field("tensor_memory_columns", &SmSpec::tensor_memory_columns, "columns of tensor memory, 128 lanes of 32 bits")
            .optional()
            .in(0, 65536));
  }
};

struct ClockSpec {
  Frequency max{0};
  Frequency data_sheet{0};
  std::optional<Frequency> locked;

  Frequency highest() const { return locked.value_or(max); }  // that kernels run at
  static auto fields() {
    return field_list(
        field("max", &ClockSpec::max, "highest clock, when power allows").in(1_MHz, 100_GHz),
        field("data_sheet", &ClockSpec::data_sheet, "clock that the data sheet's tensor peaks are quoted at")
            .in(1_MHz, 100_GHz),
        field("locked", &ClockSpec::locked,
              "clock that the SMs are held at, power permitting (`nvidia-smi -lgc`); without: the highest")
            .in(1_MHz, 100_GHz));
  }
};

struct L2Spec {
  Bytes capacity{0};
  double bytes_per_cycle_per_sm = 0;
  Cycles latency{0};
  static auto fields() {
    return field_list(
        field("capacity", &L2Spec::capacity, "all of it").positive(),
        field("bytes_per_cycle_per_sm", &L2Spec::bytes_per_cycle_per_sm, "read bandwidth when every SM reads")
            .in(0.01, 65536),
        field("latency", &L2Spec::latency, "from an SM's load to its data, idle").in(1_cycles, 100000_cycles));
  }
};

struct MemorySpec {
  Bytes capacity{0};
  Bytes usable{0};
  Bandwidth bandwidth{0};
  double reached = 0.9;
  Cycles latency{0};
  static auto fields() {
    return field_list(
        field("capacity", &MemorySpec::capacity, "raw").positive(),
        field("usable", &MemorySpec::usable, "what the driver leaves to programs").positive(),
        field("bandwidth", &MemorySpec::bandwidth, "of the interface").in(Bandwidth(1e6), Bandwidth(1e18)),
        field("reached", &MemorySpec::reached, "share of the bandwidth that a long stream reaches").in(0.01, 1),
        field("latency", &MemorySpec::latency, "from an SM's load to its data, idle").in(1_cycles, 100000_cycles));
  }
};

// Time between dependent kernels on one stream that the device itself needs, whatever the host does.
struct LaunchSpec {
  Time graph;
  Time stream;
  static auto fields() {
    return field_list(
        field("graph", &LaunchSpec::graph, "gap between dependent kernels of a captured graph").at_most(1_s),
        field("stream", &LaunchSpec::stream, "gap between dependent kernels of a stream").at_most(1_s));
  }
};

struct PowerSpec {
  Power limit{0};
  Power idle{0};
  static auto fields() {
    return field_list(field("limit", &PowerSpec::limit, "of the board").in(1_W, Power(1e6)),
                      field("idle", &PowerSpec::idle, "with clocks up and nothing computed").in(0_W, Power(1e6)));
  }
};

struct DeviceSpec {
  std::string name;
  std::string source;
  std::vector<std::string> aliases;
  SmSpec sm;
  ClockSpec clock;
  std::map<std::string, double> tensor;         // by data type: dense FLOP a clock and SM
  std::map<std::string, double> sparse_tensor;  // the same with 2:4 sparsity
  L2Spec l2;
  MemorySpec memory;
  LaunchSpec launch;
  PowerSpec power;
  // Data-sheet peaks by data type, `vector` for FP32 without tensor cores.
  std::map<std::string, FlopRate> data_sheet_peaks;
  std::map<std::string, FlopRate> data_sheet_sparse_peaks;
  ArchitectureSpec architecture;

  bool has(DataType type) const { return tensor.contains(std::string(warploom::name(type))); }
  // Throws UserError, naming the types that the device has.
  double tensor_flops_per_cycle(DataType type) const;  // a clock and SM, dense
  double sparse_flops_per_cycle(DataType type) const;  // with 2:4 sparsity, what is left out counted
  FlopRate peak(DataType type) const;                  // at the data sheet's clock, dense
  FlopRate peak_at(DataType type, Frequency clock) const;
  FlopRate vector_peak_at(Frequency clock) const;  // FP32 on the vector lanes, multiply-add = 2
  Bandwidth reached_bandwidth() const { return memory.bandwidth * memory.reached; }
  Bandwidth l2_bandwidth_at(Frequency clock) const;
  // FLOP a byte at which peak arithmetic and raw memory bandwidth meet.
  double ridge(DataType type) const { return peak(type).value() / memory.bandwidth.value(); }
  bool fits(Bytes bytes) const { return bytes <= memory.usable; }

  static auto fields() {
    return field_list(
        field("name", &DeviceSpec::name, "what reports call it"),
        field("source", &DeviceSpec::source, "where its numbers come from").optional(),
        field("aliases", &DeviceSpec::aliases, "other names it goes by").optional(),
        field("sm", &DeviceSpec::sm, "one streaming multiprocessor, and how many there are"),
        field("clock", &DeviceSpec::clock, "clocks of the SMs"),
        field("tensor", &DeviceSpec::tensor, "tensor FLOP a clock and SM by data type, dense").in(1, 1e9),
        field("sparse_tensor", &DeviceSpec::sparse_tensor, "tensor FLOP a clock and SM by data type with 2:4 sparsity")
            .optional()
            .in(1, 1e9),
        field("l2", &DeviceSpec::l2, "second-level cache"), field("memory", &DeviceSpec::memory, "device memory (HBM)"),
        field("launch", &DeviceSpec::launch, "gaps between kernels"),
        field("power", &DeviceSpec::power, "limit and idle power"),
        field("check", &DeviceSpec::data_sheet_peaks, "data-sheet peaks that must follow, by data type or `vector`")
            .optional(),
        field("sparse_check", &DeviceSpec::data_sheet_sparse_peaks,
              "data-sheet peaks with 2:4 sparsity that must follow")
            .optional(),
        field("architecture", &DeviceSpec::architecture, "constants that all devices of its architecture share"));
  }
  static void check(const DeviceSpec& device, const ConfigValue& at, Diagnostics& diagnostics);
};

WARPLOOM_DECLARE_CONFIG(ArchitectureSpec);
WARPLOOM_DECLARE_CONFIG(DeviceSpec);

}  // namespace warploom
