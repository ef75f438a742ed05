// SPDX-License-Identifier: Apache-2.0
// Building a program: columns grow together, descriptions that are equal are kept once.
#include "sim/work/program.hpp"

#include <algorithm>
#include <utility>

#include "sim/core/errors.hpp"

namespace warploom {

namespace {

template <class T>
std::uint32_t append(std::vector<T>& list, T value) {
  list.push_back(std::move(value));
  return static_cast<std::uint32_t>(list.size() - 1);
}

}  // namespace

RoleId Program::add_role(Role role) { return append(roles, std::move(role)); }

StreamId Program::add_stream(Stream value) {
  WARPLOOM_CHECK(value.role < roles.size(), "stream `{}` of role {} that does not exist", value.name, value.role);
  return append(streams, std::move(value));
}

NameId Program::add_name(std::string_view text) {
  const auto [place, is_new] = name_ids_.try_emplace(std::string(text), static_cast<NameId>(names.size()));
  if (is_new) names.emplace_back(text);
  return place->second;
}

KernelId Program::add_kernel(const Kernel& description) {
  const auto [place, is_new] = kernel_ids_.try_emplace(description, static_cast<KernelId>(kernels.size()));
  if (is_new) kernels.push_back(description);
  return place->second;
}

GroupId Program::add_group(Group group) {
  WARPLOOM_CHECK(group.members.base == 0 && group.member_count() > 0 && group.instance_count() > 0, "an empty group");
  return append(groups, std::move(group));
}

CallId Program::add_call(const Call& call) {
  WARPLOOM_CHECK(call.group < groups.size(), "call of group {} that does not exist", call.group);
  auto& alike = call_ids_[static_cast<std::uint64_t>(call.group)];
  for (const CallId id : alike) {
    if (calls[id] == call) return id;
  }
  return alike.emplace_back(append(calls, call));
}

MeetingId Program::add_meeting(CallId call, std::uint32_t parties, double stretch) {
  WARPLOOM_CHECK(call < calls.size() && parties > 0, "a meeting of nobody");
  WARPLOOM_CHECK(stretch > 0, "a call that takes {} times its plan", stretch);
  return append(meetings, Meeting{call, parties, Time::zero(), stretch});
}

MeetingId Program::add_recorded_meeting(Time time, std::uint32_t parties) {
  WARPLOOM_CHECK(time >= Time::zero() && parties > 0, "a recorded meeting of nobody");
  return append(meetings, Meeting{none, parties, time});
}

RowId Program::add(const Operation& operation, std::span<const RowId> depends_on, std::span<const MemoryDelta> deltas,
                   std::span<const Time> lags) {
  const auto row = static_cast<RowId>(size());
  WARPLOOM_CHECK(row < none - 1, "more than {} rows", none - 1);
  WARPLOOM_CHECK(operation.stream < streams.size(), "a row on stream {} that does not exist", operation.stream);
  WARPLOOM_CHECK(lags.empty() || lags.size() == depends_on.size(), "{} lags for {} dependencies", lags.size(),
                 depends_on.size());
  kind.push_back(operation.kind);
  stream.push_back(operation.stream);
  cause.push_back(operation.cause);
  phase.push_back(operation.phase);
  row_name.push_back(operation.name);
  kernel.add(row, operation.kernel);
  meeting.push_back(operation.meeting);
  duration.push_back(operation.duration);
  layer.add(row, operation.layer);
  micro_batch.add(row, operation.micro_batch);
  spans_pipeline.add(row, operation.spans_pipeline);
  queue_lags.add(row, operation.queue_lag);
  for (std::size_t i = 0; i < lags.size(); ++i) dependency_lags.add(dependency.size() + i, lags[i]);
  for (const RowId before : depends_on) {
    WARPLOOM_CHECK(before < row, "row {} depends on row {}, which does not come before it", row, before);
    dependency.push_back(before);
  }
  dependency_begin.push_back(dependency.size());
  if (!deltas.empty()) {
    memory_begin.resize(row + std::size_t{1}, memory.size());
    memory.insert(memory.end(), deltas.begin(), deltas.end());
    memory_begin.push_back(memory.size());
  }
  return row;
}

void Program::reserve(std::size_t rows, std::size_t dependencies) {
  kind.reserve(rows);
  stream.reserve(rows);
  cause.reserve(rows);
  phase.reserve(rows);
  row_name.reserve(rows);
  meeting.reserve(rows);
  duration.reserve(rows);
  dependency_begin.reserve(rows + 1);
  dependency.reserve(dependencies);
}

std::int64_t Program::device_count() const {
  std::int64_t sum = 0;
  for (const auto& role : roles) sum += role.device_count();
  return sum;
}

}  // namespace warploom
