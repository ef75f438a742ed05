#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Fits the constants of configs/architectures/*.yaml on measured kernels, by coordinate descent through the product's code.

    ninja -C build/release kernel_rows
    WARPLOOM_DATA=... scripts/calibrate_kernels.py --rows build/release/tests/validation/kernel_rows hopper [--group gemm] [--fit]

Without --fit it prints the errors by class. With it, it prints the constants that fitted best; a person rounds them into the
YAML file. A fit starts in the middle of the ranges, or where --set says. Even rows are fitted on, odd rows are scored on ("held out"); no constant belongs to single rows.
"""
import argparse
import csv
import math
import os
import subprocess
import sys

DEVICES = {"hopper": ("h100_sxm", "h100_sxm", "h100"), "ampere_ga100": ("a100_sxm", "a100_sxm", "a100")}

# Constants that may move, with their physical ranges (unit after the colon).
RANGES = {
    "gemm": {
        "architecture.gemm.main_loop": (0.7, 1.0, ""),
        "architecture.gemm.multicast": (1.0, 2.0, ""),
        "architecture.gemm.port_bytes_per_cycle": (40, 80, ""),
        "architecture.gemm.prologue": (400, 3000, " cycles"),
        "architecture.gemm.epilogue": (500, 4500, " cycles"),
        "architecture.gemm.epilogue_overlap": (0.0, 1.0, ""),
        "architecture.gemm.wave_quantisation": (0.5, 1.0, ""),
        "architecture.gemm.l2_share": (0.4, 0.9, ""),
        "architecture.gemm.l2_kept": (0.05, 0.4, ""),
        "architecture.gemm.memory_overlap": (0.6, 1.0, ""),
        "architecture.gemm.fixed": (0.2, 2.0, " us"),
        "architecture.gemm.split_fixed": (0.2, 4.0, " us"),
        "architecture.energy.tensor_flop.bf16": (0.6, 1.6, " pJ"),
        "memory.reached": (0.82, 0.94, ""),
    },
    "attention": {
        "architecture.attention.main_loop": (0.7, 1.0, ""),
        "architecture.attention.softmax_overlap": (0.5, 1.0, ""),
        "architecture.attention.softmax_cycles_scale": (1.0, 4.0, ""),
        "architecture.attention.prologue": (300, 3000, " cycles"),
        "architecture.attention.epilogue": (300, 4500, " cycles"),
        "architecture.attention.fixed": (0.2, 5.0, " us"),
    },
    "streaming": {
        "architecture.streaming.norm": (1, 32, ""),
        "architecture.streaming.swiglu": (1, 32, ""),
        "architecture.streaming.gelu": (1, 32, ""),
        "architecture.streaming.rotary": (1, 32, ""),
        "architecture.streaming.embedding": (0.5, 32, ""),
        "architecture.streaming.fixed": (0.2, 4, " us"),
    },
}


def rows_of(group, architecture):
    """(row for kernel_rows, measured us, extra us of the measurement, class, weight)"""
    if "WARPLOOM_DATA" not in os.environ:
        sys.exit("WARPLOOM_DATA must name the folder of the measured tables")
    data = os.environ["WARPLOOM_DATA"] + "/measured/"
    _, device, short = DEVICES[architecture]
    result = []
    if group == "gemm":
        for r in csv.DictReader(open(data + "gemm.csv")):
            if r["device"] != device:
                continue
            m, n, k = int(r["m"]), int(r["n"]), int(r["k"])
            llm = n >= 1024 and k >= 1024
            name = ("llm m>=512" if m >= 512 else "llm m<512") if llm else "small n or k"
            # The gap of a captured graph is measured with the kernel: launch.graph.
            result.append((f"gemm bf16 {m} {n} {k}", float(r["latency_us"]), 1.26, name, {"llm m>=512": 3, "llm m<512": 1}.get(name, 0.3)))
    elif group == "attention":
        for r in csv.DictReader(open(data + "attention.csv")):
            if r["device"] != device or r["phase"] != "prefill" or r["kv_dtype"] != "bf16" or r["window"] != "0" or "fa4" in r["kernel"]:
                continue
            q = int(r["q_len"])
            name = "prefill >= 1024" if q >= 1024 else "prefill 128..1023" if q >= 128 else "prefill < 128"
            # Scheduling and launches of the serving engine are measured with it: 8.4 to 9.3 us with the smallest kernel.
            result.append((f"attention bf16 {r['batch']} {r['q_heads']} {r['kv_heads']} {q} {r['kv_len']} {r['head_dim']}",
                           float(r["latency_us"]), 5.0, name, {"prefill >= 1024": 1, "prefill 128..1023": 0.2}.get(name, 0)))
    else:
        for r in csv.DictReader(open(data + "llm_layer_ops.csv")):
            if r["hw"] != short:
                continue
            tokens, width, op = int(r["num_tokens"]), int(r["n_embd"]), r["op"]
            share = int(r["num_tensor_parallel_workers"])
            inner, heads = int(r["n_expanded_embd"]) // share, int(r["n_head"])
            all_heads = heads // share + max(1, int(r["n_kv_head"]) // share)
            gated = r["use_gated_mlp"] == "True"
            row = {"add": f"add {tokens * width}", "input_layernorm": f"norm {tokens} {width}",
                   "post_attention_layernorm": f"norm {tokens} {width}",
                   "mlp_act": f"{'swiglu' if gated else 'gelu'} {tokens} {inner}",
                   "attn_rope": f"rotary {tokens} {all_heads} {width // heads}", "emb": f"embedding {tokens} {width}"}.get(op)
            if row and not (op == "add" and "phi" in r["model"]):  # phi adds twice
                size = tokens * (inner if op == "mlp_act" else width) * 2
                result.append((row, float(r["latency_us"]), 0, row.split()[0] + (" > 10 MB" if size > 1e7 else " small"), 1 if size > 1e7 else 0.2))
    return result


class Predictor:
    def __init__(self, program, architecture, rows):
        self.program, self.device, self.rows = program, DEVICES[architecture][0], rows
        self.text = "\n".join(r[0] for r in rows) + "\n"

    def __call__(self, overrides=()):
        done = subprocess.run([self.program, self.device, *overrides], input=self.text, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(done.stderr)
        return [(float(line.split()[0]) + row[2], *line.split()[1:]) for line, row in zip(done.stdout.splitlines(), self.rows)]


def score(predictions, rows, parity=None):
    total = weight = 0.0
    for i, (p, r) in enumerate(zip(predictions, rows)):
        if parity is None or i % 2 == parity:
            total += r[4] * abs(p[0] / r[1] - 1)
            weight += r[4]
    return 100 * total / weight


def report(predictions, rows):
    for name in sorted({r[3] for r in rows}):
        errors = [100 * (p[0] / r[1] - 1) for p, r in zip(predictions, rows) if r[3] == name]
        errors_abs = [abs(e) for e in errors]
        held = [abs(100 * (p[0] / r[1] - 1)) for i, (p, r) in enumerate(zip(predictions, rows)) if r[3] == name and i % 2]
        print(f"{name:22s} n {len(errors):4d}  MAPE {sum(errors_abs) / len(errors):5.1f}%  held out {sum(held) / max(1, len(held)):5.1f}%"
              f"  bias {sum(errors) / len(errors):+5.1f}%  median {sorted(errors)[len(errors) // 2]:+5.1f}%  worst {max(errors_abs):.0f}%")


def fit(predict, rows, ranges, start, rounds):
    values = dict(start)
    text = lambda values: [f"{key}={values[key]:.6g}{ranges[key][2]}" for key in values]
    best = score(predict(text(values)), rows, 0)
    step = {key: 0.25 for key in values}
    for round_number in range(rounds):
        for key in values:
            low, high, _ = ranges[key]
            for sign in (1, -1):
                trial = dict(values)
                trial[key] = min(high, max(low, values[key] + sign * step[key] * (high - low)))
                if trial[key] == values[key]:
                    continue
                error = score(predict(text(trial)), rows, 0)
                if error < best - 1e-4:
                    best, values, step[key] = error, trial, min(0.4, step[key] * 1.3)
                    break
            else:
                step[key] *= 0.5
        print(f"round {round_number}: {best:.3f}%", file=sys.stderr)
        if max(step.values()) < 0.004:
            break
    return values


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("architecture", choices=DEVICES)
    parser.add_argument("--rows", required=True, help="the program kernel_rows")
    parser.add_argument("--group", choices=RANGES, action="append")
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--dump", help="write row, measured, predicted, bound to this file")
    options = parser.parse_args()
    for group in options.group or RANGES:
        rows = rows_of(group, options.architecture)
        predict = Predictor(options.rows, options.architecture, rows)
        print(f"== {options.architecture} {group}")
        predictions = predict(options.set)
        report(predictions, rows)
        if options.fit:
            ranges = RANGES[group]
            fixed = list(options.set)
            start = {}
            for key, (low, high, _) in ranges.items():
                named = [s.split("=")[1] for s in options.set if s.startswith(key + "=")]
                start[key] = float(named[0].split()[0]) if named else (low + high) / 2
            keep = [s for s in fixed if s.split("=")[0] not in ranges]
            fitted = Predictor(options.rows, options.architecture, rows)
            values = fit(lambda o: fitted(keep + o), rows, ranges, start, options.rounds)
            overrides = keep + [f"{key}={value:.4g}{ranges[key][2]}" for key, value in values.items()]
            for override in overrides:
                print(f'  "{override}"')
            predictions = predict(overrides)
            report(predictions, rows)
        if options.dump:
            with open(options.dump, "w") as out:
                for row, p in zip(rows, predictions):
                    out.write(f"{row[3]};{row[0]};{row[1]};{p[0]:.4f};{100 * (p[0] / row[1] - 1):+.1f};{' '.join(p[1:])}\n")


if __name__ == "__main__":
    main()
