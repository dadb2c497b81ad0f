"""handed_in_files.py FOURFOLD SOURCE: every flag, word and key that names a file is given what is no
such file: a pipe that nobody writes to, a device without an end, a folder, nothing, a name that is too
long or has escapes and line ends, an empty file, random bytes and 200 KB of brackets. Each must end soon, with a status
other than 0, in one line that is ours and shows no control character. A flag whose help speaks of a file is here, or
among those that are only written.
"""

import json
import os
import random
import re
import subprocess
import sys
import tempfile

FOURFOLD, SOURCE = sys.argv[1], sys.argv[2]
SECONDS = 60
OF_A_LIBRARY = ["json.exception", "filesystem error", "std::", "basic_string", "what():",
                "terminate called"]

# FILE is what is handed in, by the ending that its place asks for; FOLDER is a folder of this case.
POINT = ["--devices", "8", "--batch-tokens", "65536", "--fidelity", "estimated"]
WHOLE = ["--platform", "perlmutter", "--model", "gpt2-124m", *POINT]
CAMPAIGN = """title = "t"
batch_tokens = 65_536
fidelity = "estimated"
{above}
[[machine]]
platform = "{platform}"
points = [{{ devices = 8, model = "{model}"{more} }}]
"""
CASES = [
    ("--platform", ".toml", ["project", "--platform", "FILE", "--model", "gpt2-124m", *POINT]),
    ("--platform", ".toml", ["collectives", "--platform", "FILE", "--devices", "8"]),
    ("--platform", ".toml", ["advise", "--platform", "FILE", "--model", "gpt2-124m", "--devices", "8",
                             "--tokens", "1B"]),
    ("--model", ".toml", ["project", "--platform", "perlmutter", "--model", "FILE", *POINT]),
    ("--model", ".toml", ["show", "--model", "FILE"]),
    ("--model", ".toml", ["train", "--model", "FILE"]),
    ("--software", ".toml", ["project", "--software", "FILE", *WHOLE]),
    ("--system", ".toml", ["project", "--system", "FILE", *WHOLE]),
    ("--systems", ".toml", ["compare", "--systems", "FILE,axonn-4d", *WHOLE, "--output", "FOLDER/out"]),
    ("--placement", ".txt", ["project", "--placement", "nodes:FILE", *WHOLE[:-1], "simulated"]),
    ("--placement", ".txt", ["project", "--placement", "devices:FILE", *WHOLE[:-1], "simulated"]),
    ("--space", ".toml", ["search", "--space", "FILE"]),
    ("--measured", ".csv", ["collectives", "--platform", "perlmutter", "--devices", "8", "--measured",
                            "FILE"]),
    ("NAME", ".toml", ["platforms", "show", "FILE"]),
    ("NAME", ".toml", ["platforms", "export", "FILE", "--simgrid-xml"]),
    ("NAME", ".toml", ["systems", "FILE"]),
    ("NAME", ".toml", ["software", "FILE"]),
    ("--set", ".csv", ["validate", "--set", "FILE"]),
    ("--against", ".json", ["validate", "--set", "known_runs", "--against", "FILE"]),
    ("--from-nccl-tests", ".log", ["calibrate", "--out", "FOLDER/out.toml", "--from-nccl-tests",
                                   "FILE"]),
    ("--from-nvidia-smi-topo", ".txt", ["platforms", "template", "--from-nvidia-smi-topo", "FILE"]),
    ("--from-hwloc", ".xml", ["platforms", "template", "--from-hwloc", "FILE"]),
    ("--from-simgrid-xml", ".xml", ["platforms", "template", "--from-simgrid-xml", "FILE"]),
    ("--neox", ".yml", ["project", "--platform", "perlmutter", "--neox", "FILE", "--fidelity", "estimated"]),
    ("--baseline", ".json", ["regress", "--baseline", "FILE", "--quick"]),
    ("--data", ".bin", ["train", "--data", "FILE", "--folder", "FOLDER/run", "--steps", "1"]),
    ("--data", ".jsonl", ["train", "--data", "FILE", "--folder", "FOLDER/run", "--steps", "1"]),
    ("--validation-data", ".bin", ["train", "--validation-data", "FILE", "--folder", "FOLDER/run",
                                   "--steps", "1"]),
    ("--resume", ".json", ["train", "--resume", "FILE"]),
    ("--checkpoint", ".json", ["sample", "--checkpoint", "FILE"]),
    ("FROM", "/model.safetensors", ["checkpoint", "import", "FOLDER", "FOLDER/out"]),
    ("FROM", "/config.json", ["checkpoint", "import", "FOLDER", "FOLDER/out"]),
    ("FROM", "/model.safetensors.index.json", ["checkpoint", "import", "FOLDER", "FOLDER/out"]),
    ("FROM", ".json", ["checkpoint", "export", "FILE", "FOLDER/out"]),
    ("FILE", ".toml", ["campaign", "status", "FILE", "--output", "FOLDER/out"]),
    ("FILE", ".toml", ["campaign", "run", "FILE", "--output", "FOLDER/out"]),
    ("--template", ".sh", ["campaign", "script", "CAMPAIGN", "--output", "FOLDER/out", "--launcher",
                           "slurm", "--template", "FILE"]),
    ("records", "/records.jsonl", ["campaign", "status", "CAMPAIGN", "--output", "FOLDER"]),
    ("records", "/records.jsonl", ["campaign", "table", "CAMPAIGN", "--output", "FOLDER"]),
    ("records", "/records.jsonl", ["campaign", "run", "CAMPAIGN", "--output", "FOLDER"]),
    ("platform", ".toml", {"platform": "FILE"}),
    ("model", ".toml", {"model": "FILE"}),
    ("software", ".toml", {"above": 'software = "FILE"'}),
    ("system", ".toml", {"above": 'system = "FILE"'}),
    ("published_csv", ".csv", {"above": 'published_csv = "FILE"'}),
    ("placement", ".txt", {"above": "", "more": ', what_if = { placement = "nodes:FILE" }'}),
]
# Flags that only name what is written, or a folder that is made.
WRITTEN = {"--trace", "--memory-figure", "--svg", "--output", "--out", "--csv", "--keep", "--record", "--junit", "--folder",
           "--log", "--keep-checkpoints", "--checkpoint-every", "--xml"}
SPEAK_OF_OTHERS = {"--sequence", "--vocabulary", "--recompute", "--fidelity", "--grids-by", "--again",
                   "--restart-minutes", "--grid", "--held-out", "--complete", "--tokens", "--shard-GB",
                   "--documents", "--texts", "--simgrid-xml",
                   "--bad-steps", "--checkpoint-minutes", "--words"}


def make(kind, path):
    if kind == "a pipe":
        os.mkfifo(path)
    elif kind == "/dev/zero":
        os.symlink("/dev/zero", path)
    elif kind == "a folder":
        os.mkdir(path)
    elif kind == "a link to nothing":
        os.symlink(path + ".gone", path)
    elif kind == "nothing in it":
        open(path, "w").close()
    elif kind == "random bytes":
        with open(path, "wb") as file:
            file.write(b"\x1b]0;t\x07\r" + random.Random(path[-5:]).randbytes(3000))
    elif kind == "brackets":
        with open(path, "w") as file:
            file.write('{"a":' * 20_000 + "[" * 100_000 if path.endswith("json") else "a=" + "[" * 200_000)


KINDS = ["a pipe", "/dev/zero", "a folder", "a link to nothing", "a long name", "an escape in its name",
         "nothing in it", "random bytes", "brackets"]
# Where the absence of the file, or an empty one, is right.
RIGHT = {("records", "a link to nothing"), ("records", "nothing in it"), ("records", "a long name"),
         ("records", "random bytes"), ("records", "brackets")}


def run(words, folder):
    try:
        done = subprocess.run(["timeout", "-k", "5", str(SECONDS), FOURFOLD, *words], cwd=folder,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=SECONDS + 20)
        return done.returncode, done.stdout
    except subprocess.TimeoutExpired:
        return 124, b""


def complaint(status, said):
    text = said.decode("utf-8", "replace")
    if status in (124, 137):
        return "goes on for ever"
    if status < 0 or status > 128:
        return f"ends by signal, status {status}"
    if status == 0:
        return "ends with status 0"
    if "fourfold" not in text:
        return "ends without a sentence"
    for word in OF_A_LIBRARY:
        if word in text:
            return f"says '{word}'"
    if re.search(rb"[\x00-\x08\x0b-\x1f\x7f]", said):
        return "shows a control character"
    # But of several keys at once, each has a line.
    if len(text.splitlines()) > 1 and "keys are unknown or missing" not in text:
        return "says more than one line"
    return ""


def check(place, ending, words, kind):
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(folder + "/given")
        name = {"a long name": "x" * 300, "an escape in its name": "\x1b[2J\r\x07fi\nle"}.get(kind, "file")
        path = folder + "/given" + ending if ending.startswith("/") else f"{folder}/given/{name}{ending}"
        if "name" in kind and ending.startswith("/"):
            return "", []
        make(kind, path)
        if ending == "/model.safetensors.index.json":
            open(folder + "/given/model.safetensors", "w").close()
        if ending == "/model.safetensors" or ending.endswith("index.json"):
            with open(folder + "/given/config.json", "w") as file:
                file.write('{"model_type": "gpt2", "n_layer": 1, "n_embd": 8, "n_head": 2, '
                           '"n_positions": 8, "vocab_size": 256}')
        campaign = folder + "/campaign.toml"
        keys = {"above": "", "platform": "perlmutter", "model": "gpt2-124m", "more": ""}
        if isinstance(words, dict):
            keys.update({key: value.replace("FILE", json.dumps(path)[1:-1]) for key, value in words.items()})
            words = ["campaign", "run", "CAMPAIGN", "--output", folder + "/out"]
        with open(campaign, "w") as file:
            file.write(CAMPAIGN.format(**keys))
        words = [word.replace("FILE", path).replace("FOLDER", folder + "/given")
                 .replace("CAMPAIGN", campaign) for word in words]
        status, said = run(words, folder)
        if (place, kind) in RIGHT and status in (0, 1):
            return "", words
        why = complaint(status, said)
        return (f"fourfold {' '.join(words)}\n  with {kind} {why}: "
                + said.decode("utf-8", "replace")[-300:] if why else ""), words


def flags_that_name_files():
    """Of all verbs, by their help."""
    found = set()
    verbs = [[]]
    while verbs:
        verb = verbs.pop()
        text = subprocess.run([FOURFOLD, *verb, "--help"], capture_output=True, text=True).stdout
        for name in re.findall(r"^  ([a-z]+)  +[A-Z]", text.partition("Subcommands:")[2], re.M):
            verbs.append(verb + [name])
        for flag, words in re.findall(r"^  (--[a-zA-Z-]+)((?:.|\n(?!  --|\n))*)", text, re.M):
            if re.search(r"\bfiles?\b|FILE|TOML|checkpoint|folder", words):
                found.add(flag)
    return found


def main():
    only = sys.argv[3:]
    strange = flags_that_name_files() - {case[0] for case in CASES} - WRITTEN - SPEAK_OF_OTHERS
    failures = [f"{flag} names a file and is not tried" for flag in sorted(strange)]
    tried = 0
    for place, ending, words in CASES:
        if only and place not in only:
            continue
        for kind in KINDS:
            failure, ran = check(place, ending, words, kind)
            tried += bool(ran)
            if failure:
                failures.append(failure)
    for failure in failures:
        print(failure, file=sys.stderr)
    print(f"{tried} files that are none were handed in, {len(failures)} failures")
    sys.exit(1 if failures else 0)


main()
