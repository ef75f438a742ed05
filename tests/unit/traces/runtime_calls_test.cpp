// SPDX-License-Identifier: Apache-2.0
// Names of runtime calls say what they do.
#include "traces/runtime_calls.hpp"

#include <gtest/gtest.h>

namespace warploom {
namespace {

TEST(RuntimeCalls, NamesOfCudaAndHipSayWhatTheyDo) {
  for (const auto* name :
       {"cudaLaunchKernel", "cudaLaunchKernelExC_v11060", "cudaLaunchCooperativeKernel", "cuLaunchKernel",
        "cuLaunchKernelEx", "hipLaunchKernel", "hipExtModuleLaunchKernel", "hipModuleLaunchKernel",
        "hipExtLaunchKernel", "cudaLaunchKernel_v7000", "cudaLaunchKernel_ptsz_v7000"}) {
    EXPECT_EQ(call_kind(name), CallKind::launch) << name;
  }
  EXPECT_EQ(call_kind("cudaGraphLaunch_v10000"), CallKind::graph_launch);
  EXPECT_EQ(call_kind("hipGraphLaunch"), CallKind::graph_launch);
  EXPECT_EQ(call_kind("cudaMemcpyAsync"), CallKind::copy);
  EXPECT_EQ(call_kind("cuMemcpyHtoD_v2"), CallKind::copy);
  EXPECT_EQ(call_kind("hipMemcpyWithStream"), CallKind::copy);
  EXPECT_EQ(call_kind("cuMemsetD32Async"), CallKind::fill);
  EXPECT_EQ(call_kind("cudaMemsetAsync_v3020"), CallKind::fill);
  EXPECT_EQ(call_kind("cudaEventRecordWithFlags"), CallKind::event_record);
  EXPECT_EQ(call_kind("cudaStreamWaitEvent"), CallKind::stream_wait);
  EXPECT_EQ(call_kind("hipEventSynchronize"), CallKind::event_sync);
  EXPECT_EQ(call_kind("cuStreamSynchronize"), CallKind::stream_sync);
  EXPECT_EQ(call_kind("cudaDeviceSynchronize_v3020"), CallKind::device_sync);
  EXPECT_EQ(call_kind("cuCtxSynchronize"), CallKind::device_sync);
}

TEST(RuntimeCalls, WhatOnlySoundsAlikeIsOther) {
  for (const auto* name : {"cudaLaunchHostFunc", "cudaMalloc", "cudaGraphAddMemcpyNode", "cudaGraphInstantiate",
                           "cudaEventQuery", "cudaStreamIsCapturing", "cuModuleLoadData", "", "LaunchKernel", "cuda",
                           "cudaFuncGetAttributes", "hipGetDevicePropertiesR0600"}) {
    EXPECT_EQ(call_kind(name), CallKind::other) << name;
  }
}

}  // namespace
}  // namespace warploom
