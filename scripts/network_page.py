#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of docs/models/network_accuracy.md and its figures from what `warploom validate collectives.csv` finds.

    network_page.py WARPLOOM [--data DIR]

Between `<!-- nodes -->` and `<!-- end -->` stand the errors inside a node beside the spread of the same call, between
`<!-- clusters -->` and `<!-- end -->` those across nodes, between `<!-- regions -->` and `<!-- end -->` how far choices agree with
measured regions; the rest of the page stays. A figure a device shows bus bandwidth over
size, measured as dots, predicted as a line whose colour is algorithm and protocol.
"""

import argparse
import csv
import os
import re
import statistics
import subprocess
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

from tuner_regions import agreement  # noqa: E402
from validation_page import table  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/models/network_accuracy.md"
IMAGES = ROOT / "docs/images"
OPERATIONS = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")
LARGE = 64 << 20
GIB = 1 << 30
COLORS = {"ring/ll": "#9ecae1", "ring/ll128": "#4292c6", "ring/simple": "#08519c", "tree/ll": "#a1d99b", "tree/ll128": "#41ab5d",
          "tree/simple": "#006d2c", "nvls/simple": "#d94801", "nvls_tree/simple": "#8c2d04", "direct/ll": "#bcbddc",
          "direct/simple": "#6a51a3"}
MARKERS = "osv^D"


def rows_of(warploom, data):
    """The predicted rows, with numbers as numbers."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.csv"
        subprocess.run([warploom, "validate", "collectives.csv", "--quiet", "--rows", str(file)], check=True, capture_output=True,
                       env={**os.environ, "WARPLOOM_DATA": data})
        with open(file, newline="", encoding="utf-8") as lines:
            rows = [row for row in csv.DictReader(lines) if row["predicted_us"]]
    for row in rows:
        labels = dict(pair.split("=", 1) for pair in row["labels"].split(";"))
        row["way"] = f"{labels['algorithm']}/{labels['protocol']}"
        row["op"] = row["table.op"]
        row["nodes"], row["gpus"], row["bytes"] = (int(row[f"table.{key}"]) for key in ("nodes", "gpus", "bytes"))
        row["measured"], row["predicted"] = float(row["measured_us"]), float(row["predicted_us"])
        row["error"] = row["predicted"] / row["measured"] - 1
    return rows


def bus_bandwidth(row, time):
    n = row["gpus"]
    factor = (2 if row["op"] == "all_reduce" else 1) * (n - 1) / n
    return row["bytes"] / time * factor / 1e3  # GB/s of bytes over microseconds


def percent(values, sign=False):
    if not values:
        return ""
    return f"{100 * statistics.fmean(values):+.1f}%" if sign else f"{100 * statistics.fmean(map(abs, values)):.1f}%"


def spread(rows):
    """Half the distance between the slowest and the fastest row of one call, over their middle: the mean over calls that several
    rows have (versions of the library, sources). Nothing predicts better than that on average."""
    calls = {}
    for row in rows:
        calls.setdefault((row["op"], row["gpus"], row["bytes"], row["way"]), []).append(row["measured"])
    halves = [(max(times) - min(times)) / 2 / statistics.median(times) for times in calls.values() if len(times) > 1]
    return percent(halves)


def nodes_table(rows):
    lines = []
    devices = sorted({row["device"] for row in rows if row["nodes"] == 1})
    for device in devices:
        own = [row for row in rows if row["nodes"] == 1 and row["device"] == device]
        for operation in (*OPERATIONS, "all"):
            some = [row for row in own if operation in ("all", row["op"])]
            large = [row for row in some if row["bytes"] >= LARGE]
            if not some:
                continue
            name = f"**{operation}**" if operation == "all" else operation
            lines.append([device, name, len(some), percent([r["error"] for r in some]), percent([r["error"] for r in some], True),
                          spread(some), percent([r["error"] for r in large]), spread(large)])
    return table(["device", "operation", "rows", "MAPE", "bias", "spread of one call", "MAPE, 64 MiB and more", "spread"], lines)


def clusters_table(rows):
    lines = []
    fabrics = sorted({(row["table.fabric"], row["table.algo"]) for row in rows if row["nodes"] > 1})
    for fabric, algorithm in fabrics:
        some = [row for row in rows if row["nodes"] > 1 and (row["table.fabric"], row["table.algo"]) == (fabric, algorithm)]
        large = [row for row in some if row["bytes"] >= GIB]
        counts = sorted({row["nodes"] for row in some})
        lines.append([fabric, some[0]["device"], ", ".join(map(str, counts)), algorithm.split(" ")[0], len(some),
                      percent([r["error"] for r in some]), spread(some), len(large), percent([r["error"] for r in large])])
    return table(["network", "device", "nodes", "asked for", "rows", "MAPE", "spread of one call", "rows of 1 GiB and more", "MAPE"],
                 lines)


def regions_table(warploom, data):
    lines = []
    for (platform, operation), (points, ours, near, nccl) in agreement(warploom, Path(data) / "net/aws_ofi_tuner_regions.csv").items():
        lines.append([platform, operation, points, *(f"{100 * count / points:.0f}%" for count in (ours, near, nccl))])
    return table(["platform", "operation", "points", "our choice agrees", "measured way within 10% of it", "NCCL's model agrees"],
                 lines)


def draw(device, rows):
    own = [row for row in rows if row["device"] == device and row["nodes"] == 1 and row["table.algo"] == "auto"
           and row["op"] in OPERATIONS and "aiconfigurator" in row["table.source"]]
    ranks = sorted({row["gpus"] for row in own})
    versions = sorted({row["table.library"] for row in own})
    figure, panels = plt.subplots(len(ranks), 4, figsize=(11, 2.5 * len(ranks) + 0.6), squeeze=False, constrained_layout=True,
                                  sharex=True)
    ways = []
    for line, count in zip(panels, ranks):
        for panel, operation in zip(line, OPERATIONS):
            for version, marker in zip(versions, MARKERS):
                some = sorted((row for row in own if (row["gpus"], row["op"], row["table.library"]) == (count, operation, version)),
                              key=lambda row: row["bytes"])
                panel.scatter([row["bytes"] for row in some], [bus_bandwidth(row, row["measured"]) for row in some], s=11,
                              marker=marker, facecolors="none", edgecolors="#333333", linewidths=0.6)
                for before, row in zip(some, some[1:]):
                    ways += [row["way"]] if row["way"] not in ways else []
                    panel.plot([before["bytes"], row["bytes"]],
                               [bus_bandwidth(before, before["predicted"]), bus_bandwidth(row, row["predicted"])],
                               color=COLORS.get(row["way"], "#000000"), linewidth=1.3)
            panel.set_xscale("log", base=2)
            panel.set_yscale("log")
            panel.set_title(f"{operation}, {count} devices", fontsize=8)
            panel.tick_params(labelsize=7)
            for side in ("top", "right"):
                panel.spines[side].set_visible(False)
    handles = [plt.Line2D([], [], color=COLORS.get(way, "#000000"), label=way) for way in sorted(ways)]
    handles += [plt.Line2D([], [], color="#333333", marker=marker, markerfacecolor="none", linestyle="", markersize=4, label=version)
                for version, marker in zip(versions, MARKERS)]
    figure.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncol=8, fontsize=7, frameon=False)
    figure.supxlabel("bytes", fontsize=8)
    figure.supylabel("bus bandwidth, GB/s", fontsize=8)
    plt.rcParams["svg.hashsalt"] = "warploom"
    target = IMAGES / f"network_{device}.svg"
    figure.savefig(target, metadata={"Date": None}, bbox_inches="tight")
    plt.close(figure)
    target.write_text("\n".join(line.rstrip() for line in target.read_text().split("\n")))


def between(text, mark, new):
    return re.sub(rf"(<!-- {mark} -->\n).*?(<!-- end -->)", lambda found: found.group(1) + "\n" + new + "\n" + found.group(2), text,
                  flags=re.DOTALL)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("warploom")
    arguments.add_argument("--data", default=os.environ.get("WARPLOOM_DATA"))
    given = arguments.parse_args()
    if not given.data:
        arguments.error("needs --data or WARPLOOM_DATA")
    rows = rows_of(given.warploom, given.data)
    for device in ("a100_sxm", "h100_sxm", "b200_sxm", "l40s"):
        draw(device, rows)
    text = PAGE.read_text(encoding="utf-8")
    text = between(text, "nodes", nodes_table(rows))
    text = between(text, "clusters", clusters_table(rows))
    PAGE.write_text(between(text, "regions", regions_table(given.warploom, given.data)), encoding="utf-8")
    print(f"{PAGE.relative_to(ROOT)}: {len(rows)} rows")


if __name__ == "__main__":
    main()
