// SPDX-License-Identifier: Apache-2.0
// What Kineto writes, event by event, and where it goes. The first samples are verbatim from real traces.
#include "traces/kineto_reader.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "sim/core/errors.hpp"
#include "traces/classify.hpp"
#include "traces/kineto_groups.hpp"

namespace warploom {
namespace {

Capture read(std::string_view text, bool strict = false) {
  ReadOptions options;
  options.strict = strict;
  const auto source = bytes_of("t.json", text);
  auto captures = make_kineto_reader()->read(*source, options);
  classify(captures.front());
  return std::move(captures.front());
}
Capture read_events(std::string_view events) { return read(fmt::format(R"json({{"traceEvents": [{}]}})json", events)); }

constexpr std::string_view all_reduce =
    R"json({"ph":"X","cat":"kernel","name":"ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)","pid":0,"tid":40,"ts":4458677009853.422,"dur":2636.669,"args":{"External id":12945,"queued":0,"device":0,"context":1,"stream":40,"correlation":60047,"registers per thread":96,"shared memory":87568,"blocks per SM":0.074074,"warps per SM":1.259259,"grid":[8,1,1],"block":[544,1,1],"est. achieved occupancy %":0,"Collective name":"allreduce","In msg nelems":6637568,"Out msg nelems":6637568,"Group size":2,"dtype":"Float","In split size":"[]","Out split size":"[]","Process Group Name":"0","Process Group Description":"default_pg","Process Group Ranks":"[0, 1]"}})json";
constexpr std::string_view launch =
    R"json({"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":2910249,"tid":2919752,"ts":4458676983526.767,"dur":15.633,"args":{"External id":12353,"cbid":211,"correlation":57541}})json";
constexpr std::string_view copy =
    R"json({"ph":"X","cat":"gpu_memcpy","name":"Memcpy DtoD (Device -> Device)","pid":0,"tid":7,"ts":4458677052061.431,"dur":5.088,"args":{"External id":13889,"device":0,"context":1,"stream":7,"correlation":64014,"bytes":4000,"memory bandwidth (GB/s)":0.7861635220125787}})json";
constexpr std::string_view param_comms =
    R"json({"ph":"X","cat":"cpu_op","name":"record_param_comms","pid":2910249,"tid":2919752,"ts":4458676524648.797,"dur":189.626,"args":{"External id":2099,"Record function id":1959,"Process Group Name":"0","Global rank stride":1,"Out msg nelems":2049000,"Process Group Ranks":"[0, 1]","Group size":2,"Global rank start":0,"Ev Idx":50,"In msg nelems":2049000,"In split size":"[]","Out split size":"[]","dtype":"Float","Process Group Description":"default_pg","Collective name":"allreduce"}})json";
constexpr std::string_view stream_wait =
    R"json({"ph":"X","cat":"cuda_sync","name":"Stream Wait Event","pid":0,"tid":24,"ts":1712867402367683,"dur":2,"args":{"External id":1389,"cuda_sync_kind":"Stream Wait Event","wait_on_stream":20,"wait_on_cuda_event_record_corr_id":1385,"wait_on_cuda_event_id":19,"stream":24,"correlation":1389,"device":0,"context":1}})json";
constexpr std::string_view distributed =
    R"json("distributedInfo":{"backend":"nccl","rank":0,"world_size":2,"pg_count":1,"pg_config":[{"pg_name":"0","pg_desc":"default_pg","backend_config":"cuda:nccl","pg_size":2,"ranks":[0,1]}],"nccl_version":"2.17.1"},"displayTimeUnit":"ms","baseTimeNanoseconds":1711964646000000000)json";

TEST(Kineto, ACommunicationKernelIsExactToTheNanosecondAndTellsItsCollective) {
  const Capture capture = read_events(all_reduce);
  ASSERT_EQ(capture.device_ops.size(), 1U);
  const DeviceOp& op = capture.device_ops[0];
  EXPECT_EQ(op.start, 4458677009853422);
  EXPECT_EQ(op.duration, 2636669);
  EXPECT_EQ(op.correlation, 60047U);
  EXPECT_EQ(op.kind, DeviceOpKind::kernel);
  EXPECT_EQ(op.op_class, OpClass::communication);
  EXPECT_EQ(capture.streams[op.stream].name, "40");
  EXPECT_EQ(capture.streams[op.stream].context, 1);
  const CollectiveRecord& record = capture.collectives.at(op.collective);
  EXPECT_EQ(capture.texts[record.name], "allreduce");
  EXPECT_EQ(capture.texts[record.type], "Float");
  EXPECT_EQ(record.in_elements, 6637568);
  EXPECT_EQ(record.sequence, -1);
  const ProcessGroup& group = capture.groups.at(record.group);
  EXPECT_EQ(group.name, "0");
  EXPECT_EQ(group.description, "default_pg");
  EXPECT_EQ(group.ranks, (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(capture.resolution, 1);
}

TEST(Kineto, ACallACopyAnOperatorAndAWait) {
  const Capture capture = read_events(fmt::format("{},{},{},{}", launch, copy, param_comms, stream_wait));
  ASSERT_EQ(capture.calls.size(), 1U);
  EXPECT_EQ(capture.calls[0].start, 4458676983526767);
  EXPECT_EQ(capture.calls[0].duration, 15633);
  EXPECT_EQ(capture.calls[0].correlation, 57541U);
  EXPECT_EQ(capture.calls[0].kind, CallKind::launch);
  EXPECT_EQ(capture.threads[capture.calls[0].thread].process, 2910249);
  EXPECT_EQ(capture.threads[capture.calls[0].thread].id, 2919752);
  ASSERT_EQ(capture.device_ops.size(), 1U);
  EXPECT_EQ(capture.device_ops[0].kind, DeviceOpKind::copy);
  EXPECT_EQ(capture.device_ops[0].bytes, 4000);
  EXPECT_EQ(capture.device_ops[0].duration, 5088);
  ASSERT_EQ(capture.host_ops.size(), 1U);
  EXPECT_EQ(capture.host_ops[0].record_id, 1959);
  EXPECT_EQ(capture.host_ops[0].external_id, 2099U);
  EXPECT_EQ(capture.collectives.at(capture.host_ops[0].collective).out_elements, 2049000);
  ASSERT_EQ(capture.syncs.size(), 1U);
  const Sync& sync = capture.syncs[0];
  EXPECT_EQ(sync.kind, SyncKind::stream_wait);
  EXPECT_EQ(sync.start, 1712867402367683000);
  EXPECT_EQ(sync.record_correlation, 1385U);
  EXPECT_EQ(capture.streams[sync.stream].name, "24");
  EXPECT_EQ(capture.streams[sync.recorded_on].name, "20");
}

TEST(Kineto, WhatStandsBesideTheEventsMayStandBeforeOrAfterThem) {
  const Capture before = read(fmt::format(R"json({{{}, "traceEvents": [{}]}})json", distributed, all_reduce));
  const Capture after = read(fmt::format(R"json({{"traceEvents": [{}], {}}})json", all_reduce, distributed));
  for (const Capture* capture : {&before, &after}) {
    EXPECT_EQ(capture->rank, 0);
    EXPECT_EQ(capture->world_size, 2);
    EXPECT_EQ(capture->facts.at("backend"), "nccl");
    EXPECT_EQ(capture->facts.at("nccl_version"), "2.17.1");
    EXPECT_EQ(capture->groups.size(), 1U);  // the kernel's and the configured one are the same
    // The first step of that trace began at 4458676416788.066 us of its base, on 23 May 2024.
    EXPECT_EQ(*capture->base_time + 4458676416788066, 1716423322416788066);
  }
}

TEST(Kineto, WaitsOnWhatWasNotSeenAreUnknown) {
  const Capture capture = read_events(
      R"json({"ph":"X","cat":"cuda_sync","name":"Context Sync","pid":0,"tid":-1,"ts":5,"dur":2,"args":{"stream":-1,"correlation":3}},
         {"ph":"X","cat":"cuda_sync","name":"Stream Wait Event","pid":0,"tid":7,"ts":6,"dur":2,"args":{"stream":7,
          "wait_on_stream":-1,"wait_on_cuda_event_record_corr_id":-1,"correlation":4}},
         {"ph":"X","cat":"cuda_sync","name":"Stream Synchronize","pid":0,"tid":1000007,"ts":7,"dur":2,"args":{"stream":7}})json");
  ASSERT_EQ(capture.syncs.size(), 3U);
  EXPECT_EQ(capture.syncs[0].kind, SyncKind::context_sync);
  EXPECT_EQ(capture.syncs[0].stream, nothing);
  EXPECT_EQ(capture.syncs[1].recorded_on, nothing);
  EXPECT_EQ(capture.syncs[1].record_correlation, 0U);
  EXPECT_EQ(capture.syncs[2].kind, SyncKind::stream_sync);
  EXPECT_EQ(capture.streams[capture.syncs[2].stream].name, "7");
}

TEST(Kineto, SpellingsOf2021AreTheSame) {
  const Capture capture = read(
      R"json([{"ph":"X","cat":"Operator","name":"aten::zero_","pid":9,"tid":"3004819264","ts":10,"dur":30,"args":{"Input dims":[[1]],"External id":3}},
          {"ph":"X","cat":"Operator","name":"ProfilerStep#5","pid":9,"tid":"3004819264","ts":1,"dur":99,"args":{}},
          {"ph":"X","cat":"Runtime","name":"cudaLaunchKernel","pid":9,"tid":"3004819264","ts":15,"dur":5,"args":{"correlation":8,"external id":3}},
          {"ph":"X","cat":"Kernel","name":"k","pid":0,"tid":"stream 7","ts":30,"dur":4,"args":{"device":0,"context":1,"correlation":8,"external id":0}},
          {"ph":"X","cat":"Memset","name":"Memset (Device)","pid":0,"tid":"stream 7","ts":40,"dur":4,"args":{"device":0,"context":1,"stream":7,"bytes":128}},
          {"ph":"f","id":8,"pid":0,"tid":"stream 7","ts":30,"cat":"async","name":"launch","bp":"e"}])json");
  EXPECT_EQ(capture.event_count, 6);
  EXPECT_EQ(capture.resolution, 1000);
  ASSERT_EQ(capture.device_ops.size(), 2U);
  EXPECT_EQ(capture.streams.size(), 1U);
  EXPECT_EQ(capture.streams[0].name, "7");
  EXPECT_EQ(capture.device_ops[0].launch, 0U);
  EXPECT_EQ(capture.device_ops[0].host_op, 0U);
  EXPECT_EQ(capture.device_ops[1].bytes, 128);
  ASSERT_EQ(capture.host_ops.size(), 1U);
  EXPECT_EQ(capture.texts[capture.host_ops[0].shapes], "[[1]]");
  ASSERT_EQ(capture.annotations.size(), 1U);
  EXPECT_EQ(capture.texts[capture.annotations[0].name], "ProfilerStep#5");
  EXPECT_EQ(capture.events_by_category,
            (std::map<std::string, std::int64_t>{{"Operator", 2}, {"Runtime", 1}, {"Kernel", 1}, {"Memset", 1}}));
}

TEST(Kineto, BeginningsAndEndsMakeOneEventAndNest) {
  const Capture capture = read_events(
      R"json({"ph":"B","cat":"cpu_op","name":"outer","pid":1,"tid":1,"ts":1},{"ph":"B","cat":"cpu_op","name":"inner","pid":1,"tid":1,"ts":2.5},
         {"ph":"E","pid":1,"tid":1,"ts":4},{"ph":"E","pid":1,"tid":1,"ts":9},{"ph":"E","pid":1,"tid":1,"ts":9},
         {"ph":"B","cat":"cpu_op","name":"open","pid":1,"tid":2,"ts":1})json");
  ASSERT_EQ(capture.host_ops.size(), 2U);
  EXPECT_EQ(capture.texts[capture.host_ops[0].name], "outer");
  EXPECT_EQ(capture.host_ops[0].duration, 8000);
  EXPECT_EQ(capture.host_ops[1].start, 2500);
  EXPECT_EQ(capture.host_ops[1].duration, 1500);
  EXPECT_EQ(capture.repairs.count("unopened_end"), 1);
  EXPECT_EQ(capture.repairs.count("unclosed_begin"), 1);
}

TEST(Kineto, FlowsHandOverBetweenThreadsAndLaunchWhereACorrelationIsMissing) {
  const Capture capture = read_events(
      R"json({"ph":"f","id":7,"pid":1,"tid":2,"ts":20,"cat":"fwdbwd","bp":"e"},{"ph":"s","id":7,"pid":1,"tid":1,"ts":10,"cat":"fwdbwd"},
         {"ph":"s","id":8,"pid":1,"tid":1,"ts":11,"cat":"fwdbwd"},
         {"ph":"s","id":55426082093320372223,"pid":1,"tid":1,"ts":30,"cat":"async_cpu_to_gpu"},
         {"ph":"f","id":55426082093320372223,"pid":0,"tid":7,"ts":50,"cat":"async_cpu_to_gpu"},
         {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":30,"dur":5},
         {"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":50,"dur":4})json");
  ASSERT_EQ(capture.hand_offs.size(), 1U);
  EXPECT_EQ(capture.hand_offs[0].from, 10000);
  EXPECT_EQ(capture.hand_offs[0].to, 20000);
  EXPECT_EQ(capture.threads[capture.hand_offs[0].to_thread].id, 2);
  EXPECT_EQ(capture.repairs.count("unmatched_flow"), 1);
  ASSERT_EQ(capture.device_ops.size(), 1U);
  EXPECT_EQ(capture.device_ops[0].launch, 0U);
}

TEST(Kineto, AnExternalIdThatRepeatsTheCorrelationNamesNoOperator) {
  const Capture capture = read_events(
      R"json({"ph":"X","cat":"cpu_op","name":"wrong","pid":1,"tid":1,"ts":1,"dur":2,"args":{"External id":15}},
         {"ph":"X","cat":"cpu_op","name":"right","pid":1,"tid":1,"ts":10,"dur":20,"args":{"External id":16}},
         {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":12,"dur":2,"args":{"External id":15,"correlation":15}})json");
  ASSERT_EQ(capture.calls.size(), 1U);
  EXPECT_EQ(capture.texts[capture.host_ops.at(capture.calls[0].host_op).name], "right");
}

TEST(Kineto, AKernelWithoutMetadataTakesTheCollectiveOfItsOperator) {
  const Capture capture = read_events(fmt::format(
      R"json({},{{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernelExC","pid":2910249,"tid":2919752,"ts":4458676524700.000,"dur":5,"args":{{"correlation":77}}}},
         {{"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce_Sum_f32_RING_LL()","pid":0,"tid":7,"ts":4458676524720.000,"dur":9,"args":{{"device":0,"stream":7,"correlation":77}}}},
         {{"ph":"X","cat":"kernel","name":"elementwise","pid":0,"tid":7,"ts":4458676524730.000,"dur":9,"args":{{"device":0,"stream":7,"correlation":77}}}})json",
      param_comms));
  ASSERT_EQ(capture.device_ops.size(), 2U);
  EXPECT_EQ(capture.device_ops[0].collective, capture.host_ops[0].collective);
  EXPECT_EQ(capture.device_ops[1].collective, nothing);
}

TEST(Kineto, RanksThatWereCutComeFromTheConfigurationOrTheStride) {
  const auto kernel = [](std::string_view extra) {
    return fmt::format(
        R"json({{"ph":"X","cat":"kernel","name":"ncclDevKernel_X","pid":0,"tid":7,"ts":1,"dur":1,"args":{{"Collective name":"allreduce","Group size":32,"Process Group Name":"5","Process Group Ranks":"[0, 2, ..., 62]"{}}}}})json",
        extra);
  };
  std::vector<std::int64_t> even;
  std::vector<std::string> listed;
  for (int i = 0; i < 32; ++i) {
    even.push_back(2 * i);
    listed.push_back(std::to_string(2 * i));
  }
  EXPECT_EQ(read_events(kernel(R"json(,"Global rank start":0,"Global rank stride":2)json")).groups.at(0).ranks, even);
  std::string ranks = "[";
  for (const auto& rank : listed) ranks += (ranks.size() > 1 ? ", " : "") + rank;
  ranks += "]";
  for (const std::string& form : {ranks, "\"" + ranks + "\""}) {  // a list, or in on-demand traces a string
    const Capture capture = read(fmt::format(
        R"json({{"traceEvents":[{}],"distributedInfo":{{"rank":"4","pg_config":[{{"pg_name":"5","pg_size":32,"ranks":{}}}]}}}})json",
        kernel(""), form));
    EXPECT_EQ(capture.rank, 4);
    ASSERT_EQ(capture.groups.size(), 1U);
    EXPECT_EQ(capture.groups[0].ranks, even);
  }
  EXPECT_TRUE(read_events(kernel("")).groups.at(0).ranks.empty());  // not known is not guessed
}

TEST(Kineto, PointToPointAndSplitsAreKept) {
  const Capture capture = read_events(
      R"json({"ph":"X","cat":"kernel","name":"ncclDevKernel_SendRecv","pid":0,"tid":7,"ts":1,"dur":1,"args":{"Collective name":"send","In msg nelems":5,"Out msg nelems":5,
          "Group size":2,"dtype":"BFloat16","Process Group Name":"3","Process Group Ranks":"[4, 6]","Src Rank":4,"Dst Rank":6,"Seq":17,"In split size":"[2, 3]"}})json");
  const CollectiveRecord& record = capture.collectives.at(0);
  EXPECT_EQ(record.source, 4);
  EXPECT_EQ(record.target, 6);
  EXPECT_EQ(record.sequence, 17);
  EXPECT_EQ(capture.texts[record.in_splits], "[2, 3]");
}

TEST(Kineto, OperatorsKeepTheirShapesWhateverTheSpacing) {
  const Capture capture = read_events(
      "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1,\"args\":{\"Input "
      "Dims\":[[16,1024],\n [1024,4096]],"
      "\"Input type\": [\"c10::BFloat16\",\"c10::BFloat16\"],\"Concrete Inputs\":[\"\",\"a, b\"]}},"
      "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":1,\"tid\":1,\"ts\":3,\"dur\":1,\"args\":{\"Input "
      "Dims\":[ [16, 1024], [1024, 4096] ]}}");
  ASSERT_EQ(capture.host_ops.size(), 2U);
  EXPECT_EQ(capture.texts[capture.host_ops[0].shapes], "[[16, 1024], [1024, 4096]]");
  EXPECT_EQ(capture.host_ops[0].shapes, capture.host_ops[1].shapes);
  EXPECT_EQ(capture.texts[capture.host_ops[0].types], R"json(["c10::BFloat16", "c10::BFloat16"])json");
  EXPECT_EQ(capture.texts[capture.host_ops[0].values], R"json(["", "a, b"])json");
}

TEST(Kineto, OtherBackEndsAreReadByTheirCategories) {
  const Capture capture = read_events(
      R"json({"ph":"X","cat":"cuda_runtime","name":"hipLaunchKernel","pid":1,"tid":1,"ts":1,"dur":1,"args":{"cid":107,"correlation":5}},
         {"ph":"X","cat":"kernel","name":"Cijk_Ailk","pid":2,"tid":0,"ts":9,"dur":1,"args":{"device":2,"stream":0,"correlation":5}},
         {"ph":"X","cat":"xpu_runtime","name":"urEnqueueKernelLaunch","pid":1,"tid":1,"ts":3,"dur":1,"args":{"correlation":6}},
         {"ph":"X","cat":"mtia_ccp_events","name":"fba","pid":0,"tid":3,"ts":12,"dur":1,"args":{"correlation":6}},
         {"ph":"X","cat":"gpu_user_annotation","name":"step","pid":0,"tid":7,"ts":9,"dur":9},
         {"ph":"X","cat":"python_function","name":"main","pid":1,"tid":1,"ts":0,"dur":100},
         {"ph":"X","cat":"brand_new","name":"x","pid":0,"tid":7,"ts":9,"dur":9})json");
  ASSERT_EQ(capture.device_ops.size(), 2U);
  EXPECT_EQ(capture.streams[capture.device_ops[0].stream].device, 2);
  EXPECT_EQ(capture.calls[capture.device_ops[0].launch].kind, CallKind::launch);
  EXPECT_EQ(capture.device_ops[1].launch, 1U);
  EXPECT_EQ(capture.repairs.count("unknown_category"), 1);
  EXPECT_EQ(capture.events_by_category.at("brand_new"), 1);
  EXPECT_EQ(capture.host_span->second, 100'000);
}

TEST(Kineto, DevicesThreadsAndFactsHaveTheirNames) {
  const Capture capture = read(
      R"json({"schemaVersion":1,"record_shapes":1,"deviceProperties":[{"id":0,"name":"NVIDIA H100","totalGlobalMem":85174583296,"numSms":132}],
          "traceEvents":[{"name":"thread_name","ph":"M","ts":0,"pid":5,"tid":6,"args":{"name":"pt_autograd_0"}},
          {"ph":"X","cat":"cpu_op","name":"a","pid":5,"tid":6,"ts":1,"dur":1},{"name":"process_name","ph":"M","pid":5,"tid":0,"args":{"name":"python"}}]})json");
  ASSERT_EQ(capture.devices.size(), 1U);
  EXPECT_EQ(capture.devices[0].name, "NVIDIA H100");
  EXPECT_EQ(capture.devices[0].memory_bytes, 85174583296);
  EXPECT_EQ(capture.devices[0].sm_count, 132);
  EXPECT_EQ(capture.facts.at("schemaVersion"), "1");
  EXPECT_EQ(capture.facts.at("process 5"), "python");
  EXPECT_EQ(capture.threads.at(0).name, "pt_autograd_0");
}

// All of a capture that does not depend on the numbering of its texts.
std::string told(const Capture& capture) {
  std::string text;
  const auto add = [&text](auto... values) { (fmt::format_to(std::back_inserter(text), "{} ", values), ...); };
  for (const auto& op : capture.device_ops) {
    add(op.start, op.duration, op.correlation, capture.texts[op.name], op.stream, op.launch, op.host_op);
    if (op.collective != nothing)
      add(capture.collectives[op.collective].in_elements, capture.collectives[op.collective].group);
  }
  for (const auto& call : capture.calls) add(call.start, call.correlation, call.thread, call.host_op);
  for (const auto& op : capture.host_ops) add(op.start, op.thread, capture.texts[op.name], capture.texts[op.shapes]);
  for (const auto& flow : capture.hand_offs) add(flow.from, flow.to, flow.from_thread, flow.to_thread);
  for (const auto& sync : capture.syncs) add(sync.start, sync.stream, sync.recorded_on);
  for (const auto& stream : capture.streams) add(stream.device, stream.name);
  for (const auto& thread : capture.threads) add(thread.process, thread.id, thread.name);
  for (const auto& group : capture.groups) add(group.name, group.size, group.ranks.size());
  return text;
}

TEST(Kineto, TheOrderOfTheEventsDoesNotMatter) {
  std::vector<std::string> events{std::string(all_reduce), std::string(copy), std::string(param_comms),
                                  std::string(stream_wait)};
  for (int i = 0; i < 30; ++i) {
    events.push_back(fmt::format(
        R"json({{"ph":"X","cat":"cpu_op","name":"op{}","pid":1,"tid":{},"ts":{},"dur":8,"args":{{"External id":{}}}}})json",
        i % 7, i % 3, i * 10, i + 1));
    events.push_back(fmt::format(
        R"json({{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":{},"ts":{},"dur":2,"args":{{"correlation":{},"External id":{}}}}})json",
        i % 3, i * 10 + 1, i + 100, i + 1));
    events.push_back(fmt::format(
        R"json({{"ph":"X","cat":"kernel","name":"k{}","pid":0,"tid":{},"ts":{},"dur":3.5,"args":{{"device":0,"stream":{},"correlation":{}}}}})json",
        i % 5, i % 4, i * 10 + 7, i % 4, i + 100));
    events.push_back(fmt::format(R"json({{"ph":"s","cat":"fwdbwd","id":{},"pid":1,"tid":0,"ts":{}}})json", i, i));
    events.push_back(fmt::format(R"json({{"ph":"f","cat":"fwdbwd","id":{},"pid":1,"tid":2,"ts":{}}})json", i, i + 400));
  }
  const auto joined = [&events] {
    std::string text;
    for (const auto& event : events) text += (text.empty() ? "" : ",") + event;
    return text;
  };
  const std::string expected = told(read_events(joined()));
  EXPECT_GT(expected.size(), 2000U);
  std::mt19937 random(7);
  for (int round = 0; round < 10; ++round) {
    std::shuffle(events.begin(), events.end(), random);
    EXPECT_EQ(told(read_events(joined())), expected);
  }
}

}  // namespace
}  // namespace warploom
