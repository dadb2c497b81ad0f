# Fourfold and PyTorch train the same model on the same cores, in turns, in one run: prints tokens/s of
# each contender and the ratio of Fourfold to PyTorch's best. Needs python3-torch (Debian's is enough).
#
#   python3 microbench/peers/compare.py [--model llama-mini] [--rounds 5] [--cores 1,2]
#                                       [--engine build/bin/fourfold-engine] [--json FILE]
#
# Same work: gpt2-mini or llama-mini, 6 layers, 6 heads, hidden 384, vocabulary 8192, sequence 256, batch 4,
# fp32, no recompute, clipping, AdamW. Differences that remain: none has dropout; PyTorch
# computes the masked half of attention (1.13 has no fused one). A figure is the median step of a run.
import argparse
import array
import json
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

here = os.path.dirname(os.path.abspath(__file__))
TOKENS = 4 * 256  # of a step


def cores(count):
    available = sorted(os.sched_getaffinity(0))
    if len(available) < count:
        sys.exit(f"compare.py: this needs {count} cores and {len(available)} are available")
    return ",".join(str(core) for core in available[:count])


def run(command, environment):
    clean = {k: v for k, v in os.environ.items() if k not in ("OPENBLAS_CORETYPE", "OMP_NUM_THREADS")}
    done = subprocess.run(command, env={**clean, **environment}, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"compare.py: {' '.join(command)} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def fourfold(options, ranks, steps):
    """Milliseconds of each step; the first three, which tune kernels and touch memory, are left out."""
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.join(folder, "words.bin")
        with open(data, "wb") as file:
            drawn = random.Random(1)
            array.array("H", (drawn.randrange(8192) for _ in range(200_000))).tofile(file)
        command = [options.engine, "train", "--model", options.model, "--data", data, "--batch", "4",
                   "--steps", str(steps + 3), "--tune-kernels", "--tokens", "0",
                   "--ranks", str(ranks), "--grid", options.grid if ranks == 2 else "1x1x1x1",
                   "--transport", options.transport, "--folder", os.path.join(folder, "run")]
        if ranks > 1:
            root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
            command = ["mpirun", *root, "--bind-to", "core", "-np", str(ranks), *command]
        run(["taskset", "-c", cores(ranks), *command], {})
        with open(os.path.join(folder, "run", "log.jsonl")) as log:
            lines = [json.loads(line) for line in log]
        steps_seen = [line for line in lines if line.get("kind") == "step"][3:]
        return [1e3 * line["seconds"] for line in steps_seen], [100 * line["part_of_peak"] for line in steps_seen]


def pytorch(options, threads, ranks, steps, environment):
    command = ["taskset", "-c", cores(threads * ranks), options.python,
               os.path.join(here, "pytorch_mini.py"), "--model", options.model, "--threads", str(threads), "--steps", str(steps)]
    environment = {"OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads), **environment}
    if ranks > 1:  # Debian's torch.distributed.run fails under Python 3.11, so ranks are started here
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        environment.update(WORLD_SIZE=str(ranks), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    with ThreadPoolExecutor(ranks) as pool:
        outputs = list(pool.map(lambda rank: run(command, {**environment, "RANK": str(rank)}),
                                range(ranks)))
    return json.loads(outputs[0].strip().splitlines()[-1])["step_ms"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=("gpt2-mini", "llama-mini"), default="gpt2-mini")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cores", default="1,2", help="how many: 1, 2 or both")
    parser.add_argument("--steps", type=int, default=8, help="timed steps of a run")
    parser.add_argument("--engine", default=os.path.join(here, "../../build/bin/fourfold-engine"))
    parser.add_argument("--python", default="/usr/bin/python3", help="one that has torch")
    parser.add_argument("--grid", default="1x1x1x2", help="of Fourfold's two ranks")
    parser.add_argument("--transport", default="ring", help="of Fourfold's two ranks")
    parser.add_argument("--json", help="a file for all step times")
    options = parser.parse_args()
    best = {"ATEN_CPU_CAPABILITY": "avx512"}
    skylake = {"OPENBLAS_CORETYPE": "SKYLAKEX", **best}
    contenders = {  # by number of cores
        1: {"Fourfold, 1 rank": lambda: fourfold(options, 1, options.steps),
            "PyTorch, as installed": lambda: pytorch(options, 1, 1, options.steps, {}),
            "PyTorch, AVX-512": lambda: pytorch(options, 1, 1, options.steps, best),
            "PyTorch, AVX-512, SKYLAKEX": lambda: pytorch(options, 1, 1, options.steps, skylake)},
        2: {f"Fourfold, 2 ranks, {options.grid}": lambda: fourfold(options, 2, options.steps),
            "PyTorch, 2 threads, AVX-512": lambda: pytorch(options, 2, 1, options.steps, best),
            "PyTorch, 2 threads, SKYLAKEX": lambda: pytorch(options, 2, 1, options.steps, skylake),
            "PyTorch DDP, 2 ranks, AVX-512": lambda: pytorch(options, 1, 2, options.steps, best),
            "PyTorch DDP, 2 ranks, SKYLAKEX": lambda: pytorch(options, 1, 2, options.steps, skylake)}}
    record = []
    for count, field in contenders.items():
        if str(count) not in options.cores.split(","):
            continue
        medians = {name: [] for name in field}
        percents = []
        for round_number in range(options.rounds):
            for name, contest in field.items():
                times = contest()
                if name.startswith("Fourfold"):
                    times, percent = times
                    percents.append(statistics.median(percent))
                medians[name].append(statistics.median(times))
                record.append({"cores": count, "contender": name, "round": round_number, "step_ms": times})
        ours = next(iter(medians))
        # PyTorch's best configuration: the one whose median over the rounds is least.
        peer = min((n for n in medians if n != ours), key=lambda n: statistics.median(medians[n]))
        ratios = sorted(p / o for o, p in zip(medians[ours], medians[peer]))
        print(f"\n{count} core{'s' if count > 1 else ''}, {options.rounds} rounds in turns, "
              f"{options.steps} steps each")
        print(f"{'contender':34} {'tokens/s':>9} {'least':>7} {'most':>7}  ms a step")
        for name, values in medians.items():
            rates = sorted(TOKENS / v * 1e3 for v in values)
            print(f"{name:34} {statistics.median(rates):9.0f} {rates[0]:7.0f} {rates[-1]:7.0f}"
                  f"  {statistics.median(values):.0f}")
        print(f"Fourfold / {peer}: {statistics.median(ratios):.2f} "
              f"({ratios[0]:.2f} to {ratios[-1]:.2f}); Fourfold at {statistics.median(percents):.0f} % "
              "of the fp32 FMA peak of the same run")
    if options.json:
        with open(options.json, "w") as file:
            json.dump(record, file)


main()
