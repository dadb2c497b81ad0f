"""edited_words.py FOURFOLD: prints what command lines hear that differ in one flag.

Every flag that a verb's help lists is given each of some values that most flags cannot take, and
those that it can. Of a projection, the entries of its record that differ from the plain one's are
named, not their values: these belong to other golden texts.
"""

import concurrent.futures
import json
import re
import subprocess
import sys
import tempfile

USUAL = ["", "0", "-1", "1", "2", "1.5", "plenty", "1,2", "1e300"]
FEW = ["", "0", "-1", "plenty", "1e300"]
OF_A_FLAG = {
    "--attention": ["fused", "unfused"],
    "--collective": ["ring", "tree", "recursive", "hierarchical", "auto", "all-reduce:tree",
                     "all-reduce:tree,all-reduce:ring", "all-gather:tree", "all-reduce:"],
    "--cut-messages": ["off", "On"],
    "--data-reduction": ["during-backward", "after-backward", "never"],
    "--degrade": ["nic:0.0=0.5", "nic:0.0=0", "nic:0.0=1", "nic:0.0=1.5", "nic:0.9=0.5", "nic:0.0",
                  "device:0=0.5", "device:99=0.5", "nic:0.0=0.5,nic:0.0=0.2"],
    "--fail": ["nic:0.0", "nic:0.0,nic:0.1", "nic:0.0,nic:0.0", "nic:99.0", "device:0", "nic"],
    "--fidelity": ["estimated", "simulated", "counted", "measured", "paper"],
    "--gradient-reduction": ["per-micro-batch", "accumulated"],
    "--grid": ["2x2x2x2", "x=2,y=2,z=2,data=2", "x=5,data=3", "x=2,pipe=8", "tp=2,pp=2,dp=2", "x=16",
               "2x2x2", "x=2,x=2", "pipe=16", "z=16", "y=16", "x=3,data=5"],
    "--jitter": ["2%", "0%", "-2%", "100%", "101%", "2"],
    "--order": ["gpipe", "1f1b", "interleaved", "zero-bubble", "message-driven"],
    "--overlap": ["none", "oar", "oar,ors", "ors,oag", "oar,oar", "all", "messages", "recompute"],
    "--placement": ["packed", "spread", "random", "0-9", "devices:0", "nodes=none.txt", "nodes=0,1",
                    "nodes=0", "nodes=0,0", "nodes=0,99", "devices=0-7", "devices=0,1"],
    "--precision": ["fp32", "bf16"],
    "--grad-precision-z": ["fp32", "bf16"],
    "--grad-precision-data": ["fp32", "bf16"],
    "--rank-order": ["x,y,z,data,pipe", "pipe,x,y,z,data", "x,x,y,z,data", "x,y"],
    "--recompute": ["full", "none", "selective"],
    "--scale": ["network.link_bandwidth_GBps=0.5", "network.link_bandwidth_GBps=0", "nodes=0.5",
                "nodes=0.01", "network.links=2", "processor.memory_GB=0.001", "nodes=1,nodes=2"],
    "--slow-devices": ["1:0.5", "2:0.9", "0:0.5", "9:0.5", "1:0", "1:1", "1:1.5", "0,3=0.5", "0,0=0.5",
                       "0,99=0.5", "0=0.5,1=0.5"],
    "--software": ["fused", "megatron-core", "fusd"],
    "--stages": ["all", "4", "5", "1,2,4"],
    "--system": ["axonn-4d", "megatron-lm-2021", "pytorch-fsdp", "deepspeed-3d"],
    "--systems": ["axonn-4d,megatron-core", "axonn-4d,nobody", "all"],
    "--times": ["1,2,1", "1,0,1", "0,1,1", "1", "1,2,1,1"],
    "--deadline": ["30d", "12h", "30", "0d", "1w"],
    "--tokens": ["1T", "10B", "1e12", "0.5"],
    "--micro-batch-size": ["1,2", "1-4", "4-1", "all"],
    "--micro-batches": ["4", "5", "64", "128"],
    "--weight-gather": ["keep", "per-micro-batch", "per-micro_batch"],
    "--best": ["100000"],
    "--devices": ["16", "20", "160", "161", "100000"],
    "--batch-tokens": ["65536", "65537", "1024", "1048576", "68719477760"],
    "--sequence": ["512", "1000", "16777217"],
    "--vocabulary": ["50257", "16777216", "16777217"],
    "--zero": ["4"],
    "--stride": ["4", "8", "64"],
    "--only": ["all-reduce", "all-gather", "all-reduce:ring", "ring"],
    "--transport": ["ring", "library", "window", "auto", "rings"],
    "--progress": ["none", "thread", "between", "threads"],
    "--learning-rate": ["0.001", "1e-3", "inf"],
    "--temperature": ["0.5", "0.0"],
    "--clip": ["0.5"],
    "--beta1": ["0.9", "0.999", "1.0"],
    "--beta2": ["0.9", "0.999", "1.0"],
    "--data-order": ["random", "in-order", "sequential", "shuffled"],
    "--seed": ["18446744073709551615", "18446744073709551616"],
}
LEFT_OUT = {"--help", "--output", "--svg", "--trace", "--json", "--csv", "--measured", "--wide",
            "--explain", "--space", "--influence", "--grids-by", "--work-limit"}
POINT = {"--platform": "dragonfly", "--model": "gpt2-124m", "--batch-tokens": "65536"}
GRID = {"--grid": "x=2,z=2,data=2,pipe=2", "--fidelity": "estimated"}
WHAT_IFS = ["--placement", "--jitter", "--slow-devices", "--degrade", "--fail", "--collective",
            "--seed", "--scale"]
OF_A_STEP = ["--stages", "--order", "--chunks", "--zero", "--sequence-parallel", "--overlap"]
# A verb and the flags of a good command line, where None is a flag without a value; and which flags
# are edited: None for all, or those that no earlier verb has and these.
VERBS = [
    ("project", {**POINT, **GRID, "--micro-batches": "4", "--json": None}, None),
    ("project", {**POINT, "--grid": "2x2x2x1", "--fidelity": "simulated", "--json": None},
     WHAT_IFS),
    ("search", {**POINT, "--devices": "8", "--best": "2"}, None),
    ("search", {**POINT, "--devices": "8", "--stages": "1,2", "--micro-batch-size": "1,2"},
     ["--micro-batch-size", "--devices", "--grid", *OF_A_STEP]),
    ("compare", {**POINT, "--devices": "8", "--systems": "axonn-4d,pytorch-fsdp",
                 "--fidelity": "estimated"}, ["--systems", "--devices", "--grid", *OF_A_STEP]),
    ("advise", {**POINT, "--devices": "8,16", "--tokens": "1B", "--fidelity": "estimated"},
     ["--devices", "--stages"]),
    ("show", {"--model": "gpt2-124m"}, OF_A_STEP),
    ("show order", {"--stages": "4", "--micro-batches": "8", "--times": "1,2,1"},
     [*OF_A_STEP, "--micro-batches"]),
    ("collectives", {"--platform": "dragonfly", "--devices": "8"}, ["--devices"]),
    ("platforms export", {"dragonfly": None, "--simgrid-xml": None, "--devices": "8"},
     ["--devices"]),
    # These go no further than to a file that is not there: who gets so far is accepted.
    ("train", {"--data": "none.txt", "--model": "gpt-bytes", "--grid": "1x1x1x2"},
     ["--grid", "--zero", "--chunks"]),
    ("campaign run", {"none.toml": None}, []),
]


def flags_in(help_text):
    found = re.findall(r"^  (?:-\w, *)?(--[a-z0-9-]+)", help_text, re.MULTILINE)
    return [flag for flag in dict.fromkeys(found) if flag not in LEFT_OUT]


def words_of(verb, flags):
    words = verb.split()
    for flag, value in flags.items():
        words += [flag] if value is None else [flag, value]
    return words


# Of these the texts of other tests tell, or no two runs have the same.
LEFT_TO_OTHERS = {"provenance", "key", "replay", "point"}


def rounded(value):
    if isinstance(value, dict):
        return {key: rounded(entry) for key, entry in value.items()}
    return float(f"{value:.6g}") if isinstance(value, float) else value


def changes(record, plain):
    """The entries of the record that differ."""
    now, before = rounded(record), rounded(plain)
    differing = [key for key in sorted(now.keys() | before.keys())
                 if key not in LEFT_TO_OTHERS and now.get(key) != before.get(key)]
    return ", ".join(differing) or "nothing"


def without(answer, value):
    """Answers to several values are one where they differ in the value alone."""
    quoted = re.sub(f"(['\"]){re.escape(value)}\\1", r"\1VALUE\1", answer)
    return quoted.replace(value, "VALUE") if len(value) > 2 else quoted


class Program:
    def __init__(self, path):
        self.path = path

    def run(self, words):
        with tempfile.TemporaryDirectory() as folder:
            return subprocess.run([self.path, *words], capture_output=True, text=True, timeout=120,
                                  cwd=folder)

    def heard(self, words, plain, missing):
        result = self.run(words)
        if missing and result.stderr == missing:
            return "accepted"
        if result.returncode == 0 and plain is not None:
            return "changes " + changes(json.loads(result.stdout), plain)
        if result.returncode == 0:
            return "accepted"
        # Points that fail beside each other are told in any order.
        lines = sorted(result.stderr.strip().splitlines()) or [""]
        more = f" (and {len(lines) - 1} lines more)" if len(lines) > 1 else ""
        return f"{result.returncode}: {lines[-1]}{more}"


def main():
    program = Program(sys.argv[1])
    pool = concurrent.futures.ThreadPoolExecutor(2)
    known = set()
    for verb, usual, edited in VERBS:
        plain = program.run(words_of(verb, usual))
        stops = plain.returncode != 0
        if stops and "none" not in plain.stderr:
            sys.exit(f"{verb}: {plain.stderr}")
        record = json.loads(plain.stdout) if "--json" in usual else None
        print("fourfold", " ".join(words_of(verb, usual)))
        flags = flags_in(program.run([*verb.split(), "--help"]).stdout)
        for flag in flags:
            if edited is not None and flag in known and flag not in edited:
                continue
            values = list(dict.fromkeys(OF_A_FLAG.get(flag, []) + (FEW if stops else USUAL)))
            lines = [words_of(verb, {**usual, flag: value}) for value in values]
            others = {f: v for f, v in usual.items() if f != flag}
            if flag in usual and usual[flag] != "none.txt":
                values.append("(left out)")
                lines.append(words_of(verb, others))
            values.append("(twice)")
            lines.append(words_of(verb, others) + [flag, usual.get(flag) or "1"] * 2)

            def answer_to(words):
                return program.heard(words, record, plain.stderr)

            by_answer = {}
            for value, answer in zip(values, pool.map(answer_to, lines)):
                by_answer.setdefault(without(answer, value), []).append(value or "''")
            for answer, those in by_answer.items():
                print(f"  {flag} {' | '.join(those)}\n    {answer}")
        known.update(flags)


main()
