#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Draws where a step goes, one bar a stage: plot_breakdown.py report.json out.svg (Matplotlib)."""

import json
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

# One colour a cause, of three families: work, communication, waiting.
COLOURS = {
    "gemm": "#1f4e79", "attention": "#2e75b6", "other_compute": "#7fb2e5", "recompute": "#b4d0ee", "optimizer": "#c9d8e8",
    "interference": "#f2b134", "exposed_tp": "#c0504d", "exposed_pp": "#d98880", "exposed_dp": "#e6b0aa",
    "exposed_other": "#f2d7d5", "bubble": "#bfbfbf", "skew": "#9e9e9e", "host": "#6b6b6b", "idle": "#e5e5e5",
}


def main(source, target):
    with open(source, encoding="utf-8") as file:
        report = json.load(file)
    roles = report["roles"]
    names = [role["role"] if "role" in role else role["name"] for role in roles]
    causes = [row["cause"] for row in report["breakdown"] if row["share"] > 0.001]
    figure, axes = plt.subplots(figsize=(9, 4.6), constrained_layout=True)
    left = [0.0] * len(roles)
    for cause in causes:
        widths = [next((row["seconds"] for row in role["breakdown"] if row["cause"] == cause), 0.0) for role in roles]
        axes.barh(names, widths, left=left, color=COLOURS.get(cause, "#444444"), label=cause, height=0.8)
        left = [a + b for a, b in zip(left, widths)]
    axes.invert_yaxis()
    axes.set_xlabel("seconds of a step")
    axes.set_xlim(0, report["step_time_s"])
    axes.set_title(f"{report['name']}: {report['step_time_s']:.2f} s a step, MFU {100 * report['mfu']:.1f}%")
    axes.legend(ncols=5, loc="upper center", bbox_to_anchor=(0.5, -0.12), frameon=False, fontsize=8)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    plt.rcParams["svg.hashsalt"] = "warploom"
    figure.savefig(target, metadata={"Date": None} if target.endswith(".svg") else None)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
