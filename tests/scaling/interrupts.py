"""interrupts.py FOURFOLD SOURCES FOLDER ROUNDS [VERBS]: interrupts long verbs at drawn moments.

Each ends within ten seconds, with status 130 and a sentence, leaves no process and nothing
half-written; where it keeps what is finished, the same command goes on from there.
"""

import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import time

MOST_SECONDS = 10.0
MARK = "FOURFOLD_INTERRUPTED_BY_TEST"
# Names of what is written for a moment: drafts of ours, and the scratch folders of studies.
HALF_WRITTEN = re.compile(r"draft|[.]new$|[.]tmp|^training")
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


def commands(sources):
    """Name, words, and whether finished work is kept; each takes longer than a few seconds."""
    large = ["--platform", "frontier", "--model", "gpt-320b", "--devices", "32768"]
    campaigns = sources / "scaling/campaigns"
    return [
        ("calibrate", ["calibrate", "--out", "here.toml"], True),
        ("validate", ["validate", "--fidelity", "simulated"], False),
        ("search", ["search", *large, "--fidelity", "simulated"], False),
        ("advise", ["advise", "--platform", "frontier", "--model", "gpt-320b", "--devices",
                    "1024..32768", "--tokens", "1T"], False),
        ("compare", ["compare", "--platform", "frontier", "--model", "gpt-80b", "--devices",
                     "8192", "--systems", "axonn-4d,megatron-core", "--fidelity", "simulated"],
         False),
        ("full", ["project", *large, "--fidelity", "full"], False),
        ("campaign", ["campaign", "run", campaigns / "sc24_weak.toml", "--output", "out"], True),
        ("measured", ["campaign", "run", campaigns / "here_weak.toml", "--output", "out"], True),
        ("memorisation", ["campaign", "run", campaigns / "memorisation.toml", "--output", "out"],
         True),
        ("bench", ["bench", "gemm"], False),
        ("bench of ranks", ["bench", "collectives", "--ranks", "2"], False),
        ("bench of files", ["bench", "checkpoint"], False),
        ("regress", ["regress", "--quick"], False),
        ("doctor", ["doctor"], False),
        ("sample", ["sample", "--checkpoint", "../trained", "--tokens", "1000000"], False),
        ("import", ["checkpoint", "import", "../exported", "imported"], False),
        ("export", ["checkpoint", "export", "../trained", "exported"], False),
    ]


def marked(mark):
    """Processes that are left of a command: its environment is theirs."""
    found = []
    for folder in pathlib.Path("/proc").iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        try:
            if f"{MARK}={mark}".encode() in (folder / "environ").read_bytes():
                found.append((folder.name, (folder / "cmdline").read_bytes()[:80]))
        except OSError:
            pass
    return found


def half_written(folder):
    return [str(path.relative_to(folder)) for path in folder.rglob("*")
            if HALF_WRITTEN.search(path.name)]


def interrupt(fourfold, words, folder, mark, moment, which):
    """Returns what is wrong, in words, and how long the end took."""
    environment = dict(os.environ, **{MARK: mark})
    said = folder.parent / f"{mark}.err"
    with open(said, "wb") as complaint:
        # Not in the background: its signals are as a terminal would leave them.
        process = subprocess.Popen([fourfold, *map(str, words)], cwd=folder, env=environment,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=complaint, start_new_session=True)
    time.sleep(moment)
    ended_before = process.poll() is not None
    began = time.monotonic()
    if not ended_before:
        process.send_signal(which)
        time.sleep(0.01)
        process.send_signal(which)  # one event may be sent twice: by a terminal and by a launcher
    at_once = time.monotonic() - began < 0.1
    try:
        status = process.wait(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        return ["it did not end within a minute"], 60.0
    took = time.monotonic() - began
    last = said.read_text(errors="replace").strip().rsplit("\n", 1)[-1]
    wrong = []
    if ended_before or status in (0, 1):
        print(f"  (it had ended before, with status {status})")
    else:
        at_its_start = moment < 1.0 and status == -which  # before it looks at signals
        if status != 130 and not at_its_start:
            wrong.append(f"status {status}")
        if not at_its_start and "interrupted" not in last and "goes on from there" not in last:
            wrong.append("no sentence")
        if at_once and "interrupted twice" in last:
            wrong.append("one event was taken for two")
    if took > MOST_SECONDS:
        wrong.append(f"{took:.1f} s to end")
    deadline = time.monotonic() + 3
    while marked(mark) and time.monotonic() < deadline:
        time.sleep(0.05)
    if left := marked(mark):
        wrong.append(f"processes are left: {left}")
    if half := half_written(folder):
        wrong.append(f"half-written: {half}")
    if wrong:
        wrong.append(f"said: {last}")
    return wrong, took


def main():
    fourfold, sources, base = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    rounds, only = int(sys.argv[4]), sys.argv[5:]
    seed = int(os.environ.get("SEED", random.randrange(10**6)))
    draw = random.Random(seed)
    print(f"SEED={seed}")
    failures = 0
    for name, words, keeps in commands(sources):
        if only and name not in only:
            continue
        folder = base / name.replace(" ", "-")
        for number in range(rounds):
            if not keeps:
                shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(exist_ok=True)
            which, moment = draw.choice(SIGNALS), draw.choice([0.0, 0.05, 0.3, 1.0, 3.0])
            moment *= 0.5 + draw.random()
            wrong, took = interrupt(fourfold, words, folder, f"{name.replace(' ', '-')}-{number}",
                                    moment, which)
            print(f"{name}: {which.name} after {moment:.2f} s: {took:.1f} s"
                  f"{''.join('; ' + one for one in wrong)}", flush=True)
            failures += bool(wrong)
        shutil.rmtree(folder, ignore_errors=True)
    if failures:
        sys.exit(f"{failures} interrupts went wrong")


main()
