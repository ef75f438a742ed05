# SPDX-License-Identifier: Apache-2.0
"""Experiments from Python: load, override, run, and what goes wrong."""

import json
import re
import subprocess
import sys
import threading
import time

import pytest
import warploom

SMALL = "experiments/llama3_8b_8_h100"
# Some hundred milliseconds of simulation, when unfolded.
LONG = (SMALL, {"training.global_batch": 256})


def test_runs_an_experiment_of_the_library():
    report = warploom.Experiment(SMALL).run()
    assert report.schema == "warploom.report/1"
    assert report.version == warploom.__version__
    assert report.devices == 8
    assert report.step_time_s > 0
    assert report.fits


def test_load_is_the_same_as_experiment():
    assert warploom.load(SMALL).run().step_time_s == warploom.Experiment(SMALL).run().step_time_s


def test_runs_a_file_given_as_a_path(tmp_path):
    file = tmp_path / "job.yaml"
    file.write_text(f"use: {SMALL}\nname: mine\n", encoding="utf-8")
    assert warploom.Experiment(file).run().name == "mine"


@pytest.mark.parametrize(
    "overrides",
    [
        {"layout.tensor": 4, "layout.data": 2},
        {"layout": {"tensor": 4, "data": 2}},
        ["layout.tensor=4", "layout.data=2"],
        ("layout.tensor=4", "layout.data=2"),
        "layout={tensor: 4, data: 2}",
    ],
)
def test_overrides_say_the_same_in_every_form(overrides):
    expected = warploom.Experiment(SMALL, {"layout.tensor": 4, "layout.data": 2}).run()
    assert warploom.Experiment(SMALL, overrides).run().config_hash == expected.config_hash
    assert expected.config_hash != warploom.Experiment(SMALL).run().config_hash


def test_overrides_take_booleans_lists_text_and_none():
    experiment = warploom.Experiment(
        SMALL,
        {
            "layout.sequence_parallel": False,
            "layout.order": ["tensor", "context", "data", "pipeline"],
            "cluster.host.launch": "3 us",
            "layout.data": None,
        },
    )
    text = experiment.explain()
    assert "sequence_parallel: false" in text
    assert "launch: 3 us" in text
    assert re.search(r'order: \["?tensor"?, "?context"?, "?data"?, "?pipeline', text)
    assert "data: 4" not in text
    assert "# command line" in text


def test_running_twice_gives_the_same_and_unfolding_too():
    experiment = warploom.Experiment(SMALL)
    first, second, unfolded = (report.to_dict() for report in (experiment.run(), experiment.run(), experiment.run(unfold=True)))
    for report in (first, second):
        del report["simulator"]
    assert first == second
    assert unfolded["step_time_s"] == first["step_time_s"]
    assert unfolded["simulator"]["roles"] == 8


def test_a_mistake_raises_config_error_with_all_diagnostics():
    with pytest.raises(warploom.ConfigError) as raised:
        warploom.Experiment(SMALL, {"layout.tensor": "two", "devices": 0})
    error = raised.value
    assert isinstance(error, warploom.UserError)
    assert isinstance(error, ValueError)
    assert {d.path for d in error.diagnostics} == {"layout.tensor", "devices"}
    for diagnostic in error.diagnostics:
        assert diagnostic.file == "command line"
        assert str(diagnostic) in str(error)


def test_diagnostics_of_a_file_say_the_line(tmp_path):
    file = tmp_path / "bad.yaml"
    file.write_text(f"use: {SMALL}\nlayout: {{tensor: 0}}\n", encoding="utf-8")
    with pytest.raises(warploom.ConfigError) as raised:
        warploom.Experiment(file)
    (diagnostic,) = raised.value.diagnostics
    assert (diagnostic.file, diagnostic.line, diagnostic.column) == (str(file), 2, 18)


def test_a_missing_file_raises_user_error_with_a_hint():
    with pytest.raises(warploom.UserError) as raised:
        warploom.Experiment("llama3_8b_8_h10")
    assert raised.value.hint == "did you mean `llama3_8b_8_h100`?"
    assert "there is no file `llama3_8b_8_h10`" in str(raised.value)


def test_a_model_that_does_not_fit_raises_when_it_runs():
    experiment = warploom.Experiment(SMALL, {"layout.tensor": 1, "layout.data": 8, "training.zero": 0})
    with pytest.raises(warploom.UserError, match="does not fit"):
        experiment.run()


def test_internal_errors_are_runtime_errors_and_no_user_errors():
    assert issubclass(warploom.InternalError, RuntimeError)
    assert not issubclass(warploom.InternalError, ValueError)


def test_other_threads_run_while_it_simulates():
    experiment = warploom.Experiment(*LONG)
    running = threading.Event()
    ended = threading.Event()
    ticks = []

    def tick():
        running.wait()
        while not ended.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    ticker = threading.Thread(target=tick)
    ticker.start()
    began = time.perf_counter()
    running.set()
    experiment.run(unfold=True)
    finished = time.perf_counter()
    ended.set()
    ticker.join()
    assert finished - began > 0.05, "too short to tell: make LONG longer"
    inside = [at for at in ticks if began < at < finished]
    # With the GIL held there would be none but at the edges.
    assert len(inside) > 0.1 * (finished - began) / 0.001


def test_progress_grows_to_at_most_all():
    seen = []
    warploom.Experiment(*LONG).run(unfold=True, progress=lambda done, all_of_them: seen.append((done, all_of_them)))
    assert seen
    assert seen == sorted(seen)
    assert all(done <= all_of_them for done, all_of_them in seen)


def test_an_exception_in_progress_ends_the_run():
    def stop(done, all_of_them):
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        warploom.Experiment(*LONG).run(unfold=True, progress=stop)


def test_ctrl_c_ends_the_run():
    code = f"""
import os, signal, threading, warploom
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job inherits that it is ignored
experiment = warploom.Experiment({SMALL!r}, {{"training.global_batch": 2048}})
threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    experiment.run(unfold=True)
except KeyboardInterrupt:
    print("interrupted")
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "interrupted\n"


def test_two_threads_run_at_once():
    results = []
    threads = [
        threading.Thread(target=lambda: results.append(warploom.Experiment(SMALL).run().step_time_s)) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    assert len(set(results)) == 1


def test_python_and_the_command_say_the_same(warploom_binary):
    command = [warploom_binary, "run", "llama3_8b_8_h100", "--json"]
    came = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    report = warploom.Experiment("llama3_8b_8_h100").run().to_dict()
    del came["simulator"], report["simulator"]
    assert report == came


def test_importing_takes_no_pandas():
    code = "import sys, warploom; sys.exit('pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
