#!/usr/bin/env python3
# Plants the faults of faults.toml one at a time, in a copy of the sources: do the tests notice?
"""How many plausible faults do the tests notice?

  tests/faults/plant.py --check               can every fault be planted? (./test.sh --all asks)
  tests/faults/plant.py --list                ids, rooms and what is wrong
  tests/faults/plant.py --build /tmp/faults   plants all, in an hour; interrupt and go on at will
  tests/faults/plant.py --build /tmp/faults --only cut-from-wrong-byte --again

A fault is one wrong line or two, such as a tired engineer writes: see faults.toml. The sources are
copied to BUILD/tree and built in BUILD/build; your own tree is only read. Each fault is planted in
the copy, built and met by the tests of its room until one fails. Those that pass are planted once
more, all at once, and met by all tests but the slow ones; where tests fail, each fault meets these
tests alone. What came of a fault is appended to BUILD/results.jsonl; one that stands there is not
planted again unless it has changed or --again is given. First of all the tests run without any
fault: one that fails then would seem to notice everything. The table at the end:

  noticed       a test failed
  not noticed   all passed: write the test that is missing, or take the fault out if it is harmless
  not built     the compiler refuses it: no fault that could reach a user; write another

A new fault is one more entry of faults.toml, of one a room; `old` must stand exactly once in its
file. Tests are completed where they miss one, so a new measurement needs new faults: FOURFOLD_FAULTS
names another file of them.
"""

import argparse
import contextlib
import datetime
import hashlib
import json
import os
import re
import subprocess
import sys
import time
import tomllib

FOLDER = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(FOLDER))

FAULTS = os.environ.get("FOURFOLD_FAULTS", os.path.join(FOLDER, "faults.toml"))
MOST_FAULTS = 60  # also of a set of one's own
# Test executables of a room, the likeliest first; each is built and run before the next.
TESTS_OF_ROOM = {
    "support": ["schedule", "sim"],
    "schedule/collectives": ["schedule"],
    "schedule/program": ["schedule"],
    "schedule/models": ["schedule"],
    "schedule/order": ["schedule"],
    "schedule/fold": ["schedule"],
    "platforms": ["platforms"],
    "sim/cost": ["sim"],
    "sim/estimate": ["sim"],
    "sim/conditions": ["sim", "replay"],
    "sim/explain": ["sim"],
    "sim/question": ["sim", "replay"],
    "sim/replay": ["replay", "ladder"],
    "sim/witness": ["ladder"],
    "engine": ["engine", "kernels"],
    "engine/cpu": ["kernels"],
    "engine/mpi": ["mpi"],
    "engine/plan": ["engine"],
    "engine/train": ["train"],
    "scaling": ["scaling"],
    "bench": ["bench"],
}
# What would fail with any fault, as it looks at the sources.
BLIND = r"^faults/"
# An outcome that the second sweep replaces.
PASSED_ROOM = "passes its room"


def stop(sentence):
    sys.exit(f"plant.py: {sentence}")


# Whose file it is: the inmost of TESTS_OF_ROOM.
def room_of(path):
    return max((room for room in TESTS_OF_ROOM if path.startswith(room + "/")), key=len, default="none")


def read_faults():
    with open(FAULTS, "rb") as file:
        return [{**fault, "room": room_of(fault["file"])} for fault in tomllib.load(file)["fault"]]


def source(root, fault):
    with open(os.path.join(root, fault["file"]), encoding="utf-8") as file:
        return file.read()


# Sentences about faults that cannot be planted.
def unplantable(faults, root):
    if len(faults) > MOST_FAULTS:
        yield f"{len(faults)} faults are more than the {MOST_FAULTS} that a reader can judge"
    ids = set()
    for fault in faults:
        name = fault["id"]
        if name in ids:
            yield f"{name}: the id is taken"
        ids.add(name)
        if fault["room"] not in TESTS_OF_ROOM:
            yield f"{name}: {fault['file']} is in no room; see TESTS_OF_ROOM in plant.py"
        if fault["old"] == fault["new"]:
            yield f"{name}: old and new are the same"
        if not os.path.isfile(os.path.join(root, fault["file"])):
            yield f"{name}: there is no file {fault['file']}"
            continue
        times = source(root, fault).count(fault["old"])
        if times != 1:
            yield f"{name}: its old text stands {times} times in {fault['file']}, not once"


def digest(fault):
    text = json.dumps([fault["file"], fault["old"], fault["new"]])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def run(command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", stdin=subprocess.DEVNULL, **more)


def expect(command, what):
    result = run(command)
    if result.returncode != 0:
        stop(f"{what} failed: {' '.join(command)}\n{result.stdout[-4000:]}")
    return result.stdout


# Files of a git tree, with those that are new and not ignored.
def files_of(tree):
    names = expect(["git", "-C", tree, "ls-files", "-z", "-co", "--exclude-standard"], "git")
    return {name for name in names.split("\0") if name}


# Makes the copy as the caller's tree is now; what is the same keeps its time and is not rebuilt.
def copy_tree(tree):
    if not os.path.isdir(tree):
        expect(["git", "clone", "-q", "--no-hardlinks", ROOT, tree], "the copy")
    wanted = {name for name in files_of(ROOT) if os.path.isfile(os.path.join(ROOT, name))}
    for name in files_of(tree) - wanted:
        path = os.path.join(tree, name)
        if os.path.isfile(path):
            os.remove(path)
    for name in sorted(wanted):
        with open(os.path.join(ROOT, name), "rb") as file:
            content = file.read()
        path = os.path.join(tree, name)
        if os.path.isfile(path):
            with open(path, "rb") as file:
                if file.read() == content:
                    continue
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content)


class Site:
    """The copy of the sources, its build and its tests."""

    def __init__(self, options):
        self.folder = os.path.abspath(options.build)
        self.tree = os.path.join(self.folder, "tree")
        self.build_folder = os.path.join(self.folder, "build")
        self.jobs = options.jobs
        self.ctest_jobs = options.ctest_jobs

    def prepare(self):
        inside = os.path.commonpath([self.folder, ROOT]) == ROOT
        if inside and run(["git", "-C", ROOT, "check-ignore", "-q", self.folder]).returncode != 0:
            stop(f"{self.folder} lies in the sources and would be copied; give one beside them")
        os.makedirs(self.folder, exist_ok=True)
        copy_tree(self.tree)
        expect(["cmake", "-S", self.tree, "-B", self.build_folder, "-G", "Ninja",
                "-DCMAKE_BUILD_TYPE=Release", "-DFOURFOLD_MICROBENCH=OFF", "-DFOURFOLD_UNITY=OFF",
                "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG"], "configuring")

    def build(self, target):
        return run(["ninja", "-C", self.build_folder, "-j", str(self.jobs), target])

    # Names of the tests that fail of those that the regular expression chooses; with `how` "first",
    # no more than one.
    def failures(self, chosen, how):
        stopping = ["--stop-on-failure"] if how == "first" else []
        result = run(["ctest", "--test-dir", self.build_folder, "-j", str(self.ctest_jobs),
                      "--output-on-failure", "-LE", "^slow$", "-R", chosen, "-E", BLIND, *stopping])
        self.said = result.stdout
        failed = re.findall(r"Test +#\d+: (\S+).*\*\*\*(?!Not Run|Skipped)", result.stdout)
        if result.returncode != 0 and not failed:
            stop(f"ctest says neither which test failed nor that all passed:\n{self.said[-4000:]}")
        return failed[:1] if how == "first" else failed

    # The sources with these faults while the block runs.
    @contextlib.contextmanager
    def planted(self, faults):
        right = {fault["file"]: source(self.tree, fault) for fault in faults}
        try:
            for fault in faults:
                text = source(self.tree, fault)
                if text.count(fault["old"]) != 1:
                    stop(f"{fault['id']} cannot be planted beside the others of {fault['file']}")
                with open(os.path.join(self.tree, fault["file"]), "w", encoding="utf-8") as file:
                    file.write(text.replace(fault["old"], fault["new"]))
            yield
        finally:
            for name, text in right.items():
                with open(os.path.join(self.tree, name), "w", encoding="utf-8") as file:
                    file.write(text)


# What came of the fault that stands in the tree: (outcome, the test that noticed it).
def meet_its_room(site, fault):
    for folder in TESTS_OF_ROOM[fault["room"]]:
        if site.build(f"tests-{folder}").returncode != 0:
            return "not built", None
        # Not the folder's scripts: they start programs, which are not built yet.
        for test in site.failures(rf"^{folder}\.", "first"):
            return "noticed", test
    return PASSED_ROOM, None


# What meets one fault after those of its room: the tests that fail when all of them are planted.
def others(site, faults):
    print(f"planting {len(faults)} that passed their rooms at once", flush=True)
    with site.planted(faults):
        built = site.build("all")
        if built.returncode != 0:
            stop(f"faults that build alone do not build together:\n{built.stdout[-4000:]}")
        failing = site.failures(".", "all")
    print(f"{len(failing)} tests fail: {' '.join(failing) or 'none'}", flush=True)

    def meet(site, _):
        if failing:
            site.build("all")
            chosen = "|".join(f"^{re.escape(test)}$" for test in failing)
            for test in site.failures(chosen, "first"):
                return "noticed", test
        return "not noticed", None

    return meet


def results_in(path):
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file if line.endswith("\n")]
    return {line["id"]: line for line in lines}


def outcome_of(fault, results):
    result = results.get(fault["id"])
    return result["outcome"] if result and result["fault"] == digest(fault) else None


def table(faults, results):
    counts = {}
    for fault in faults:
        outcome = outcome_of(fault, results)
        if outcome in ("noticed", "not noticed"):
            counts.setdefault(fault["room"], {"noticed": 0, "not noticed": 0})[outcome] += 1
    text = f"{'room':<22}{'met':>5}{'noticed':>9}{'share':>8}\n"
    total, noticed = 0, 0
    for room in [room for room in TESTS_OF_ROOM if room in counts]:
        met = counts[room]["noticed"] + counts[room]["not noticed"]
        total, noticed = total + met, noticed + counts[room]["noticed"]
        share = f"{100 * counts[room]['noticed'] / met:.0f} %" if met else "-"
        text += f"{room:<22}{met:>5}{counts[room]['noticed']:>9}{share:>8}\n"
    share = f"{100 * noticed / total:.0f} %" if total else "-"
    text += f"{'all':<22}{total:>5}{noticed:>9}{share:>8}\n"
    for outcome in ["not noticed", "not built", PASSED_ROOM, None]:
        for fault in faults:
            if outcome_of(fault, results) == outcome:
                text += f"{outcome or 'not met'}: {fault['id']}, {fault['file']}: {fault['what']}\n"
    return text


def expect_sound(site):
    print("building and testing without a fault", flush=True)
    built = site.build("all")
    if built.returncode != 0:
        stop(f"the sources do not build:\n{built.stdout[-4000:]}")
    for test in site.failures(".", "first"):
        stop(f"{test} fails without any fault; nothing can be said of the others:\n"
             f"{site.said[-4000:]}")


def plant_all(faults, site, meet, results_path, known):
    began, done = time.monotonic(), 0
    for fault in faults:
        start = time.monotonic()
        with site.planted([fault]):
            outcome, test = meet(site, fault)
        result = {"id": fault["id"], "fault": digest(fault), "room": fault["room"],
                  "outcome": outcome, "test": test, "seconds": round(time.monotonic() - start, 1)}
        with open(results_path, "a", encoding="utf-8") as file:
            file.write(json.dumps(result) + "\n")
        known[fault["id"]] = result
        done += 1
        left = (time.monotonic() - began) / done * (len(faults) - done)
        print(f"{done} of {len(faults)}  {fault['id']}: {outcome}{' by ' + test if test else ''}, "
              f"{result['seconds']:.0f} s; {datetime.timedelta(seconds=round(left))} left",
              flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only: can every fault be planted?")
    parser.add_argument("--list", action="store_true", help="only: say what the faults are")
    parser.add_argument("--table", action="store_true", help="only: the table of BUILD's results")
    parser.add_argument("--build", metavar="DIR", help="where the copy, its build and results go")
    parser.add_argument("--only", metavar="ID", action="append", help="this fault; may be repeated")
    parser.add_argument("--again", action="store_true", help="plant those with a result, too")
    parser.add_argument("--trust", action="store_true",
                        help="leave out the run of the tests without a fault")
    parser.add_argument("--jobs", type=int, default=2, help="of ninja (default 2)")
    parser.add_argument("--ctest-jobs", type=int, default=2, help="of ctest (default 2)")
    options = parser.parse_args()

    faults = read_faults()
    complaints = list(unplantable(faults, ROOT))
    if complaints:
        stop("the faults do not fit the sources:\n" + "\n".join(complaints))
    if options.check:
        print(f"{len(faults)} faults can be planted")
        return
    chosen = [fault for fault in faults if not options.only or fault["id"] in options.only]
    for name in options.only or []:
        if name not in {fault["id"] for fault in faults}:
            stop(f"there is no fault {name}; --list names all")
    if options.list:
        for fault in chosen:
            print(f"{fault['id']:<34}{fault['room']:<22}{fault['what']}")
        return
    if not options.build:
        stop("give --build DIR, or --check, --list or --help")
    site = Site(options)
    results_path = os.path.join(site.folder, "results.jsonl")
    results = results_in(results_path)
    if not options.table:
        site.prepare()
        if not options.trust:
            expect_sound(site)
        rooms = list(TESTS_OF_ROOM)
        first = [fault for fault in sorted(chosen, key=lambda fault: rooms.index(fault["room"]))
                 if options.again or outcome_of(fault, results) is None]
        plant_all(first, site, meet_its_room, results_path, results)
        second = [fault for fault in chosen if outcome_of(fault, results) == PASSED_ROOM]
        if second:
            plant_all(second, site, others(site, second), results_path, results)
    print(table(chosen, results), end="")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("\nplant.py: interrupted; the same command goes on from here")
