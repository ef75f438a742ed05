#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`warploom validate` on measured tables: errors stay below their gates, and no class is worse than the fitted baseline.

Published figures (tests/validation/published) are in every clone; larger tables are read from the folder that WARPLOOM_DATA
names, and those gates are skipped without it.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]

# (table, what a group must say, highest MAPE); a value may be a tuple of which any will do.
GATES = [
    ("measured/gemm.csv", {"device": ("h100_sxm", "b200_sxm")}, 0.08),
    ("measured/gemm.csv", {"device": "a100_sxm"}, 0.10),
    ("measured/gemm.csv", {"device": "l40s"}, 0.14),
    ("measured/gemm_fp32_known_kernel.csv", {"device": ("a100_pcie_80gb", "h100_sxm", "v100_pcie_32gb")}, 0.05),
    ("measured/gemm_quantized.csv", {"device": ("h100_sxm", "b200_sxm")}, 0.15),
    ("measured/gemm_quantized.csv", {"device": "l40s"}, 0.21),
    ("measured/attention.csv", {"phase": "prefill"}, 0.15),
    ("measured/attention.csv", {"phase": "decode", "device": ("h100_sxm", "b200_sxm")}, 0.12),
    ("measured/attention.csv", {"phase": "decode", "device": "a100_sxm"}, 0.17),
    ("measured/attention.csv", {"phase": "decode", "device": "l40s"}, 0.28),
    ("net/collectives.csv", {"nodes": "one", "device": ("a100_sxm", "h100_sxm", "b200_sxm")}, 0.15),
    ("net/collectives.csv",
     {"nodes": "one", "device": ("a100_sxm", "h100_sxm", "b200_sxm"), "size_class": "64 MiB and more"}, 0.06),
    ("net/moe_dispatch_low_latency.csv", {"op": "dispatch"}, 0.12),
    ("net/moe_dispatch_low_latency.csv", {"op": "combine"}, 0.12),
    ("net/moe_dispatch_normal.csv", {"op": "dispatch"}, 0.15),
    ("net/moe_dispatch_normal.csv", {"op": "combine"}, 0.15),
    ("training/ground_truth.csv", {"set": "korthikanti_table5"}, 0.06),
    ("training/ground_truth.csv", {"set": "megascale_table2"}, 0.08),
    ("training/ground_truth.csv", {"set": "nemo_24_07"}, 0.12),
    ("training/pipeline_bubbles.csv", {}, 0.001),
]
# Captures, of WARPLOOM_DATA too. The pairs of H100 and MI300X are out of sample: nothing is fitted on them.
REPLAY_GATES = [
    ("replays.csv", {"part": "span", "shapes": None}, 0.09),
    ("replays.csv", {"part": "busy", "shapes": None}, 0.10),
    ("replays.csv", {"part": "busy", "shapes": "without shapes"}, 0.16),
    ("self_replays.csv", {"part": "span"}, 0.002),
    ("self_replays.csv", {"part": "busy"}, 0.01),
]
# One device's kernels predicted from another's: (table, anchor, what a group must say, highest MAPE).
ANCHORED_GATES = [
    ("measured/gemm.csv", "h100_sxm", {"device": "b200_sxm"}, 0.06),
    ("measured/gemm.csv", "h100_sxm", {"device": ("a100_sxm", "l40s")}, 0.09),
    ("measured/gemm.csv", "a100_sxm", {}, 0.12),
    ("measured/attention.csv", "h100_sxm", {}, 0.12),
    ("measured/attention.csv", "a100_sxm", {}, 0.13),
    ("measured/llm_layer_ops.csv", "a40", {}, 0.17),
    ("measured/llm_layer_ops.csv", "h100_sxm", {}, 0.19),
    ("measured/memory_bound_fp32.csv", "v100_pcie_32gb", {}, 0.06),
    ("net/collectives.csv", "a100_sxm", {"device": ("h100_sxm", "b200_sxm")}, 0.08),
]
# The same of the detailed model (docs/models/gpu.md has the gates that it does not meet yet).
DETAILED_GATES = [
    ("measured/gemm.csv", {"device": "h100_sxm"}, 0.07),
    ("measured/gemm.csv", {"device": ("h100_sxm", "b200_sxm")}, 0.075),
    ("measured/gemm.csv", {"device": "a100_sxm"}, 0.11),
    ("measured/gemm.csv", {"device": "l40s"}, 0.13),
    ("measured/gemm_fp32_known_kernel.csv", {"device": ("a100_pcie_80gb", "h100_sxm", "v100_pcie_32gb")}, 0.08),
    ("measured/gemm_quantized.csv", {}, 0.13),
    ("measured/attention.csv", {"phase": "prefill", "device": ("a100_sxm", "h100_sxm")}, 0.11),
    ("measured/attention.csv", {"phase": "prefill"}, 0.14),
    ("measured/attention.csv", {"phase": "decode", "device": ("h100_sxm", "b200_sxm")}, 0.14),
    ("measured/attention.csv", {"phase": "decode", "device": "a100_sxm"}, 0.12),
    ("measured/attention.csv", {"phase": "decode", "device": "l40s"}, 0.18),
    ("measured/mla.csv", {}, 0.19),
    ("measured/memory_bound_fp32.csv", {}, 0.05),
    ("measured/quantize.csv", {}, 0.16),
    ("measured/llm_layer_ops.csv", {}, 0.16),
]
PUBLISHED_GATES = [
    ("collectives.csv", {}, 0.10),
    ("training_steps.csv", {"set": "korthikanti_table5"}, 0.06),
    ("training_steps.csv", {"set": "megascale_table2"}, 0.08),
    ("attention.csv", {}, 0.15),
    ("moe.csv", {"mode": "low_latency"}, 0.12),
    ("moe.csv", {"mode": "normal"}, 0.15),
]


def validate(file, model="analytic", anchor=None):
    binary = os.environ.get("WARPLOOM_BINARY", str(REPOSITORY / "build/release/bin/warploom"))
    done = subprocess.run(
        [binary, "validate", str(file), "--json", *(["--anchored", anchor] if anchor else ["--model", model])],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "WARPLOOM_CONFIGS": str(REPOSITORY / "configs")},
    )
    return json.loads(done.stdout)["tables"][0] if done.returncode == 0 else done.stderr.strip()


def is_meant(group, wanted):
    if group.get("settings") == "open":
        return False
    return all(group.get(key) in (value if isinstance(value, tuple) else (value,)) for key, value in wanted.items())


def problem_of(table, wanted, gate):
    groups = [group for group in table["groups"] if is_meant(group, wanted)]
    rows = sum(group["rows"] for group in groups)
    if rows == 0:
        return f"no row is predicted; skipped: {table['skipped'][:1]}"
    mape = sum(group["rows"] * group["mape"] for group in groups) / rows
    print(f"  {wanted or 'all'}: {rows} rows, MAPE {100 * mape:.1f}%, gate {100 * gate:.0f}%")
    return None if mape <= gate else f"MAPE {100 * mape:.1f}% is above {100 * gate:.0f}%"


def check(file, gates, model="analytic", anchor=None):
    print(file.relative_to(file.parents[1]), f"from {anchor}" if anchor else model)
    table = validate(file, model, anchor)
    if isinstance(table, str):
        return [f"{file.name}: {table}"]
    problems = []
    for wanted, gate in gates:
        problem = problem_of(table, wanted, gate)
        if problem:
            problems.append(f"{file.name} {wanted}: {problem}")
    # The baseline is fitted to the very rows; nothing of the detailed model is.
    if model == "detailed" and table["overall"]["mape"] > table["baseline"]["mape"] + 0.01:
        problems.append(f"{file.name}: the detailed model is more than a point behind the fitted baseline")
    return problems


def main():
    plan = {}
    for name, wanted, gate in PUBLISHED_GATES:
        plan.setdefault((HERE / "published" / name, "analytic", None), []).append((wanted, gate))
    data = os.environ.get("WARPLOOM_DATA")
    for model, gates in (("analytic", GATES), ("detailed", DETAILED_GATES)) if data else ():
        for name, wanted, gate in gates:
            file = Path(data) / name
            if file.exists():
                plan.setdefault((file, model, None), []).append((wanted, gate))
    for name, anchor, wanted, gate in ANCHORED_GATES if data else ():
        if (Path(data) / name).exists():
            plan.setdefault((Path(data) / name, "analytic", anchor), []).append((wanted, gate))
    for name, wanted, gate in REPLAY_GATES if data and (Path(data) / "traces").exists() else ():
        plan.setdefault((HERE / name, "analytic", None), []).append((wanted, gate))
    problems = [problem for (file, model, anchor), gates in plan.items() for problem in check(file, gates, model, anchor)]
    for problem in problems:
        print(f"FAILED {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
