#!/usr/bin/env bash
# Files of one answer agree: a campaign's records, table, CSV, page and figures; a run's log, curve,
# checkpoints and what it prints. All are read, and every number that two
# of them say is the same, to the digits that are written.
source "$(dirname "${BASH_SOURCE[0]}")/command_line.sh"
source "$(dirname "${BASH_SOURCE[0]}")/../train/small_job.sh"
export FOURFOLD_PLATFORMS=${FOURFOLD_SOURCE_DIR:?}/tests/machines
cd "$folder"

cat >study.toml <<'TOML'
title = "Eight small points"
tokens = "1B"
batch_tokens = 131_072
fidelity = "estimated"
figures = ["strong"]

[[machine]]
platform = "crossbar"
points = [{ devices = [8, 16, 32, 64], model = ["gpt-5b", "gpt-10b"] }]
TOML
"$fourfold" campaign run study.toml --output out >printed.txt 2>progress.txt || fail "$(cat progress.txt)"
"$fourfold" campaign report study.toml --output out >/dev/null
"$fourfold" campaign export study.toml --output out >exported.csv
"$fourfold" campaign export study.toml --output out --as json >exported.json
cmp exported.csv out/summary.csv || fail "the CSV that is printed is another"

write_small_job "$folder" 1
"$fourfold" train --model small.toml --data text.txt --ranks 2 --batch 4 --steps 7 --validate-every 3 \
  --checkpoint-every 3 --keep-checkpoints 5 --tokens 0 --print-every 1 --folder run >screen.txt 2>said ||
  fail "training"
"$fourfold" train --resume run --steps 9 --json >resumed.jsonl 2>said || fail "resuming"

cat >read.py <<'PY'
import csv, json, re
from pathlib import Path


def same(number, text, what, scale=1.0):
    """`text` is the number, to the last digit that it has."""
    digits = len(text.split(".")[1]) if "." in text else 0
    assert abs(number * scale - float(text)) <= 0.5000001 * 10.0 ** -digits, (what, number * scale, text)


def close(one, other, what):  # to the nine digits of a CSV
    assert abs(one - float(other)) <= 1e-8 * abs(one), (what, one, other)


def study():
    records = [json.loads(line) for line in open("out/records.jsonl")]
    exported = [json.loads(line) for line in open("exported.json")]
    assert sorted(r["key"] for r in records) == sorted(r["key"] for r in exported)
    of = {(r["devices"], r["point"]["model"]["name"]): r for r in records}
    assert len(of) == 8
    for r in records:
        r.pop("digest")  # of the line itself, in the file alone
    for r in exported:
        assert r == of[r["devices"], r["point"]["model"]["name"]], "the JSON that is printed is another"
    rows = list(csv.DictReader(open("out/summary.csv")))
    assert len(rows) == 8
    for row in rows:
        r = of[int(row["devices"]), row["model"]]
        assert row["grid"] == r["point"]["grid"], row
        assert int(row["micro_batches"]) == r["point"]["options"]["micro_batches"]
        close(r["outcome"]["total_s"], row["batch_s"], "batch_s")
        close(r["error_bar"]["low_s"], row["bar_low_s"], "bar_low_s")
    csv_of = {(int(row["devices"]), row["model"]): row for row in rows}

    text = open("out/table.txt").read()
    seen = 0
    for line in text[:text.index("\nPflop/s a")].splitlines():
        cells = re.split(r" {2,}", line.strip())
        if cells[0] != "crossbar":
            continue
        machine, devices, model, grid, micro, ten, batch, bar, pflops, mfu, hfu, empirical, exposed, memory = cells
        row = csv_of[int(devices), model]
        seen += 1
        assert grid == row["grid"].replace("x", "."), (grid, row["grid"])
        assert micro == row["micro_batches"]
        for text_of, column, scale in ((batch, "batch_s", 1), (pflops, "flop_per_s", 1e-15), (mfu, "mfu", 100),
                                       (hfu, "hfu", 100), (empirical, "of_empirical_peak", 100),
                                       (exposed, "exposed_share", 100)):
            same(float(row[column]), text_of, column, scale)
        for text_of, column in zip(ten.split("-"), ("best_grids_least_s", "best_grids_most_s")):
            same(float(row[column]), text_of, column)
        for text_of, column in zip(bar.split("-"), ("bar_low_s", "bar_high_s")):
            same(float(row[column]), text_of, column)
        for text_of, column in zip(memory.split(" of "), ("memory_B", "memory_limit_B")):
            same(float(row[column]), text_of, column, 1e-9)
    assert seen == 8, seen

    page = re.findall("<tr>(.*?)</tr>", open("out/report.html").read(), re.S)
    cells = [re.findall(r"<t[hd][^>]*>([^<]*)</t[hd]>", row) for row in page]
    head = cells[0]
    page_rows = [dict(zip(head, row)) for row in cells[1:9]]
    assert len(page_rows) == 8
    for row in page_rows:
        own = csv_of[int(row["devices"]), row["model"]]
        assert row["grid"] == own["grid"]
        for column, key, scale in (("batch, s", "batch_s", 1), ("bar from, s", "bar_low_s", 1),
                                   ("bar to, s", "bar_high_s", 1), ("Pflop/s", "flop_per_s", 1e-15),
                                   ("MFU, %", "mfu", 100), ("HFU, %", "hfu", 100), ("tokens/s", "tokens_per_s", 1),
                                   ("exposed, %", "exposed_share", 100), ("memory, GB", "memory_B", 1e-9)):
            same(float(own[key]), row[column], column, scale)

    progress = re.findall(r"crossbar (\d+) (\S+): (\S+) s per batch on grid (\S+),", open("progress.txt").read())
    assert len(progress) == 8
    for devices, model, seconds, grid in progress:
        same(of[int(devices), model]["outcome"]["total_s"], seconds, "progress")
        assert of[int(devices), model]["point"]["grid"] == grid
    for row in csv.DictReader(open("out/strong.csv")):
        own = csv_of[int(row["devices"]), row["series"].split()[0]]
        assert own["grid"] == row["grid"]
        days = 1e9 / float(own["batch_tokens"]) * float(own["batch_s"]) / 86400
        assert abs(float(row["time"]) / days - 1) < 1e-6, (row, days)


def run():
    log = [json.loads(line) for line in open("run/log.jsonl")]
    kinds = lambda kind: [entry for entry in log if entry["kind"] == kind]
    steps, validations = kinds("step"), kinds("validation")
    assert [entry["step"] for entry in steps] == list(range(1, 10)), steps
    first, resumed = kinds("run")
    assert first["model"] == resumed["model"] and first["data"] == resumed["data"]
    assert [end["step"] for end in kinds("end")] == [7, 9]

    # The curve is the log's, digit by digit.
    rows = list(csv.DictReader(open("run/loss.csv")))
    assert [int(row["step"]) for row in rows] == [entry["step"] for entry in steps]
    held_out = {entry["step"]: entry["loss"] for entry in validations}
    for row, entry in zip(rows, steps):
        assert float(row["training_loss"]) == entry["loss"], (row, entry)
        expected = held_out.get(entry["step"])
        assert (float(row["validation_loss"]) if row["validation_loss"] else None) == expected, (row, expected)
        assert float(row["unigram_nats"]) == first["unigram_nats"]

    # What was printed is the log's, to its digits; what --json prints is the log's line.
    printed = re.findall(r"step +(\d+)  loss ([\d.]+)  norm ([\d.]+)", open("screen.txt").read())
    assert [int(step) for step, *_ in printed] == list(range(1, 8)), printed
    for (_, loss, norm), entry in zip(printed, steps):
        same(entry["loss"], loss, "loss")
        same(entry["gradient_norm"], norm, "norm")
    said = re.findall(r"step +(\d+)  validation loss ([\d.]+) nats", open("screen.txt").read())
    assert {3, 6, 7} <= {int(step) for step, _ in said}
    for step, loss in said:
        same(held_out[int(step)], loss, "validation")
    lines = [line for line in open("resumed.jsonl").read().splitlines() if '"kind":"plots"' not in line]
    assert open("run/log.jsonl").read().splitlines()[-len(lines):] == lines, "--json prints other lines"

    records = {entry["step"]: json.load(open(entry["path"])) for entry in kinds("checkpoint")}
    before = 0.0
    for end in kinds("end"):
        assert before + end["seconds_here"] == records[end["step"]]["trainer"]["trained_seconds"], end
        before = records[end["step"]]["trainer"]["trained_seconds"]

    # Checkpoints that the log names are there, of that step, and where the data were then.
    written = kinds("checkpoint")
    assert [entry["step"] for entry in written] == [3, 6, 7, 9], written
    for entry in written:
        record = json.load(open(entry["path"]))
        assert record["step"] == entry["step"] and record["seed"] == first["seed"]
        # One clock: what a run has trained until a step.
        trained = [v["trained_s"] for v in validations if v["step"] == record["step"]]
        assert set(trained) == {record["trainer"]["trained_seconds"]}, (trained, record["trainer"])
        assert record["position"] == 4 * record["step"]
        assert record["model"]["name"] == first["model"]["name"]
        assert (Path(entry["path"]).parent / record["data_file"]).stat().st_size == record["data_file_bytes"]


study()
run()
PY
python3 read.py || fail "two files of one answer part"
echo "files of one answer agree"
