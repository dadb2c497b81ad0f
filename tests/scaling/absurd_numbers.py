"""absurd_numbers.py FOURFOLD PLATFORM...: each number of a platform file becomes 0, -1, 1e308, 1e-308,
nan, inf, 2^63, 2^63 - 1 and 1e18, one at a time, and is projected with. The answer is a refusal of one
line, or has finite numbers alone; nothing crashes, hangs or is stopped by a sanitizer.
"""

import re
import subprocess
import sys
import tempfile

FOURFOLD = sys.argv[1]
ABSURD = ["0", "-1", "1e308", "1e-308", "nan", "inf", "9223372036854775808", "9223372036854775807",
          "1000000000000000000"]
SECONDS = 60
POINT = ["--model", "gpt2-124m", "--devices", "16", "--batch-tokens", "65536", "--fidelity", "estimated"]
NUMBER = re.compile(r"(?<![\w.+-])[+-]?\d[\d_]*(?:\.\d+)?(?:e[+-]?\d+)?(?![\w.])")
NOT_FINITE = re.compile(r"(?<![\w-])[+-]?(nan|inf|infinity)(?![\w-])", re.IGNORECASE)


def numbers(text):
    """Places of numbers that are values: neither in comments nor in strings."""
    place = 0
    for line in text.splitlines(keepends=True):
        shown = re.sub(r'"[^"]*"', lambda quoted: " " * len(quoted.group()), line)
        shown = shown.split("#")[0]
        begin = shown.find("=") + 1
        if begin > 0 or line.startswith(" "):
            for found in NUMBER.finditer(shown, begin):
                yield place + found.start(), place + found.end()
        place += len(line)


def wrong(path):
    """What is wrong with the answer, or nothing; and whether it was a refusal."""
    try:
        ended = subprocess.run([FOURFOLD, "project", "--platform", path, *POINT], timeout=SECONDS,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, errors="replace")
    except subprocess.TimeoutExpired:
        return "no answer in time", False
    refused = ended.returncode == 2
    if ended.returncode not in (0, 1, 2):
        return f"status {ended.returncode}: {ended.stderr[-3000:]}", refused
    if refused and (not ended.stderr.startswith("fourfold: ") or ended.stderr.count("\n") != 1):
        return "no sentence: " + ended.stderr[-300:], refused
    said = NOT_FINITE.search(ended.stdout) if not refused else None
    return (f"it says {said.group()}" if said else ""), refused


def main():
    tried = refusals = failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for platform in sys.argv[2:]:
            text = open(platform, encoding="utf-8").read()
            for begin, end in numbers(text):
                for number in ABSURD:
                    path = folder + "/absurd.toml"
                    with open(path, "w", encoding="utf-8") as file:
                        file.write(text[:begin] + number + text[end:])
                    problem, refused = wrong(path)
                    tried += 1
                    refusals += refused
                    if problem:
                        failures += 1
                        line = text[:begin].count("\n") + 1
                        print(f"{platform}:{line}: {text[begin:end]} -> {number}: {problem}")
    print(f"{tried} absurd numbers, {refusals} refused")
    return 1 if failures or not 0 < refusals < tried else 0


sys.exit(main())
