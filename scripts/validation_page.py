#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/validation.md and its figures from what `warploom validate` finds: validation_page.py WARPLOOM [--data DIR].

Tables come from the folder that WARPLOOM_DATA names (or --data), and from tests/validation/published. The words between the
tables stand in scripts/validation_notes/*.md: one file a kind of table, or a table, placed below it as it is.
"""

import argparse
import csv
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
NOTES = Path(__file__).resolve().parent / "validation_notes"
PAGE = ROOT / "docs/validation.md"
IMAGES = ROOT / "docs/images"
PUBLISHED = ROOT / "tests/validation/published"
FOLDERS = ("measured", "net", "training")
# Titles of kinds, in the page's order; kinds that are not named here come last.
TITLES = {
    "gemm": "GEMM, BF16",
    "gemm_fp32": "GEMM, FP32, kernel and grid known",
    "gemm_quantized": "GEMM, quantised, with the quantise kernel",
    "attention": "Attention of serving engines",
    "mla": "Multi-head latent attention",
    "moe": "Fused mixture-of-experts layers",
    "quantize": "Quantise and scale",
    "llm_layer_ops": "Operators of dense layers",
    "memory_bound": "Memory-bound FP32 operations",
    "collectives": "Collectives",
    "training": "Training steps",
    "replay": "Captured steps replayed",
}
BASELINES = {
    "roofline": "roofline, 3 fitted parameters",
    "latency_bandwidth": "latency + bandwidth, fitted",
    "constant_efficiency": "constant efficiency of the other sets",
    "unchanged": "unchanged",
    "peaks": "ratio of peaks",
}
# Tables of kinds whose kernels several devices ran, and the devices from which the others are predicted (`--anchored`).
ANCHORS = {
    "gemm": ("a100_sxm", "h100_sxm", "l40s"),
    "attention": ("a100_sxm", "h100_sxm", "l40s"),
    "llm_layer_ops": ("a40", "h100_sxm"),
    "memory_bound": ("v100_pcie_32gb", "t4"),
    "collectives": ("a100_sxm", "h100_sxm"),
}


# Mechanisms of kinds, and what in a device file, or in those of `attention/`, switches each off: the page shows the error
# without it.
UNLIMITED = {"power.limit": "1 MW"}
ABLATIONS = {
    "gemm": {
        "waves: every last wave is full": {"architecture.gemm.wave_quantisation": 0},
        "parts of k: none": {"architecture.gemm.split_maximum": 1},
        "clusters: operands are not shared": {"architecture.gemm.multicast": 1},
        "operands from the L2: at the port's whole rate": {"l2.bytes_per_cycle_per_sm": 1024,
                                                           "architecture.gemm.port_bytes_per_cycle": 1024},
        "prologue and epilogue: none": {"architecture.gemm.prologue": "0 cycles", "architecture.gemm.epilogue": "0 cycles"},
        "start and end of the kernel: none": {"architecture.gemm.fixed": "0 us", "launch.graph": "0 us"},
        "power limit: none": UNLIMITED,
    },
    "attention": {
        "packed groups: one query head a tile": {"attention/packs_groups": "false"},
        "softmax: hidden behind the products": {"attention/softmax_overlap": 0.5, "attention/softmax_cycles_scale": 0.5},
        "parts of the keys: none": {"attention/decode.split": "none"},
        "prologue and epilogue: none": {
            f"attention/{part}{end}": "0 cycles" for part in ("", "decode.") for end in ("prologue", "epilogue")},
        "the engine's scheduling: none": {"attention/scheduling": "0 us"},
        "power limit: none": UNLIMITED,
    },
    "gemm_quantized": {
        "the quantise kernel: free": {"architecture.streaming.quantize": 256, "architecture.streaming.quantize_fixed": "0 us",
                                      "architecture.streaming.quantize_block": 256,
                                      "architecture.streaming.quantize_block_fixed": "0 us",
                                      "architecture.streaming.quantize_4bit": 256,
                                      "architecture.streaming.quantize_4bit_fixed": "0 us"},
        "promotion to FP32: free": {"architecture.gemm.split_accumulator": 1},
        "serving kernels: as the vendor's library": {"architecture.gemm.serving_main_loop": 1,
                                                     "architecture.gemm.serving_memory": 1},
        "power limit: none": UNLIMITED,
    },
}


def nested(overrides):
    """Dotted keys as YAML maps of one line each, which a device file merges with what it starts from."""
    tree = {}
    for key, value in overrides.items():
        *path, last = key.split(".")
        branch = tree
        for part in path:
            branch = branch.setdefault(part, {})
        branch[last] = value

    def flow(node):
        return "{" + ", ".join(f"{k}: {flow(v)}" for k, v in node.items()) + "}" if isinstance(node, dict) else str(node)

    return "".join(f"{key}: {flow(value)}\n" for key, value in tree.items())


def validate_with(warploom, file, devices, overrides):
    """The table with keys of its device files overridden, and with those of `attention/` in every file of that folder."""
    of_devices = {key: value for key, value in overrides.items() if "/" not in key}
    of_library = {key.split("/", 1)[1]: value for key, value in overrides.items() if "/" in key}
    with tempfile.TemporaryDirectory() as folder:
        command = [warploom, "validate", file, "--json"]
        for device in devices if of_devices else ():
            own = Path(folder) / f"{device}.yaml"
            own.write_text(f"use: devices/{device}\n{nested(of_devices)}", encoding="utf-8")
            command += ["--device", str(own)]
        library = Path(folder) / "configs"
        shutil.copytree(ROOT / "configs", library)
        for entry in list((library / "attention").glob("*.yaml")) if of_library else ():
            entry.rename(entry.with_name(f"original_{entry.name}"))
            entry.write_text(f"use: attention/original_{entry.stem}\n{nested(of_library)}", encoding="utf-8")
        done = subprocess.run(command, capture_output=True, text=True, check=False,
                              env=os.environ | {"WARPLOOM_CONFIGS": str(library)})
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout)["tables"][0]


def ablation(warploom, found):
    """What each mechanism is worth: the error of a device's rows with it off."""
    if found["kind"] not in ABLATIONS or found["predicted"] < 100:
        return ""

    def errors(one):
        # A device file of one's own goes by the file's name.
        names = {g["device"]: g["device"].removesuffix(".yaml") for g in one["groups"]}
        return {short: weighted([g for g in one["groups"] if g["device"] == device], "mape") for device, short in names.items()}

    devices = sorted(errors(found))
    lines = [["everything on", *(percent(errors(found)[device]) for device in devices)]]
    for name, overrides in ABLATIONS[found["kind"]].items():
        without = errors(validate_with(warploom, found["file"], devices, overrides))
        lines.append([name, *(percent(without[device]) for device in devices)])
    return ("\nWhat each mechanism is worth, as MAPE with it off and nothing refitted:\n\n"
            + table(["mechanism", *devices], lines))


def run(warploom, files, rows):
    done = subprocess.run(
        [warploom, "validate", *map(str, files), "--json", "--rows", str(rows)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout)["tables"]


def is_known(warploom, file):
    """Whether it is a table that can be predicted; a file of another kind is passed over, a broken one is not."""
    with open(file, encoding="utf-8") as lines:
        head = "".join(line for line, _ in zip(lines, range(2)))
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as short:
        short.write(head)
        short.flush()
        done = subprocess.run([warploom, "validate", short.name, "--quiet"], capture_output=True, text=True, check=False)
    return done.returncode == 0 or "are of no kind of table" not in done.stderr and "needs it" not in done.stderr


def percent(share, sign=False):
    if share is None:
        return ""
    return f"{100 * share:+.1f}%" if sign else f"{100 * share:.1f}%"


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows]) + "\n"


def weighted(groups, value):
    known = [(g["rows"], g[value]) for g in groups if g.get(value) is not None]
    return sum(n * v for n, v in known) / sum(n for n, _ in known) if known else None


def bias_of(groups):
    rows = sum(g["rows"] for g in groups)
    return math.exp(sum(g["rows"] * math.log1p(g["bias"]) for g in groups) / rows) - 1 if rows else None


def keys_of(group):
    """What the page groups by: everything but what would give a line to every few rows."""
    left_out = {"rows", "mape", "median_ape", "p90_ape", "bias", "inside_band", "baseline_mape", "leave_one_set_out_mape",
                "settings", "interval_width", "ranks"}
    return tuple((k, v) for k, v in group.items() if k not in left_out)


def page_groups(found):
    """Groups as lines of the page: merged over sets where those are many."""
    groups = [g for g in found["groups"] if g.get("settings") != "open"]
    has_many_sets = len({g.get("set") for g in groups}) > 6 and all("size_class" in g for g in groups)
    merged = {}
    for group in groups:
        key = tuple((k, v) for k, v in keys_of(group) if not (has_many_sets and k == "set" and found["kind"] != "training"))
        merged.setdefault(key, []).append(group)
    return merged


def section(found, image, warploom):
    title = TITLES.get(found["kind"], found["kind"].replace("_", " "))
    skipped = len(found["skipped"])
    text = f"## {title}\n\n"
    text += f"`{display(found['file'])}`: {found['rows']:,} rows, {found['predicted']:,} predicted, {skipped:,} skipped.\n\n"
    rows = []
    for key, groups in page_groups(found).items():
        rows.append([" ".join(str(v) for _, v in key), f"{sum(g['rows'] for g in groups):,}", percent(weighted(groups, "mape")),
                     percent(weighted(groups, "median_ape")), percent(weighted(groups, "p90_ape")), percent(bias_of(groups), True),
                     percent(weighted(groups, "baseline_mape")), percent(weighted(groups, "leave_one_set_out_mape"))])
    overall, baseline = found["overall"], found["baseline"]
    rows.append(["**all**", f"{found['predicted']:,}", percent(overall["mape"]), percent(overall["median_ape"]),
                 percent(overall["p90_ape"]), percent(overall["bias"], True), percent(baseline["mape"]),
                 percent(found["leave_one_set_out_mape"])])
    text += table(["group", "rows", "MAPE", "median", "p90", "bias", BASELINES[baseline["kind"]], "leave one set out"], rows)
    if overall["inside_band"] is not None:
        text += f"\n{percent(overall['inside_band'])} of the predictions lie between the least and the greatest of the campaigns.\n"
    text += behind(found) + open_settings(found) + reasons(found)
    if image:
        text += f"\n![{title}: predicted against measured](images/{image})\n"
    text += ablation(warploom, found)
    kind_notes = NOTES / f"{found['kind']}.md"
    notes = kind_notes if kind_notes.exists() else NOTES / f"{Path(found['file']).stem}.md"
    if notes.exists():
        text += "\n" + notes.read_text(encoding="utf-8").strip() + "\n"
    return text + "\n"


def behind(found):
    """The classes in which the baseline, fitted to these rows, is better by more than a point: what is to be mended."""
    names = [f"{' '.join(str(v) for _, v in key)} ({percent(weighted(groups, 'mape'))} against {percent(weighted(groups, 'baseline_mape'))})"
             for key, groups in page_groups(found).items()
             if sum(g["rows"] for g in groups) >= 10
             and (weighted(groups, "mape") or 0) > (weighted(groups, "baseline_mape") or math.inf) + 0.01]
    return "\nMore than a point behind the baseline (classes of ten rows and more): " + "; ".join(names) + ".\n" if names else ""


def open_settings(found):
    groups = [g for g in found["groups"] if g.get("settings") == "open"]
    if not groups:
        return ""
    lines = [[g.get("set", ""), g["device"], g["rows"], percent(g["mape"]), percent(g["interval_width"])] for g in groups]
    return ("\nRows with settings that were not published are predicted over all that fit; they gate nothing:\n\n"
            + table(["set", "device", "rows", "distance to the interval", "width of the interval"], lines))


def reasons(found):
    counts = {}
    for row in found["skipped"]:
        reason = re.sub(r"`[^`]*`", "...", row["reason"]) if len(found["skipped"]) > 200 else row["reason"]
        counts[reason] = counts.get(reason, 0) + 1
    if not counts:
        return ""
    most = sorted(counts.items(), key=lambda item: -item[1])
    text = "\nSkipped: " + "; ".join(f"{count:,} x {reason}" for reason, count in most[:8])
    return text + (f"; {len(most) - 8} more reasons" if len(most) > 8 else "") + ".\n"


def display(path):
    path = str(path)
    return os.path.relpath(path, ROOT) if path.startswith(str(ROOT)) else "/".join(path.split("/")[-2:])


def draw(kind, rows, target):
    """One panel a device: predicted against measured, the diagonal, 10% either side."""
    devices = sorted({row["device"] for row in rows})
    if not devices or len(rows) < 5:
        return None
    columns = min(len(devices), 4)
    lines = math.ceil(len(devices) / columns)
    figure, panels = plt.subplots(lines, columns, figsize=(2.6 * columns + 0.6, 2.5 * lines + 0.5), squeeze=False,
                                  constrained_layout=True, sharex=True, sharey=True)
    measured = [float(row["measured_us"]) for row in rows]
    low, high = min(measured) / 1.5, max(measured) * 1.5
    scale, unit = (1e-6, "s") if kind == "training" else (1, "us")
    for panel, device in zip(panels.flat, devices):
        own = [row for row in rows if row["device"] == device]
        panel.fill_between([low * scale, high * scale], [0.9 * low * scale, 0.9 * high * scale],
                           [1.1 * low * scale, 1.1 * high * scale], color="#d9e6f2", linewidth=0)
        panel.plot([low * scale, high * scale], [low * scale, high * scale], color="#7f7f7f", linewidth=0.7)
        panel.scatter([float(row["measured_us"]) * scale for row in own], [float(row["predicted_us"]) * scale for row in own],
                      s=5 if len(own) > 200 else 12, color="#1f4e79", alpha=0.45, linewidths=0, rasterized=len(own) > 200)
        panel.set_xscale("log")
        panel.set_yscale("log")
        panel.set_xlim(low * scale, high * scale)
        panel.set_ylim(low * scale, high * scale)
        error = sum(abs(float(row["error"])) for row in own) / len(own)
        panel.set_title(f"{device}: {len(own):,} rows, {100 * error:.1f}%", fontsize=8)
        panel.tick_params(labelsize=7)
        for side in ("top", "right"):
            panel.spines[side].set_visible(False)
    for panel in list(panels.flat)[len(devices):]:
        panel.set_visible(False)
    figure.supxlabel(f"measured, {unit}", fontsize=8)
    figure.supylabel(f"predicted, {unit}", fontsize=8)
    plt.rcParams["svg.hashsalt"] = "warploom"
    figure.savefig(target, dpi=110, metadata={"Date": None})
    plt.close(figure)
    # Matplotlib ends lines with blanks.
    target.write_text("\n".join(line.rstrip() for line in target.read_text().split("\n")))
    return target.name


def anchored_section(warploom, found):
    """Devices predicted from what another measured of the same kernels, as a replay does, beside simpler ways."""
    lines = []
    for table_of_kind in found:
        for anchor in ANCHORS.get(table_of_kind["kind"], ()):
            done = subprocess.run([warploom, "validate", table_of_kind["file"], "--anchored", anchor, "--json"],
                                  capture_output=True, text=True, check=False)
            if done.returncode:
                continue
            one = json.loads(done.stdout)["tables"][0]
            for device in sorted({group["device"] for group in one["groups"]}):
                groups = [group for group in one["groups"] if group["device"] == device]
                plain = [{"rows": group["rows"], "mape": group["other"]["mape"]} for group in groups]
                lines.append([TITLES.get(one["kind"], one["kind"]), anchor, device, f"{sum(g['rows'] for g in groups):,}",
                              percent(weighted(groups, "mape")), percent(bias_of(groups), True), percent(weighted(plain, "mape")),
                              percent(weighted(groups, "baseline_mape"))])
    if not lines:
        return ""
    notes = NOTES / "anchored.md"
    text = "## From one device to another\n\n"
    text += ("Kernels that two devices ran, predicted for the one from what the other measured: measured x predicted here / predicted "
             "there, as `warploom replay --on` does with operations whose shapes are recorded (`warploom validate TABLE --anchored "
             "DEVICE`). Beside it the plain prediction of the same rows, and the measurement scaled by what bounds the kernel at both "
             "data sheets' peaks.\n\n")
    text += table(["kernels", "from", "to", "rows", "anchored", "bias", "plain", "ratio of peaks"], lines)
    return text + ("\n" + notes.read_text(encoding="utf-8").strip() + "\n" if notes.exists() else "") + "\n"


def constants_section(warploom):
    """What was fitted, from the tags in the files: how many constants, and who uses them."""
    done = subprocess.run([warploom, "calibrate", "--constants", "--json"], capture_output=True, text=True, check=False)
    if done.returncode:
        return ""
    constants = json.loads(done.stdout)["constants"]
    kinds = {}
    for constant in constants:
        kinds.setdefault(constant["kind"], []).append(constant)
    rows = []
    for kind, some in kinds.items():
        shared = [c for c in some if c["counts"]]
        users = sorted({user for c in some for user in c["users"]})
        rows.append([TITLES.get(kind, kind), len(some), len(shared), len(users)])
    text = "## Fitted constants\n\n"
    text += ("A constant counts as one only if two devices or sets at least use it. They stand in `configs/`, each with its source; "
             "`configs/calibration/constants.yaml` says what is physical; `make calibrate` writes them.\n\n")
    return text + table(["decided by", "constants", "used by two or more", "devices or clusters that use them"], rows) + "\n"


HEAD = """# Validation: predicted against measured

Written by `scripts/validation_page.py` (`make validation-page`) from `warploom validate`; the words on misses stand in
`scripts/validation_notes/`. error = predicted / measured - 1; bias is the geometric mean of predicted / measured, minus 1. The
baseline has its parameters fitted to these very rows, by device and data type; *leave one set out* is the error on rows whose set
was left out of the fit of our constants (sources where a table has several, else devices, else folds of weight shapes), as the
last calibration recorded it in `configs/calibration/residuals.yaml`. Rows that nothing was fitted on are out of sample as they are.

"""


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("warploom")
    arguments.add_argument("--data", default=os.environ.get("WARPLOOM_DATA"))
    given = arguments.parse_args()
    files = sorted(PUBLISHED.glob("*.csv"))
    if given.data:
        os.environ["WARPLOOM_DATA"] = given.data  # captures that tables of replays name lie there
        files += sorted(PUBLISHED.parent.glob("*.csv"))
    for folder in FOLDERS if given.data else ():
        files += sorted((Path(given.data) / folder).glob("*.csv"))
    files = [file for file in files if is_known(given.warploom, file)]
    with tempfile.TemporaryDirectory() as temporary:
        rows_file = Path(temporary) / "rows.csv"
        found = run(given.warploom, files, rows_file)
        by_file = {}
        with open(rows_file, newline="", encoding="utf-8") as lines:
            for row in csv.DictReader(lines):
                if row["predicted_us"] and not row["fastest_us"]:
                    by_file.setdefault(row["file"], []).append(row)
    order = list(TITLES)
    large = [one for one in found if not one["file"].startswith(str(PUBLISHED))]
    small = [one for one in found if one["file"].startswith(str(PUBLISHED))]
    large.sort(key=lambda one: (order.index(one["kind"]) if one["kind"] in order else len(order), one["file"]))
    text = HEAD
    unknown = [one for one in large if not one["predicted"]]
    for one in large:
        if one in unknown:
            continue
        name = None if one["kind"] == "replay" else f"validation_{Path(one['file']).stem}.svg"
        text += section(one, draw(one["kind"], by_file.get(one["file"], []), IMAGES / name) if name else None, given.warploom)
    if unknown:
        text += "## Tables of which no row is predicted yet\n\n"
        for one in unknown:
            text += f"* `{display(one['file'])}`, {one['rows']:,} rows." + reasons(one).replace("\nSkipped", " Skipped")
        text += "\n"
    if small:
        text += "# Published figures, in every clone\n\n"
    for one in small:
        text += section(one, None, given.warploom)
    text += anchored_section(given.warploom, large)
    text += constants_section(given.warploom)
    rest = NOTES / "after.md"
    if rest.exists():
        text += rest.read_text(encoding="utf-8").strip() + "\n"
    PAGE.write_text(text.rstrip() + "\n", encoding="utf-8")
    print(f"{display(PAGE)}: {len(found)} tables")


if __name__ == "__main__":
    main()
