# Runs `fourfold train` once without and once with each of its flags, where it matters, and says
# which changed nothing that a run leaves: losses, texts, checkpoints, the order of operations.
# Usage: flags_effect.py BIN_DIR FOLDER, which holds small.toml, deep.toml, text.txt and other.txt.
import collections
import json
import os
import pathlib
import re
import subprocess
import sys

BIN, WORK = sys.argv[1], pathlib.Path(sys.argv[2])
COMMON = "--model ./small.toml --data text.txt --batch 8 --steps 3 --warm-up 1 --tokens 4 --temperature 1 --print-every 1"
# What is a measurement, or repeats what was asked for.
MEASURED = {"seconds", "tokens_per_s", "executed_flop_per_s", "model_flop_per_s", "part_of_peak", "trained_s",
            "seconds_here", "grown_B", "before_B", "done", "counted_B", "kernels_s", "path", "reference_s"}
KEPT_OF_RUN = {"counted_memory_B", "executed_flop_a_step", "data", "kernels", "transports", "openblas_core"}

Row = collections.namedtuple("Row", "beside value environment", defaults=("", "", {}))
PIPE = "--ranks 2 --grid pipe=2 --micro-batches 4"
ROWS = {
    "--model": Row("", "./deep.toml"), "--data": Row("", "other.txt"), "--validation-data": Row("", "other.txt"),
    "--held-out": Row("", "0.3"), "--data-order": Row("", "sequential"), "--goldfish-k": Row("", "3"),
    "--goldfish-h": Row("--goldfish-k 3", "2"), "--seed": Row("", "2"), "--resume": Row("", "earlier"),
    "--start-from": Row("", "earlier"), "--ranks": Row("", "1"), "--grid": Row("", "2x1x1x1"),
    "--transport": Row("", "ring"), "--tune-kernels": Row(), "--time-reference": Row(),
    "--openblas-core": Row("", "keep", {"OPENBLAS_CORETYPE": "Nehalem"}),
    "--micro-batches": Row("", "2"), "--precision": Row("", "bf16"), "--recompute": Row("", "full"),
    "--recompute-every": Row("--recompute full", "2"), "--recompute-layers": Row("--recompute full", "1"),
    "--attention": Row("", "unfused"), "--overlap": Row("--grid 1x1x2x1 --model ./deep.toml", "none"),
    "--in-flight-blocks": Row("--grid 1x1x2x1 --model ./deep.toml", "1"),
    "--weight-gather": Row("--grid 1x1x2x1 --micro-batches 2", "keep"),
    "--weight-gather-precision": Row("--grid 1x1x2x1 --precision bf16", "fp32"),
    "--gradient-reduction": Row("--grid 1x1x2x1 --micro-batches 2", "accumulated"),
    "--data-reduction": Row("--model ./deep.toml", "beside-backward"), "--order": Row(PIPE, "gpipe"),
    "--chunks": Row(PIPE + " --model ./deep.toml --order interleaved --chunks 2", "4"),
    "--layers-per-stage": Row(PIPE + " --model ./deep.toml", "3,5"),
    "--pipeline-limit": Row(PIPE + " --order message-driven", "1"), "--zero": Row("", "1"),
    "--offload-activations": Row("--recompute full", "on"),
    "--offload-bucket": Row("", "500"), "--sequence-parallel": Row("--grid 2x1x1x1", "on"),
    "--cut-messages": Row("--grid x=2,pipe=2 --micro-batches 4", "on"), "--data-bucket": Row("", "1000"),
    "--data-bucket-each": Row("", "500"),
    "--grad-precision-z": Row("--grid 1x1x2x1 --precision bf16", "fp32"),
    "--grad-precision-data": Row("--precision bf16", "bf16"),
    "--batch": Row("", "4"), "--steps": Row("", "4"), "--minutes": Row("", "0.0001"),
    "--learning-rate": Row("", "1e-3"), "--last-learning-rate": Row("", "0.5"), "--warm-up": Row("", "2"),
    "--learning-rate-decay": Row("", "linear"), "--decay-part": Row("--learning-rate-decay wsd --steps 6", "0.6"),
    "--weight-decay": Row("", "0.5"), "--beta1": Row("", "0.5"), "--beta2": Row("", "0.5"),
    "--epsilon": Row("", "0.1"), "--clip": Row("", "0"), "--bad-steps": Row("--bad-norm 1e-9", "skip"),
    "--bad-norm": Row("", "1e-9"), "--folder": Row(), "--log": Row("", "elsewhere.jsonl"),
    "--print-every": Row("", "2"), "--validate-every": Row("", "1"), "--validation-words": Row("", "40"),
    "--checkpoint-every": Row("", "1"), "--checkpoint-minutes": Row("", "1e-6"),
    "--keep-checkpoints": Row("--checkpoint-every 1", "1"), "--json": Row("--print-every 1"),
    "--trace": Row("", "elsewhere.trace"), "--trace-step": Row("", "1"), "--prompt": Row("", "abc"),
    "--texts": Row("", "1"), "--tokens": Row("", "5"), "--temperature": Row("", "0.1"), "--top-k": Row("", "1"),
    "--sample-seed": Row("", "2"), "--sample-every": Row("", "1"), "--top-p": Row("", "0.01"), "--token-bits": Row("", "32"),
}
# Flags that change what nobody can see in what a run leaves, or that are refused in words.
ELSEWHERE = {
    "--help": "prints the help", "--products": "is refused: factors are multiplied as they are stored", "--rank-order": "is refused: mpirun places ranks",
    "--pad-vocabulary": "is refused: a vocabulary is trained as it is",
    "--progress": "decides when collectives advance, which is seen in seconds alone",
    "--hang-timeout": "decides how long a hanging rank is waited for",
}


def flags_of_help():
    text = subprocess.run([f"{BIN}/fourfold", "train", "--help"], capture_output=True, text=True, check=True).stdout
    return list(dict.fromkeys(re.findall(r"^ +(?:-h, ?)?(--[a-z][a-z0-9-]*)", text.split("\nA batch is cut")[0], re.M)))


# A later word replaces an earlier one of the same flag.
def merged(*texts):
    flags = collections.OrderedDict()
    for text in texts:
        words = text.split()
        for i, word in enumerate(words):
            if word.startswith("--"):
                following = words[i + 1:i + 2]
                flags[word] = following if following and not following[0].startswith("--") else []
    if "--json" in flags:
        flags.pop("--print-every", None)
    return [word for flag, values in flags.items() for word in [flag, *values]]


# Without what was timed, and without what was the fastest then.
def untimed(text):
    lines = [re.sub(r"(\d\S*\s+){3,}\w+$", "", line) for line in str(text).split("\n")]
    return re.sub(r"[0-9.]+", "", " ".join(" ".join(lines).split()))


def unmeasured(entry):
    if entry["kind"] == "run":
        return {key: untimed(entry[key]) if key in ("kernels", "transports") else entry[key] for key in KEPT_OF_RUN}
    kept = {key: value for key, value in entry.items() if key not in MEASURED}
    kept["exposed_s"] = sorted(entry.get("exposed_s", {}))
    kept["keys"] = sorted(entry)
    return kept


# What a run leaves, without what depends on the clock.
def left_by(words, environment):
    number = left_by.number = getattr(left_by, "number", 0) + 1
    folder = WORK / f"run-{number}"
    words = merged(words, f"--folder run-{number}" if "--folder" not in words else "",
                   f"--trace run-{number}.trace" if "--trace " not in words else "")
    done = subprocess.run([f"{BIN}/fourfold", "train", *words], cwd=WORK, capture_output=True, text=True,
                          env={**os.environ, **environment}, check=False)
    if done.returncode not in (0, 2) or "has no effect" in done.stderr:
        raise SystemExit(f"{' '.join(words)}: status {done.returncode}: {done.stderr}")
    left = {"status": done.returncode, "complaint": re.sub(r"run-\d+", "", done.stderr),
            "said": [line[:10] for line in done.stdout.split("\n") if re.match(r"step|\{", line)]}
    log = folder / "log.jsonl"
    left["log"] = [unmeasured(json.loads(line)) for line in log.read_text().splitlines()] if log.exists() else None
    left["files"] = sorted(re.sub(r"run-\d+", "", str(path.relative_to(folder))) for path in folder.rglob("*")
                           if path.suffix not in (".png", ".svg", ".pdf"))
    left["saved"] = [json.loads(path.read_text())["checksums"] for path in sorted(folder.rglob("step-*.json"))]
    trace = WORK / f"run-{number}.trace"
    if trace.exists():
        whole = json.loads(trace.read_text())
        left["trace"] = [(event["pid"], event.get("tid"), event["name"], event.get("cat")) for event in
                         sorted(whole["traceEvents"], key=lambda event: (event["pid"], event.get("ts", 0.0)))
                         if event.get("cat") != "wait"]
        left["traced"] = re.findall(r"step \d+", whole.get("otherData", {}).get("title", ""))
    return left


def main():
    flags = flags_of_help()
    unknown = [flag for flag in flags if flag not in ROWS and flag not in ELSEWHERE]
    gone = [flag for flag in ROWS if flag not in flags]
    subprocess.run([f"{BIN}/fourfold", "train", *merged(COMMON, "--ranks 2 --folder earlier")], cwd=WORK, check=True,
                   capture_output=True)
    bases, idle = {}, []
    for flag, row in ROWS.items():
        if flag in gone:
            continue
        beside = f"{COMMON} --ranks 2 {row.beside}" if "--grid" not in row.beside else f"{COMMON} {row.beside}"
        if flag == "--grid":
            beside = COMMON
        key = (beside, str(row.environment))
        if key not in bases:
            bases[key] = left_by(beside, row.environment)
        changed = " ".join(merged(beside, f"{flag} {row.value}" if flag != "--folder" else "--folder elsewhere"))
        if left_by(changed, row.environment) == bases[key]:
            idle.append(flag)
    plain = f"{COMMON} --ranks 2"
    steady = left_by(plain, {}) == bases[(plain + " ", "{}")]
    print(f"{len(flags)} flags, {len(flags) - len(unknown) - len(idle)} with an effect or a reason")
    for name, which in (("not in this table", unknown), ("in this table, but gone", gone), ("without effect", idle)):
        if which:
            print(f"{name}: {' '.join(which)}")
    if not steady:
        print("two equal runs do not leave the same: this test compares what it should not")
    sys.exit(1 if unknown or gone or idle or not steady else 0)


main()
