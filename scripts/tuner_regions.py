# SPDX-License-Identifier: Apache-2.0
"""How far the choice of algorithm and protocol agrees with regions in (bytes, ranks) that were measured.

The table is `aws_ofi_tuner_regions.csv`: polygons of aws-ofi-nccl's tuner, by platform, collective, algorithm and protocol.
`extend(a->b)` is where the line from a through b leaves the plane. A point on an edge belongs to both sides.
"""

import csv
import json
import re
import subprocess
from collections import defaultdict

MOST_BYTES, MOST_RANKS = 100 * 2**30, 2**20
CLUSTERS = {"p5en": "aws_p5en", "p6": "aws_p6_b200", "p5_p5e": "aws_p5"}
REPORTED = {"p5en": 35, "p6": 35, "p5_p5e": 75}  # us, what the plugin tells NCCL (aws-ofi-nccl src/platform-aws.cpp)
OPERATIONS = {"AllReduce": "all_reduce", "AllGather": "all_gather", "ReduceScatter": "reduce_scatter"}
RANKS = (16, 64, 256, 1024)
SIZES = [2**e for e in range(12, 35)]


def corner(text):
    size, ranks = text.split(",")
    return (MOST_BYTES if not size.isdigit() else float(size), MOST_RANKS if not ranks.isdigit() else float(ranks))


def polygon(text):
    corners = []
    for token in text.split(" ; "):
        pairs = [corner(pair) for pair in re.findall(r"\{([^}]*)\}", token)]
        if token.startswith("extend"):
            (x0, y0), (x1, y1) = pairs
            steps = [(most - start) / (to - start) for most, start, to in ((MOST_BYTES, x0, x1), (MOST_RANKS, y0, y1)) if to > start]
            corners.append((x0 + min(steps) * (x1 - x0), y0 + min(steps) * (y1 - y0)))
        else:
            corners += pairs
    return corners


def is_inside(x, y, corners):
    inside = False
    for (x1, y1), (x2, y2) in zip(corners, corners[1:] + corners[:1]):
        area = abs((x2 - x1) * (y - y1) - (y2 - y1) * (x - x1))
        if min(x1, x2) <= x <= max(x1, x2) and min(y1, y2) <= y <= max(y1, y2) and area <= 1e-9 * max(1, abs(x2 - x1) * abs(y2 - y1)):
            return True
        if (y1 > y) != (y2 > y) and x < (x2 - x1) * (y - y1) / (y2 - y1) + x1:
            inside = not inside
    return inside


def collective(warploom, operation, platform, ranks, size, options):
    call = [operation, "--cluster", CLUSTERS[platform], "--gpus", str(ranks), "--bytes", f"{size}B", "--json"]
    return json.loads(subprocess.run([warploom, "collective", *call, *options], capture_output=True, text=True, check=True).stdout)


def without_tuner(operation, platform):
    """Options under which NCCL's own model chooses, as it does without the plugin's tuner."""
    settings = (f"tuner.{operation}=[]", f"reported_latency={REPORTED[platform]} us", "flushes=false")
    return [word for setting in settings for word in ("--set", f"library.transport.{setting}")]


def agreement(warploom, file):
    """{(platform, operation): [points, where our choice agrees, where a measured way is within 10% of it, where NCCL's model agrees]}"""
    regions = defaultdict(list)
    with open(file, newline="", encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            if row["platform"] in CLUSTERS and row["gpus_per_node"] == "8":
                way = f"{row['algorithm']}/{row['protocol']}".lower()
                regions[row["platform"], OPERATIONS[row["collective"]]].append((way, polygon(row["polygon_vertices(bytes,nranks)"])))
    found = {}
    for (platform, operation), some in regions.items():
        counts = [0, 0, 0, 0]
        for ranks in RANKS:
            for size in SIZES:
                measured = {way for way, corners in some if is_inside(size, ranks + 1e-3, corners)}
                if not measured:
                    continue
                done = collective(warploom, operation, platform, ranks, size, ["--explain"])
                named = {f"{way['algorithm']}/{way['protocol']}": way["duration_us"] for way in done["candidates"]}
                chosen = f"{done['algorithm']}/{done['protocol']}"
                best = min((named[name] for name in measured if name in named), default=float("inf"))
                nccl = collective(warploom, operation, platform, ranks, size, without_tuner(operation, platform))
                counts[0] += 1
                counts[1] += chosen in measured
                counts[2] += best <= 1.1 * named[chosen]
                counts[3] += f"{nccl['algorithm']}/{nccl['protocol']}" in measured
        found[platform, operation] = counts
    return found
