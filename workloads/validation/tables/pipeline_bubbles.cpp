// SPDX-License-Identifier: Apache-2.0
// Published bubble rates of pipeline schedules with the stage times that they came from: the schedules of training
// steps, played with those times.
#include <array>

#include "sim/core/errors.hpp"
#include "workloads/schedules/schedule_cost.hpp"
#include "workloads/schedules/schedules.hpp"
#include "workloads/validation/tables.hpp"

namespace warploom {

namespace {

Time from_ms(double value) { return Time::from_seconds(value * 1e-3); }

class PipelineBubblesTable final : public TableKind {
 public:
  std::string_view name() const override { return "pipeline_bubbles"; }
  std::string_view meaning() const override { return "pipeline schedules: stage times and the published idle share"; }
  std::span<const std::string_view> columns() const override {
    static constexpr std::array<std::string_view, 7> names = {
        "model", "p", "m", "TF_ms", "Tcomm_ms", "schedule", "bubble_published"};
    return names;
  }
  std::string_view device_column() const override { return "schedule"; }
  BaselineKind baseline() const override { return BaselineKind::constant_efficiency; }

  // Idle rates of a few percent have no sensible relative error: what is compared is the time of the step,
  // work / (1 - rate).
  Predicted predict(const CsvRow& row, ValidationContext&) const override {
    const std::string schedule(row.text("schedule"));
    if (schedule != "1F1B" && schedule != "1F1B-I") throw UserError("the schedule is not modelled");
    const bool is_interleaved = schedule == "1F1B-I";
    ScheduleShape shape;
    shape.stages = static_cast<int>(at_most(row.positive_integer("p")));
    shape.micro_batches = static_cast<int>(at_most(row.positive_integer("m")));
    if (is_interleaved) {
      if (row.is_blank("v")) throw UserError("the chunks a stage are not published");
      shape.chunks = static_cast<int>(at_most(row.positive_integer("v")));
    }
    if (row.is_blank("TF_ms")) throw UserError("the stage times are not published");
    StageTimes times;
    times.forward = from_ms(row.positive_number("TF_ms"));
    // Where only one time stands, it is that of forward and backward together.
    times.backward = from_ms(row.optional_number("TB_ms").value_or(0) + row.optional_number("TW_ms").value_or(0));
    times.message = from_ms(row.optional_number("Tcomm_ms").value_or(0));
    const double rate = row.number("bubble_published");
    if (rate < 0 || rate >= 1) throw UserError("the published idle share is not between 0 and 1");

    Time cost =
        schedule_cost(*pipeline_schedules().make_named(is_interleaved ? "interleaved_1f1b" : "1f1b"), shape, times);
    // arXiv:2401.10241 leaves the p messages of the first micro-batch's way through the chunks out (all rows match).
    if (is_interleaved) cost -= times.message * shape.stages;
    const double work_us = shape.micro_batches * (times.forward + times.backward).microseconds();
    Predicted result;
    result.device = schedule;
    result.dtype = "";
    result.size_class = "step";
    result.set = row.has("source") ? std::string(row.text("source")) : "";
    result.measured_us = work_us / (1 - rate);
    result.predicted_us = cost.microseconds();
    result.baseline.flops = work_us;
    result.baseline.ideal_us = work_us;
    return result;
  }

 private:
  static std::int64_t at_most(std::int64_t value) {
    if (value > 4096) throw UserError("more stages, micro-batches or chunks than are played");
    return value;
  }
};

}  // namespace

const TableKind& pipeline_bubbles_table() {
  static const PipelineBubblesTable table;
  return table;
}

}  // namespace warploom
