#!/usr/bin/env python3
"""Says whether two builds of Fourfold answer alike: what a change of structure must leave as it was.

    microbench/two_builds.py OLD/build/bin NEW/build/bin [--points 1000] [--study] [--speed ROUNDS]

Three comparisons, each bit for bit: points drawn over the options of `fourfold project`, on machines
whose numbers belong to the tests and on shipped ones; 50 steps of training on five grids; with
--study, every number of the weak scaling study of SC24. Options that only one of the two builds
knows are not drawn. What says when, where and with which commit an answer was computed is left out.
--speed runs both builds in turns and prints the ratio new / old of points a second, of the CPU
seconds of a replay of 32,768 devices, and of trained tokens a second: median, least and most.

Exit status: 0 alike; 1 not; 2 could not compare.
"""
import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# Of a record: what differs from run to run, not from answer to answer.
VOLATILE = {"provenance", "cpu_s", "peak_rss_MiB", "key", "platform_digest"}
# Of a line of a training log: seconds and what is made of them.
TIMED = {"seconds", "tokens_per_s", "executed_flop_per_s", "model_flop_per_s", "part_of_peak",
         "kernels_s", "exposed_s", "trained_s", "done", "reference_s"}

MACHINES = ["crossbar", "dragonfly", "fat-tree-3", "frontier", "perlmutter", "alps", "summit"]
MODELS = ["gpt-5b", "gpt-10b", "gpt-20b", "llama2-7b", "llama2-13b", "gpt2-774m"]
OPTIONS = {
    "--micro-batches": [1, 2, 4, 8],
    "--precision": ["bf16", "bf16", "fp32"],
    "--recompute": ["full", "none", "selective"],
    "--attention": ["fused", "fused", "unfused"],
    "--overlap": ["all", "none", "oar", "ors,oag", "oag,recompute", "oar,ors,oag,across"],
    "--in-flight-blocks": [1, 2, 4],
    "--weight-gather": ["per-micro-batch", "keep"],
    "--gradient-reduction": ["per-micro-batch", "accumulated"],
    "--data-reduction": ["after-backward", "beside-backward"],
    "--zero": [0, 0, 1, 2, 3],
    "--sequence-parallel": ["off", "on"],
    "--cut-messages": ["off", "on"],
    "--data-bucket": [0, 0, 50_000_000],
    "--rank-order": ["x,y,z,data,pipe", "x,y,z,pipe,data", "data,x,y,z,pipe"],
    "--grad-precision-z": ["bf16", "fp32"],
    "--grad-precision-data": ["fp32", "bf16"],
    "--order": ["1f1b", "gpipe", "zero-bubble", "interleaved --chunks 2", "message-driven"],
    "--collective": ["auto", "ring", "tree", "recursive", "hierarchical"],
    "--placement": ["packed", "spread", "random"],
    "--fidelity": ["estimated", "simulated --jitter 2%", "simulated --slow-devices 1:0.5", "simulated"],
}
GRIDS = ["1x1x1x2", "2x1x1x1", "1x2x1x2", "2x1x2x1", "x=2,pipe=2"]


def run(binaries, words, folder):
    done = subprocess.run([str(binaries / "fourfold"), *map(str, words)], cwd=folder,
                          capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def lasting(value):
    """The value without what is volatile in it."""
    if isinstance(value, dict):
        return {key: lasting(item) for key, item in value.items() if key not in VOLATILE}
    return [lasting(item) for item in value] if isinstance(value, list) else value


def first_difference(old, new, place=""):
    """Where two values part, in words; None where they are equal."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in old.keys() | new.keys():
            if key not in old or key not in new:
                return f"{place}.{key} is in one of them only"
            found = first_difference(old[key], new[key], f"{place}.{key}")
            if found:
                return found
        return None
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        found = (first_difference(a, b, f"{place}[{i}]") for i, (a, b) in enumerate(zip(old, new)))
        return next(filter(None, found), None)
    return None if old == new else f"{place} was {old!r} and is {new!r}"


def drawn_point(number, known):
    """Words of `fourfold project` for the point of this number; a few options, any of them."""
    draw = random.Random(number)
    extents = [draw.choice([1, 2, 4, 8]), draw.choice([1, 1, 2, 4]), draw.choice([1, 2, 4, 8]),
               draw.choice([1, 2, 4]), draw.choice([1, 1, 1, 2, 4])]
    axes = zip(["x", "y", "z", "data", "pipe"], extents)
    machine = draw.choice(MACHINES)
    written = SOURCE / f"tests/machines/{machine}.toml"
    words = ["project", "--json", "--platform", written if written.exists() else machine, "--model",
             draw.choice(MODELS), "--grid", ",".join(f"{axis}={n}" for axis, n in axes),
             "--batch-tokens", 2048 * 64 * draw.choice([1, 2, 4])]
    for flag, values in OPTIONS.items():
        value = draw.choice(values)
        if flag in known and draw.random() < 0.25:
            words += [flag, *str(value).split()]
    return words + ["--scale", "processor.memory_GB=20"]


def compare_points(old, new, count, folder):
    known = {flag for flag in OPTIONS if flag in run(old, ["project", "--help"], folder)[1]
             and flag in run(new, ["project", "--help"], folder)[1]}
    answered = different = number = 0
    while answered < count and number < 20 * count:
        number += 1
        words = drawn_point(number, known)
        answers = [run(binaries, words, folder) for binaries in (old, new)]
        statuses = [answer[0] for answer in answers]
        if statuses == [0, 0]:
            answered += 1
            found = first_difference(*(lasting(json.loads(answer[1])) for answer in answers))
        else:
            found = None if statuses[0] == statuses[1] else f"status was {statuses[0]} and is {statuses[1]}"
        if found:
            different += 1
            print(f"point {number}: {found}\n  fourfold {' '.join(map(str, words))}", flush=True)
    print(f"points: {number} drawn, {answered} answered, the others refused by both; {different} differ")
    return different


def compare_training(old, new, folder):
    different = 0
    for grid in GRIDS:
        logs = []
        for name, binaries in (("old", old), ("new", new)):
            where = folder / f"{name}-{grid}"
            status, _, complaint = run(
                binaries, ["train", "--model", "gpt-bytes", "--grid", grid, "--steps", 50, "--batch", 4,
                           "--tokens", 20, "--folder", where], folder)
            if status != 0:
                sys.exit(f"two_builds: training on {grid} ended with status {status}: {complaint}")
            lines = [json.loads(line) for line in (where / "log.jsonl").read_text().splitlines()]
            logs.append([{key: value for key, value in line.items() if key not in TIMED}
                         for line in lines if line["kind"] in ("step", "validation", "text")])
        found = first_difference(*logs)
        print(f"training on {grid}: {found or 'alike'}", flush=True)
        different += found is not None
    return different


def compare_study(old, new, folder):
    records = []
    for name, binaries in (("old", old), ("new", new)):
        where = folder / f"{name}-study"
        status, _, complaint = run(binaries, ["campaign", "run", SOURCE / "scaling/campaigns/sc24_weak.toml",
                                              "--output", where], folder)
        if status != 0:
            sys.exit(f"two_builds: the study ended with status {status}: {complaint}")
        lines = (where / "records.jsonl").read_text().splitlines()
        records.append(sorted((lasting(json.loads(line)) for line in lines), key=json.dumps))
    found = first_difference(*records)
    print(f"weak scaling study, {len(records[0])} records: {found or 'alike'}")
    return found is not None


def rates(binaries, folder):
    """Points a second, CPU seconds of a replay, tokens a second."""
    begin = time.monotonic()
    run(binaries, ["search", "--platform", "frontier", "--model", "gpt-320b", "--devices", 32768,
                   "--stages", "all", "--fidelity", "estimated", "--json"], folder)
    search_s = time.monotonic() - begin
    replay = json.loads(run(binaries, ["project", "--platform", "frontier", "--model", "gpt-320b", "--grid",
                                       "16x1x32x64", "--fidelity", "full", "--json"], folder)[1])
    log = folder / f"speed-{time.monotonic_ns()}"
    run(binaries, ["train", "--model", "gpt-bytes", "--grid", "1x1x1x2", "--steps", 30, "--tokens", 0,
                   "--folder", log], folder)
    steps = [json.loads(line) for line in (log / "log.jsonl").read_text().splitlines()]
    tokens = statistics.median(line["tokens_per_s"] for line in steps if line["kind"] == "step")
    return {"searches a second": 1 / search_s, "replays a CPU second": 1 / replay["replay"]["cpu_s"],
            "tokens a second": tokens}


def compare_speed(old, new, rounds, folder):
    ratios = {}
    for number in range(rounds):
        order = [old, new] if number % 2 == 0 else [new, old]
        found = {binaries: rates(binaries, folder) for binaries in order}
        for what in found[old]:
            ratios.setdefault(what, []).append(found[new][what] / found[old][what])
    for what, values in ratios.items():
        print(f"{what}, new / old: median {statistics.median(values):.3f}, "
              f"{min(values):.3f} to {max(values):.3f} in {rounds} rounds")


SOURCE = Path(__file__).resolve().parent.parent


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path, help="folder of the old build's executables")
    parser.add_argument("new", type=Path, help="folder of the new build's executables")
    parser.add_argument("--points", type=int, default=1000, help="how many points are answered")
    parser.add_argument("--no-training", action="store_true", help="leave the training runs out")
    parser.add_argument("--study", action="store_true", help="the weak scaling study as well (minutes)")
    parser.add_argument("--speed", type=int, default=0, metavar="ROUNDS", help="compare speed in turns")
    words = parser.parse_args()
    old, new = words.old.resolve(), words.new.resolve()
    for binaries in (old, new):
        if not (binaries / "fourfold").exists():
            print(f"two_builds: {binaries} has no fourfold; build it first", file=sys.stderr)
            return 2
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        different = compare_points(old, new, words.points, folder) if words.points else 0
        if not words.no_training:
            different += compare_training(old, new, folder)
        if words.study:
            different += compare_study(old, new, folder)
        if words.speed:
            compare_speed(old, new, words.speed, folder)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
