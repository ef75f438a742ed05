# SPDX-License-Identifier: Apache-2.0
"""The report in Python: the JSON contract as attributes, tables, files."""

import ast
import copy
import json
import re
import subprocess
from pathlib import Path

import pytest
import warploom

# docs/reference/json.md; the list of what scripts may count on.
CONTRACT = """schema version config_hash seed step_time_s tokens_per_s tokens_per_s_per_device tflops_per_device
flop_convention mfu hfu breakdown bubble_share bubble_over_ideal exposed_comm_share memory devices folding assumptions
fallbacks warnings simulator""".split()
CAUSES = """gemm attention other_compute recompute optimizer interference exposed_tp exposed_cp exposed_ep exposed_pp
exposed_dp exposed_other bubble skew host data copy checkpoint idle""".split()
REPOSITORY = Path(__file__).parents[2]


def test_every_key_of_the_contract_is_an_attribute(small_report):
    data = small_report.to_dict()
    assert set(CONTRACT) <= set(data)
    for key, value in data.items():
        if key != "breakdown":
            assert getattr(small_report, key) == value
        assert key in dir(small_report)


def test_every_key_stands_in_the_manual_and_in_the_stub(small_report):
    manual = (REPOSITORY / "docs/reference/json.md").read_text(encoding="utf-8")
    stub = ast.parse((REPOSITORY / "bindings/python/warploom/_report.pyi").read_text(encoding="utf-8"))
    (report,) = (node for node in stub.body if isinstance(node, ast.ClassDef))
    typed = {node.target.id for node in report.body if isinstance(node, ast.AnnAssign)}
    typed |= {node.name for node in report.body if isinstance(node, ast.FunctionDef)}
    for key in small_report.to_dict():
        assert re.search(rf"^\| `{key}` \|", manual, re.M), f"{key} is not in the manual"
        assert key in typed, f"{key} is not in the stub"


def test_the_breakdown_adds_up_to_the_step(small_report):
    assert set(small_report.breakdown) <= set(CAUSES)
    assert sum(small_report.breakdown.values()) == pytest.approx(small_report.step_time_s, rel=1e-9)
    for entry in small_report.to_dict()["breakdown"]:
        assert entry["seconds"] > 0
        assert entry["share"] == pytest.approx(entry["seconds"] / small_report.step_time_s)


def test_memory_has_its_parts(small_report):
    for role in small_report.memory:
        assert set(role["parts"]) == {"weights", "gradients", "optimizer", "activations", "buffers", "other"}
        assert sum(role["parts"].values()) == role["peak_bytes"]
        assert role["fits"] == (role["peak_bytes"] <= role["capacity_usable_bytes"])
        assert role["capacity_usable_bytes"] <= role["capacity_raw_bytes"]


def test_an_attribute_that_is_not_there_says_what_is(small_report):
    with pytest.raises(AttributeError, match="step_time_s"):
        small_report.step_time


def test_to_dict_is_a_copy(small_report):
    small_report.to_dict()["memory"].clear()
    assert small_report.memory


def test_copies_and_json_are_the_same_report(small_report):
    assert copy.deepcopy(small_report).to_dict() == small_report.to_dict()
    assert json.loads(small_report.to_json()) == small_report.to_dict()
    assert "\n" not in small_report.to_json(indent=None)


def test_the_frames_say_what_the_report_says(small_report):
    pytest.importorskip("pandas")
    frame = small_report.breakdown_frame()
    assert dict(frame["seconds"]) == small_report.breakdown
    by_role = small_report.breakdown_frame(by_role=True)
    assert list(by_role.index) == [role["name"] for role in small_report.roles]
    assert by_role["devices"].sum() == small_report.devices
    assert by_role.drop(columns="devices").sum(axis=1).iloc[0] == pytest.approx(small_report.step_time_s, rel=1e-9)
    memory = small_report.memory_frame()
    assert list(memory.index) == [role["role"] for role in small_report.memory]
    assert memory["peak_bytes"].iloc[0] == small_report.memory[0]["peak_bytes"]
    assert memory["weights"].iloc[0] == small_report.memory[0]["parts"]["weights"]


def test_it_looks_short_in_a_shell_and_a_notebook(small_report):
    assert re.fullmatch(r"<Report .+: [\d.]+ \w+ a step on 8 devices, MFU [\d.]+%>", repr(small_report))
    page = small_report._repr_html_()
    assert page.count("<tr>") == 1 + len(small_report.breakdown)
    assert "gemm" in page


def test_a_notebook_shows_names_and_not_their_markup(small_report):
    data = small_report.to_dict()
    data["name"] = "<script>alert(1)</script>"
    assert "<script>" not in warploom.Report(data)._repr_html_()


def test_reads_what_the_command_left(tmp_path, warploom_binary):
    out = tmp_path / "results"
    command = [warploom_binary, "run", "llama3_8b_8_h100", "--out", str(out), "--no-timeline", "--quiet"]
    subprocess.run(command, check=True)
    report = warploom.read_report(out)
    assert report.to_dict() == warploom.read_report(out / "report.json").to_dict()
    assert report.text == (out / "report.txt").read_text(encoding="utf-8")
    assert report.devices == 8


def test_text_is_the_report_for_people(small_report):
    assert "Where the time goes" in small_report.text
    assert warploom.Report(small_report.to_dict()).text == repr(small_report)


@pytest.mark.parametrize(
    ("content", "message"),
    [("{", "is not JSON"), ("[]", "is no report"), ('{"schema": "warploom.report/99"}', "is no report of this version")],
)
def test_a_file_that_is_no_report_is_refused(tmp_path, content, message):
    file = tmp_path / "report.json"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(warploom.UserError, match=message):
        warploom.read_report(file)


def test_a_folder_without_a_report_is_refused(tmp_path):
    with pytest.raises(warploom.UserError, match="cannot read .*report.json"):
        warploom.read_report(tmp_path)
