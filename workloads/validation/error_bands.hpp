// SPDX-License-Identifier: Apache-2.0
// How far predictions of a class have been from measurements, as the last calibration found and wrote down
// (configs/calibration/residuals.yaml).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/library.hpp"

namespace warploom {

class ValidationContext;
struct DeviceSpec;
struct RowGroup;

struct ErrorBand {
  std::string kind;    // of table: `gemm`
  std::string device;  // canonical
  std::string dtype;
  std::string size_class;  // with the group's other keys: `prefill long`; see band_class()
  std::int64_t rows = 0;
  double mape = 0;                               // in sample
  std::optional<double> leave_one_set_out_mape;  // fitted without the row's set
  // predicted / measured at the 10th and 90th percentile: divide a prediction by them for the band of the measurement.
  double ratio_p10 = 1;
  double ratio_p90 = 1;
  bool is_borrowed = false;  // of another device, data type or number of ranks, or of more than this kernel
  std::string besides;       // what its measured rows hold besides the kernel: "the quantisation"
};

// The device that a band is wanted for: what decides whose band it may borrow.
struct BandDevice {
  std::string name;          // of its records: canonical, or the name of a file
  std::string architecture;  // as device files call it
  double bandwidth = 0;      // of its memory, bytes/s
};

BandDevice band_device(const std::string& name, const DeviceSpec& device);

class ErrorBands {
 public:
  ErrorBands() = default;
  explicit ErrorBands(std::vector<ErrorBand> bands, std::vector<BandDevice> devices = {})
      : bands_(std::move(bands)), devices_(std::move(devices)) {}
  // Empty where the library has no records.
  static ErrorBands load(const Library& library);
  // The same, and the devices of the records: kernels borrow by them.
  static ErrorBands load_with_devices(const Library& library);

  const std::vector<ErrorBand>& all() const { return bands_; }
  // Whether a device of this architecture has records; needs the devices.
  bool has_architecture(std::string_view architecture) const;
  // Exactly this class; null where nothing was recorded.
  const ErrorBand* find(std::string_view kind, std::string_view device, std::string_view dtype,
                        std::string_view size_class) const;
  // Of kernels: exactly this class, else the same class and data type of a device of the same architecture, else of the
  // device whose memory is nearest in bandwidth; the last two borrowed, where devices were loaded. Another class or
  // data type says nothing.
  std::optional<ErrorBand> band(std::string_view kind, const BandDevice& device, std::string_view dtype,
                                std::string_view size_class) const;
  // Of collectives on the device's own network, whatever the data type: bytes are what is moved. Another number of
  // ranks, the nearest, is borrowed; another operation or size class says nothing.
  std::optional<ErrorBand> collective_band(std::string_view device, std::string_view operation, std::string_view nodes,
                                           std::int64_t ranks, std::string_view size_class,
                                           std::string_view kind = "collectives") const;

 private:
  const BandDevice* traits_of(std::string_view device) const;

  std::vector<ErrorBand> bands_;
  std::vector<BandDevice> devices_;  // those of the library that have records
};

// The records of the context's library, read once.
const ErrorBands& error_bands(ValidationContext& context);

// The class under which a group is recorded: its keys' values and its size class; without one, its set.
std::string band_class(const RowGroup& group);

}  // namespace warploom
