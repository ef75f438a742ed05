#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of docs/models/gpu.md and its figure from what `warploom validate --model both` finds.

    gpu_page.py WARPLOOM [--data DIR]

Between `<!-- errors -->` and `<!-- end -->` stand the errors of both models, between `<!-- constants -->` and `<!-- end -->` how
many constants the detailed model has and where they come from, between `<!-- sms -->` and `<!-- end -->` how far one SM stands for
all, between `<!-- ablation -->` and `<!-- end -->` what each mechanism is worth; the rest of the page stays.
"""

import argparse
import csv
import json
import os
import re
import subprocess
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

from validation_page import nested  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/models/gpu.md"
FIGURE = ROOT / "docs/images/gpu_gemm.svg"
TABLES = ("gemm", "gemm_quantized", "gemm_fp32_known_kernel", "attention", "mla", "moe", "quantize", "llm_layer_ops",
          "memory_bound_fp32")
DEVICES = ("a100_sxm", "h100_sxm", "b200_sxm", "l40s")
# What a device file of its own says to switch a mechanism off.
ABLATIONS = {
    "latencies of memories, copies, barriers, products and block starts: none": {
        "l2.latency": "1 cycles", "memory.latency": "1 cycles",
        **{f"architecture.pipeline.{name}": "0 cycles" for name in (
            "math_latency", "special_latency", "shared_latency", "tensor_latency", "copy_latency", "far_latency",
            "barrier_latency", "block_start")}},
    "power limit: none": {"power.limit": "1 MW"},
    "parts of k: none": {"architecture.gemm.split_maximum": 1},
    "clusters and pairs of SMs: none": {"architecture.gemm.multicast": 1},
    "the L2: at the rate of every SM's port": {"l2.bytes_per_cycle_per_sm": 1024},
    "tiles with short rows: at the memory's full rate": {"architecture.pipeline.short_rows": 1,
                                                         "architecture.pipeline.short_row_writes": 1},
    "tiles: 128 x 128 alone": {"architecture.gemm.tiles": "[{m: 128, n: 128}]"},
}


# What was fitted, set to what it would be without: no energy, so no limit; every row at the memory's full rate.
UNTUNED = {"power.limit": "1 MW", "architecture.pipeline.short_rows": 1, "architecture.pipeline.short_row_writes": 1}
ORIGINS = ("data sheet", "measured", "derived", "fit", "guessed")


# Kernels whose SMs do the same, and such whose SMs do not.
SMS = {
    "GEMM 8192^3": "gemm -m 8192 -n 8192 -k 8192",
    "GEMM 1280 x 1792 x 16384, stream-K": "gemm -m 1280 -n 1792 -k 16384 --stream-k",
    "causal attention, 8 heads, 8192 tokens": "attention --query-heads 8 --kv-heads 8 --query-length 8192 --kv-length 8192 --causal",
    "32 experts, 4096 tokens, power law 1.2":
        "moe --tokens 4096 --hidden 4096 --intermediate 1536 --experts 32 --local-experts 32 --top-k 4 --skew 120",
    "decoding, 17 sequences of 9000 keys, parts of unequal number":
        "attention --batch 17 --query-heads 32 --kv-heads 8 --query-length 1 --kv-length 9000",
}


def validate(warploom, data, table, *options):
    done = subprocess.run([warploom, "validate", table + ".csv", "--json", *options], capture_output=True, text=True, check=True,
                          env={**os.environ, "WARPLOOM_DATA": data})
    return json.loads(done.stdout)["tables"][0]


def percent(value):
    return f"{100 * value:.1f}%" if value is not None else "-"


def by_device_and_phase(found):
    """{(device, phase): groups}"""
    split = {}
    for group in found["groups"]:
        split.setdefault((group["device"], group.get("phase", "")), []).append(group)
    return split


def mean(groups, of):
    rows = sum(group["rows"] for group in groups)
    return sum(group["rows"] * of(group) for group in groups) / rows


def errors(warploom, data):
    rows = []
    for table in TABLES:
        found = by_device_and_phase(validate(warploom, data, table, "--model", "both"))
        untuned = {}
        for device in sorted({device for device, _ in found}):
            changed = with_changes(warploom, data, table, device, UNTUNED)
            untuned.update({(device, phase): groups for (_, phase), groups in by_device_and_phase(changed).items()})
        for (device, phase), groups in sorted(found.items()):
            count = sum(group["rows"] for group in groups)
            inside = [group for group in groups if group.get("inside_band") is not None]
            rows.append(f"| {table} | {device} {phase} | {count:,} | {percent(mean(groups, lambda g: g['mape']))} | "
                        f"{100 * mean(groups, lambda g: g['bias']):+.1f}% | "
                        f"{percent(mean(inside, lambda g: g['inside_band']) if inside else None)} | "
                        f"{percent(mean(untuned[device, phase], lambda g: g['mape']))} | "
                        f"{percent(mean(groups, lambda g: g['other']['mape']))} | "
                        f"{percent(mean(groups, lambda g: g['baseline_mape']))} |")
    head = ["| table | device | rows | detailed | its bias | inside the campaigns' range | untuned | analytic | "
            "3-parameter roofline, fitted |",
            "|---|---|--:|--:|--:|--:|--:|--:|--:|"]
    return "\n".join(head + rows)


def with_changes(warploom, data, table, device, changes):
    """The detailed model's errors on the rows of a device with some of its values changed."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{device}.yaml"
        path.write_text(f"use: devices/{device}\nname: {device}\n" + nested(changes))
        where = f"hw={device.split('_')[0]}" if table == "llm_layer_ops" else f"device={device}"
        return validate(warploom, data, table, "--model", "detailed", "--where", where, "--device", str(path))


def constants():
    """Of the sections that the detailed model reads, by what the files say of their origin."""
    rows = []
    for path in sorted((ROOT / "configs/architectures").glob("*.yaml")):
        counts = dict.fromkeys(ORIGINS, 0)
        section = ""
        for line in path.read_text(encoding="utf-8").splitlines():
            if line and not line[0].isspace():
                section = line.split(":")[0]
            origin = re.search(r"\[(" + "|".join(ORIGINS) + r")\b", line)
            if section in ("pipeline", "energy") and origin:
                counts[origin[1]] += 1
        if any(counts.values()):
            rows.append(f"| {path.stem} | " + " | ".join(str(counts[origin]) for origin in ORIGINS) + " |")
    head = ["| constants of | " + " | ".join(ORIGINS) + " |", "|---|" + "--:|" * len(ORIGINS)]
    return "\n".join(head + rows)


def one_for_all(warploom):
    def micros(options, sms):
        command = [warploom, "kernel", *options.split(), "--device", "h100_sxm", "--model", "detailed", "--json", "--sms", sms]
        return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)["duration_us"]

    lines = ["| on h100_sxm | the busiest SM, us | every SM, us | one over all |", "|---|--:|--:|--:|"]
    for name, options in SMS.items():
        one, every = micros(options, "one"), micros(options, "all")
        lines.append(f"| {name} | {one:.1f} | {every:.1f} | {one / every:.3f} |")
    return "\n".join(lines)


def ablation(warploom, data):
    def row(name, changes):
        cells = [percent(with_changes(warploom, data, "gemm", device, changes)["overall"]["mape"]) for device in DEVICES]
        return f"| {name} | " + " | ".join(cells) + " |"

    lines = ["| GEMM, BF16 | " + " | ".join(DEVICES) + " |", "|---|" + "--:|" * len(DEVICES), row("as it is", {})]
    return "\n".join(lines + [row(name, changes) for name, changes in ABLATIONS.items()])


def figure(warploom, data):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        validate(warploom, data, "gemm", "--model", "detailed", "--rows", str(path))
        with open(path, newline="", encoding="utf-8") as file:
            rows = [row for row in csv.DictReader(file) if row["predicted_us"]]
    plt.rcParams.update({"svg.hashsalt": "warploom", "font.size": 9})
    plot, axes = plt.subplots(2, 2, figsize=(8, 6), sharex=True, sharey=True)
    for axis, device in zip(axes.flat, DEVICES):
        own = [row for row in rows if row["device"] == device]
        for size_class, colour in (("llm", "tab:blue"), ("other", "tab:orange"), ("skinny", "tab:green"), ("tiny", "tab:red")):
            some = [row for row in own if row["size_class"] == size_class]
            axis.scatter([float(row["measured_us"]) for row in some],
                         [float(row["predicted_us"]) / float(row["measured_us"]) for row in some],
                         s=3, color=colour, label=size_class, rasterized=True)
        axis.axhline(1, color="black", linewidth=0.6)
        axis.set(xscale="log", yscale="log", ylim=(0.4, 2.5), title=device)
        axis.set_yticks([0.5, 0.7, 1, 1.4, 2], ["0.5", "0.7", "1", "1.4", "2"])
        axis.minorticks_off()
    axes[0, 0].legend(markerscale=3, fontsize=7)
    for axis in axes[1]:
        axis.set_xlabel("measured, us")
    for axis in axes[:, 0]:
        axis.set_ylabel("predicted / measured")
    plot.tight_layout()
    plot.savefig(FIGURE, metadata={"Date": None}, dpi=110)


def replace(text, mark, content):
    return re.sub(rf"(<!-- {mark} -->\n).*?(<!-- end -->)", lambda m: m.group(1) + content + "\n" + m.group(2), text, flags=re.S)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("warploom")
    parser.add_argument("--data", default=os.environ.get("WARPLOOM_DATA", ""))
    arguments = parser.parse_args()
    warploom = str(Path(arguments.warploom).resolve())
    text = PAGE.read_text(encoding="utf-8")
    text = replace(text, "errors", errors(warploom, arguments.data))
    text = replace(text, "constants", constants())
    text = replace(text, "sms", one_for_all(warploom))
    text = replace(text, "ablation", ablation(warploom, arguments.data))
    PAGE.write_text(text, encoding="utf-8")
    figure(warploom, arguments.data)


if __name__ == "__main__":
    main()
