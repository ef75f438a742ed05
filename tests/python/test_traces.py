# SPDX-License-Identifier: Apache-2.0
"""Captured traces from Python: inspected, replayed, edited."""

import json

import pytest

import warploom


def make_trace(path, kernels=20, duration=50.0, gap=1.0):
    """Kernels of `duration` us that the host launched every 10 us: the host runs ahead, `gap` lies between two."""
    events = []
    for i in range(kernels):
        launch = {"correlation": i + 1}
        events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1,
                       "ts": 1000.0 + 10 * i, "dur": 4.0, "args": launch})
        events.append({"ph": "X", "cat": "kernel", "name": "ampere_fp16_s16816gemm", "pid": 0, "tid": 7,
                       "ts": 1006.5 + (duration + gap) * i, "dur": duration,
                       "args": {"correlation": i + 1, "stream": 7, "device": 0}})
    trace = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-80GB"}],
             "traceEvents": events}
    path.write_text(json.dumps(trace))
    return path


def test_inspect_says_how_busy_a_device_was(tmp_path):
    report = warploom.inspect(make_trace(tmp_path / "trace.json"))
    span = report["traces"][0]["device_span"]
    assert span["wall_us"] == pytest.approx(20 * 50 + 19)
    assert span["busy_us"] == pytest.approx(20 * 50)
    assert "ampere_fp16_s16816gemm" in str(report)


def test_an_unchanged_replay_takes_what_was_measured(tmp_path):
    report = warploom.replay(make_trace(tmp_path / "trace.json"))
    assert report.self_replay_error == 0
    assert report.predicted is None


def test_kernels_of_half_the_time_halve_a_device_bound_run(tmp_path):
    trace = make_trace(tmp_path / "trace.json")
    report = warploom.replay(trace, what_if={"scale": [{"kernels": "*gemm*", "by": 0.5}]})
    assert report.predicted["span_us"] == pytest.approx(20 * 25 + 19)


def test_a_faster_device_is_faster(tmp_path):
    trace = make_trace(tmp_path / "trace.json")
    h100 = warploom.replay(trace, on="dgx_h100").predicted["span_us"]
    b200 = warploom.replay(trace, on="dgx_b200").predicted["span_us"]
    assert b200 < h100 < 20 * 50


def test_a_run_is_read_once_and_asked_often(tmp_path):
    read = []
    run = warploom.CapturedRun(make_trace(tmp_path / "trace.json"), progress=lambda done, all_: read.append(done))
    assert read
    halved = {"scale": [{"kernels": "*gemm*", "by": 0.5}]}
    assert run.replay(what_if=halved).predicted["span_us"] == pytest.approx(20 * 25 + 19)
    assert run.replay().predicted is None
    assert run.inspect()["traces"][0]["device_span"]["wall_us"] == pytest.approx(20 * 50 + 19)


def test_kernels_stand_side_by_side(tmp_path):
    report = warploom.replay(make_trace(tmp_path / "trace.json"), what_if={"scale": [{"kernels": "*gemm*", "by": 0.5}]})
    kernel = report.kernels.to_dict("records")[0]
    assert kernel == {"name": "ampere_fp16_s16816gemm", "class": "gemm", "count": 20, "measured_us": 1000,
                      "predicted_us": 500}


def test_mistakes_are_errors(tmp_path):
    trace = make_trace(tmp_path / "trace.json")
    with pytest.raises(warploom.UserError, match="no device operation is called"):
        warploom.replay(trace, what_if={"scale": [{"kernels": "nobody", "by": 0.5}]})
    with pytest.raises(warploom.ConfigError, match="kernals"):
        warploom.replay(trace, what_if={"scale": [{"kernals": "*gemm*", "by": 0.5}]})
    with pytest.raises(warploom.UserError, match="no such file"):
        warploom.inspect(tmp_path / "missing.json")
