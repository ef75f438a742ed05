// SPDX-License-Identifier: Apache-2.0
// Devices are found under all their names, and no name means two of them.
#include "workloads/device_lookup.hpp"

#include <gtest/gtest.h>

#include <map>

#include "sim/core/config_notes.hpp"
#include "sim/core/text.hpp"

namespace warploom {
namespace {

const DeviceLookup& devices() {
  static const DeviceLookup lookup{Library({WARPLOOM_SOURCE_DIR "/configs"})};
  return lookup;
}

TEST(DeviceLookup, FindsADeviceByNameAliasAndAnyCase) {
  for (const char* name : {"h100_sxm", "H100-80GB", "NVIDIA H100 80GB HBM3", "nvidia h100 80gb hbm3"}) {
    EXPECT_EQ(devices().canonical_name(name), "h100_sxm") << name;
  }
}

TEST(DeviceLookup, KnowsTheDevicesOfTheTables) {
  const std::map<std::string, std::string> expected = {{"a100_sxm", "a100_sxm"},
                                                       {"a100_sxm_80gb", "a100_sxm"},
                                                       {"NVIDIA A100 80GB PCIe", "a100_pcie_80gb"},
                                                       {"NVIDIA A100-PCIE-40GB", "a100_pcie_40gb"},
                                                       {"b200_sxm", "b200_sxm"},
                                                       {"NVIDIA B200", "b200_sxm"},
                                                       {"l40s", "l40s"},
                                                       {"NVIDIA L4", "l4"},
                                                       {"Tesla T4", "t4"},
                                                       {"Tesla V100-PCIE-32GB", "v100_pcie_32gb"},
                                                       {"A100-80GB", "a100_sxm"},
                                                       {"A100-40GB", "a100_sxm_40gb"},
                                                       {"H200", "h200_sxm"},
                                                       {"a40", "a40"},
                                                       {"AMD Instinct MI300X", "mi300x"},
                                                       {"AMD Instinct MI300X VF", "mi300x"}};
  for (const auto& [alias, name] : expected) EXPECT_EQ(devices().canonical_name(alias), name) << alias;
}

TEST(DeviceLookup, UnknownNamesAreToldWithASuggestion) {
  EXPECT_FALSE(devices().canonical_name("MI400X"));
  try {
    devices().find("h100_sxn");
    FAIL();
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean `h100_sxm`?"), std::string::npos) << error.what();
  }
}

TEST(DeviceLookup, NoNameMeansTwoDevices) {
  std::map<std::string, std::string> owner;
  for (const std::string& name : devices().names()) owner[to_lower(name)] = name;
  for (const std::string& name : devices().names()) {
    for (const std::string& alias : devices().find(name).spec.aliases) {
      // What a file inherits by `use:` is not its own.
      if (devices().canonical_name(alias) != name) continue;
      const auto [found, is_new] = owner.emplace(to_lower(alias), name);
      EXPECT_EQ(found->second, name) << alias;
    }
  }
}

TEST(DeviceLookup, EveryNumberOfAnOwnDeviceFileHasAKind) {
  for (const std::string& name : devices().names()) {
    const FoundDevice& device = devices().find(name);
    for (const ValueNote& note : value_notes(device.config)) {
      const bool is_number = !note.value.empty() && note.value.find_first_of("0123456789") == 0;
      if (!is_number) continue;
      EXPECT_TRUE(note.kind) << name << ": " << note.path << " at " << note.origin.to_string();
    }
  }
}

}  // namespace
}  // namespace warploom
