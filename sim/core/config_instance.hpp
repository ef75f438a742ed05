// SPDX-License-Identifier: Apache-2.0
// Compiles what the reader knows of a large struct in one file instead of in every file that reads it.
//
//   WARPLOOM_DECLARE_CONFIG(DeviceSpec);   // below the struct, in namespace warploom
//   WARPLOOM_DEFINE_CONFIG(DeviceSpec);    // in its .cpp, in namespace warploom
#pragma once

#include "sim/core/config.hpp"

#define WARPLOOM_DECLARE_CONFIG(type) extern template const detail::StructInfo& detail::struct_info<type>()
#define WARPLOOM_DEFINE_CONFIG(type) template const detail::StructInfo& detail::struct_info<type>()
