"""edited_words.py FOURFOLD GOLDEN: command lines that differ in one flag, and the laws of what they hear.

Every flag that a verb's help lists is given each of some values that most flags cannot take, and
those that it can. A value is refused with status 1 or 2 and one sentence, or taken; a number flag takes
no words, and no flag takes nothing or stands twice; what a projection is told changes its record, and
not what it says nothing about. Broken laws are told and end with status 1; else the different sentences
are printed, without those that other texts of the folder GOLDEN hold.
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
    "--offload-activations": ["on", "off", "On"],
    "--order": ["gpipe", "1f1b", "interleaved", "zero-bubble", "message-driven"],
    "--overlap": ["none", "oar", "oar,ors", "ors,oag", "oar,oar", "all", "messages", "recompute"],
    "--phase": ["training", "evaluation", "prefill", "decode"],
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
    "--batch-tokens": ["65536", "65537", "1024", "1M", "68719477760"],
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
LEFT_OUT = {"--help", "--output", "--svg", "--trace", "--memory-figure", "--json", "--csv", "--measured", "--wide",
            "--explain", "--space", "--influence", "--grids-by", "--work-limit"}
POINT = {"--platform": "dragonfly", "--model": "gpt2-124m", "--batch-tokens": "65536"}
# A search tries what it is not told.
FEWER = {"--recompute": "full", "--weight-gather": "keep", "--gradient-reduction": "accumulated"}
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
    ("project", {**POINT, "--grid": "z=2,data=2,pipe=2", "--micro-batches": "4", "--slow-devices": "0=0.5",
                 "--fidelity": "simulated", "--json": None}, ["--rank-order", "--zero"]),
    ("project", {**POINT, "--grid": "x=2,data=4,pipe=2", "--fidelity": "estimated", "--micro-batches": "4",
                 "--system": "megatron-core", "--json": None}, ["--phase", "--memory-risk", "--sequence-parallel"]),
    ("search", {**POINT, **FEWER, "--devices": "8"}, None),
    ("search", {**POINT, **FEWER, "--devices": "8", "--stages": "1,2", "--micro-batch-size": "1,2"},
     ["--micro-batch-size", "--devices", "--grid", "--best", *OF_A_STEP]),
    ("compare", {**POINT, "--devices": "8", "--systems": "axonn-4d,pytorch-fsdp",
                 "--fidelity": "estimated"}, ["--systems", "--devices", "--grid", *OF_A_STEP]),
    ("advise", {**POINT, **FEWER, "--devices": "4,8", "--tokens": "1B", "--fidelity": "estimated"},
     ["--devices", "--stages"]),
    ("show", {"--model": "gpt2-124m"}, None),
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


# By the kind that the help tells, what none of it takes.
NO_NUMBERS = {"INT": ["plenty", "-1", "1.5", "1,2", "1e300"], "UINT": ["plenty", "-1", "1.5", "1,2", "1e300"],
              "FLOAT": ["plenty", "1,2"]}
# Flags that may be given twice.
LISTS = {"--data", "--validation-data", "--degrade", "--fail", "--scale"}
# What is usual, or the same as what is usual, and so changes nothing.
IDLE = {"--devices 16", "--vocabulary 50257", "--collective auto", "--collective ring",
        "--collective hierarchical", "--scale nodes=0.5", "--rank-order x,y",
        "--rank-order x,y,z,data,pipe", "--placement packed", "--overlap all"}
# What each flag of a projection cannot change.
WORK = {"executed_flop_per_device", "model_flop"}
ROOM = {"memory_B", "memory_by_role_B", "memory_by_stage_B"}
SENT = {"sent_B_per_device"}
UNTOUCHED = {"--placement": WORK | ROOM | SENT, "--jitter": WORK | ROOM | SENT, "--fail": WORK | ROOM | SENT,
             "--slow-devices": WORK | ROOM | SENT, "--degrade": WORK | ROOM | SENT,
             "--collective": WORK | ROOM | SENT, "--rank-order": WORK | ROOM | SENT,
             "--fidelity": WORK | ROOM | SENT, "--software": WORK | SENT, "--overlap": WORK | SENT,
             "--in-flight-blocks": WORK | SENT, "--data-bucket": WORK | ROOM, "--zero": WORK,
             "--order": WORK, "--offload-bucket": WORK, "--offload-activations": WORK | SENT, "--weight-gather": WORK, "--attention": {"model_flop"},
             "--cut-messages": WORK, "--grad-precision-z": WORK,
             "--grad-precision-data": WORK, "--gradient-reduction": WORK, "--data-reduction": WORK}


def rounded(value):
    if isinstance(value, dict):
        return {key: rounded(entry) for key, entry in value.items()}
    return float(f"{value:.6g}") if isinstance(value, float) else value


def changes(record, plain):
    """The entries of the record that differ."""
    now, before = rounded(record), rounded(plain)
    return {key for key in now.keys() | before.keys()
            if key not in LEFT_TO_OTHERS and now.get(key) != before.get(key)}


def form(sentence):
    """Sentences that differ in numbers, flags, what is quoted and whoever says them are one."""
    text = re.sub(r"[;?.] [Dd]id you mean \"[^\"]*\"\??", "", sentence.strip())
    text = re.sub(r"^(fourfold|.*refused|point|edited[^:]*): ", "", text)
    text = re.sub(r"'[^']*'|\"[^\"]*\"", "Q", text)
    text = re.sub(r"--[a-z-]+", "F", text)
    return re.sub(r"\S*\d\S*", "N", text)


class Program:
    def __init__(self, path):
        self.path = path

    def run(self, words):
        with tempfile.TemporaryDirectory() as folder:
            return subprocess.run([self.path, *words], capture_output=True, text=True, timeout=120,
                                  cwd=folder)


class Laws:
    def __init__(self):
        self.broken, self.sentences, self.kinds, self.usual = [], {}, {}, {}

    def look_at(self, words, flag, value, result, plain, record):
        """One command line that differs from the plain one in this flag."""
        line = "fourfold " + " ".join(word or "''" for word in words)
        taken = result.returncode == 0 or result.stderr == plain.stderr != ""
        if taken:
            wrong = value == "" or value == "(twice)" and flag not in LISTS
            wrong = wrong or value in NO_NUMBERS.get(self.kinds.get(flag), [])
            if wrong:
                self.broken.append(f"{line}: is taken")
            if record is not None and value not in ("(twice)", "(left out)"):
                now = json.loads(result.stdout)
                of_system = "--system" in words  # whose other choices follow
                moved = changes(now, record) - {"what_if", "without_effect", "system"}  # which say what it did
                if moved and any(word.split()[0] == flag for word in now.get("without_effect", [])):
                    self.broken.append(f"{line}: is said to have no effect, and changes {', '.join(sorted(moved))}")
                usual = flag in self.usual and value == self.usual[flag] or f"{flag} {value}" in IDLE
                usual = usual or not moved and f"{flag} {value}" in now.get("without_effect", [])
                if bool(moved) == usual and not (moved and of_system):
                    self.broken.append(f"{line}: changes {', '.join(sorted(moved)) or 'nothing'}")
                for entry in sorted(() if of_system else moved & UNTOUCHED.get(flag, set())):
                    self.broken.append(f"{line}: changes {entry}")
            elif words[0] in ("show", "collectives") and value not in ("(twice)", "(left out)"):
                same = result.stdout == plain.stdout and f"{flag} {value}" not in IDLE | {"--pad-vocabulary 1"}
                if same and value != self.usual.get(flag):
                    self.broken.append(f"{line}: changes nothing")
            return
        if result.returncode not in (1, 2):
            self.broken.append(f"{line}: ends with {result.returncode}")
        lines = [text for text in result.stderr.splitlines() if text.startswith("fourfold: ")]
        if not result.stderr and (result.returncode != 1 or not result.stdout):
            self.broken.append(f"{line}: says nothing")
        if not lines:
            return
        if value in ("", "(twice)", "(left out)") and result.returncode == 2 and flag not in lines[0]:
            if flag not in LISTS and "argument too many" not in lines[0]:
                self.broken.append(f"{line}: does not name the flag: {lines[0]}")
        if len(lines) == 1:
            self.sentences.setdefault(form(lines[0]), lines[0])


def main():
    program = Program(sys.argv[1])
    pool = concurrent.futures.ThreadPoolExecutor(2)
    laws = Laws()
    known = set()
    for verb, usual, edited in VERBS:
        plain = program.run(words_of(verb, usual))
        stops = plain.returncode != 0
        if stops and "none" not in plain.stderr:
            sys.exit(f"{verb}: {plain.stderr}")
        record = json.loads(plain.stdout) if "--json" in usual else None
        help_text = program.run([*verb.split(), "--help"]).stdout
        laws.kinds = dict(re.findall(r"^  (--[a-z0-9-]+) ([A-Z]+)", help_text, re.MULTILINE))
        laws.usual = dict(re.findall(r"^  (--[a-z0-9-]+) [A-Z]+=(\S+)", help_text, re.MULTILINE)) | usual
        for flag in flags_in(help_text):
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
            for value, words, result in zip(values, lines, pool.map(program.run, lines)):
                laws.look_at(words, flag, value, result, plain, record)
        known.update(flags_in(help_text))
    elsewhere = set()
    for name in ("refusals.txt", "verbs/refused.txt", "what_if_words.txt"):
        with open(f"{sys.argv[2]}/{name}", encoding="utf-8") as file:
            elsewhere.update(form(line.rstrip("\n")) for line in file)
    for which, sentence in sorted(laws.sentences.items()):
        if which not in elsewhere:
            print(sentence)
    if laws.broken:
        sys.exit("\n".join(laws.broken))


main()
