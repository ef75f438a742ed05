// SPDX-License-Identifier: Apache-2.0
// The extension `_warploom`: experiments in, report JSON out; what Python people see is in warploom/*.py.
#include <pybind11/functional.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <chrono>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/report/capture_report.hpp"
#include "bindings/report/replay_report.hpp"
#include "bindings/report/report_json.hpp"
#include "sim/core/errors.hpp"
#include "sim/core/version.hpp"
#include "workloads/experiment.hpp"

namespace warploom {

namespace {

namespace py = pybind11;

using Progress = std::function<void(std::size_t, std::size_t)>;

py::list diagnostics_of(const ConfigError& error) {
  py::list list;
  for (const Diagnostic& d : error.diagnostics()) {
    list.append(py::make_tuple(d.origin.file(), d.origin.line(), d.origin.column(), d.path, d.message, d.hint));
  }
  return list;
}

// The classes of exceptions are Python's (warploom/_errors.py), so that they can have bases and attributes of their
// own.
template <class... Args>
void raise(const char* name, Args&&... args) {
  const py::object type = py::module_::import("warploom._errors").attr(name);
  PyErr_SetObject(type.ptr(), type(std::forward<Args>(args)...).ptr());
}

void translate(std::exception_ptr pointer) {
  try {
    if (pointer) std::rethrow_exception(std::move(pointer));
  } catch (const ConfigError& error) {
    raise("ConfigError", error.what(), error.message(), error.hint(), diagnostics_of(error));
  } catch (const UserError& error) {
    raise("UserError", error.what(), error.message(), error.hint());
  } catch (const InternalError& error) {
    raise("InternalError", std::string(error.what()) + "; please report it (warploom " + version() + ")");
  }
}

// Now and then takes the GIL to show progress and to let Ctrl-C through.
class Watch {
 public:
  explicit Watch(std::optional<Progress> progress) : progress_(std::move(progress)) {}

  void operator()(std::size_t done, std::size_t all) {
    const auto now = Clock::now();
    if (now < next_ && done != all) return;
    next_ = now + std::chrono::milliseconds(50);
    const py::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    if (progress_) (*progress_)(done, all);
  }

 private:
  using Clock = std::chrono::steady_clock;
  std::optional<Progress> progress_;
  Clock::time_point next_ = Clock::now();
};

// (JSON, text)
std::pair<std::string, std::string> run(const Experiment& experiment, bool unfold, std::optional<Progress> progress) {
  Watch watch(std::move(progress));
  const py::gil_scoped_release no_gil;
  RunOptions options;
  options.unfold = unfold;
  options.progress = [&watch](std::size_t done, std::size_t all) { watch(done, all); };
  const RunResult result = experiment.run(options);
  return {to_json(result.report), to_text(result.report, result.program)};
}

CapturedRun read_run(const std::vector<std::string>& paths, bool strict, bool recorded_only,
                     std::optional<Progress> progress) {
  Watch watch(std::move(progress));
  const py::gil_scoped_release no_gil;
  ReadOptions options;
  options.strict = strict;
  options.progress = [&watch](std::uint64_t done, std::uint64_t all) { watch(done, all); };
  return understand(paths, options, {!recorded_only, !recorded_only});
}

// (JSON, text)
std::pair<std::string, std::string> inspect(const CapturedRun& run) {
  const py::gil_scoped_release no_gil;
  return {captures_to_json(run), captures_to_text(run)};
}

std::pair<std::string, std::string> replay(const CapturedRun& run, const std::string& on,
                                           const std::vector<std::string>& overrides, const std::string& source,
                                           std::int64_t ranks, const std::string& what_if,
                                           std::optional<Progress> progress) {
  Watch watch(std::move(progress));
  const py::gil_scoped_release no_gil;
  require_device_work(run);
  ReplayQuestion question;
  question.on = on;
  question.overrides = overrides;
  question.source = source;
  question.ranks = ranks;
  question.what_if = what_if;
  question.progress = [&watch](std::size_t done, std::size_t all) { watch(done, all); };
  std::optional<ReplayPrediction> prediction;
  if (question.asks()) prediction = predict_replay(run, question);
  return {replay_to_json(run, prediction), replay_to_text(run, prediction)};
}

}  // namespace

}  // namespace warploom

PYBIND11_MODULE(_warploom, module) {
  using namespace warploom;
  py::register_exception_translator(&translate);
  module.def("version", &version);
  py::class_<CapturedRun>(module, "CapturedRun")
      .def(py::init(&read_run), py::arg("paths"), py::arg("strict"), py::arg("recorded_only"), py::arg("progress"))
      .def("inspect", &inspect)
      .def("replay", &replay, py::arg("on"), py::arg("overrides"), py::arg("source"), py::arg("ranks"),
           py::arg("what_if"), py::arg("progress"));
  py::class_<Experiment>(module, "Experiment")
      .def(py::init([](const std::string& path, const std::vector<std::string>& overrides) {
             return Experiment::load(path, overrides);
           }),
           py::arg("path"), py::arg("overrides"), py::call_guard<py::gil_scoped_release>())
      .def("explain", [](const Experiment& experiment) { return explain(experiment.resolved()); })
      .def("run", &run, py::arg("unfold"), py::arg("progress"));
}
