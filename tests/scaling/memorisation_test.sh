#!/usr/bin/env bash
# A study of what a tiny model knows by heart, run as a user would: learned where it was repeated,
# resumed where it was cut off, never begun where it is mistaken.
source "$(dirname "${BASH_SOURCE[0]}")/command_line.sh"

study() { run "$1" campaign run "$folder/study.toml" --output "$folder/out" "${@:2}"; }

# Proverbs of common words, the same each time.
mkdir "$folder/text"
python3 - >"$folder/text/proverbs" <<'END'
import random
random.seed(5)
words = "the of and a to in he was that it his her with as had for she not but at".split()
for _ in range(500):
    print(" ".join(random.choice(words) for _ in range(30)) + "\n%")
END
cat >"$folder/study.toml" <<END
title = "By heart"
[memorisation]
text = "$folder/text"
document_tokens = 32
ending_tokens = 8
documents = 4
repetitions = [0, 80]
seeds = [1, 2]
goldfish = { k = 2, h = 5 }
pretraining = { steps = 100, batch = 8, warm_up = 10, learning_rate = 3e-3, last_learning_rate = 0.1 }
continued = { batch = 4, injected = 4, warm_up = 4, learning_rate = 3e-3, last_learning_rate = 0.1 }
[[memorisation.model]]
name = "tiny"
layers = 1
hidden = 64
heads = 2
END

study 2 --fidelity estimated
says "--fidelity has no effect on it"
[ ! -e "$folder/out/records.jsonl" ] || fail "a refused study leaves records"

# Verbs of other campaigns say what it is, not that its key is unknown.
for verb in status table export plot report "script --launcher slurm" collect; do
  run 2 campaign $verb "$folder/study.toml" --output "$folder/out"
  says "is a study of memorisation, which only"
done

study 0
says "4 runs, 0 kept, 4 to run; 1 model to be pre-trained"
says "matches rise with repetitions"
records=$folder/out/records.jsonl
[ "$(wc -l <"$records")" -eq 4 ] || fail "there are not 4 records"
for picture in png svg pdf; do
  [ -s "$folder/out/memorisation.$picture" ] || fail "memorisation.$picture is not drawn"
done
python3 - "$records" "$folder/out/memorisation.csv" <<'END' || fail "the records are not what they say"
import csv, json, sys
records = [json.loads(line) for line in open(sys.argv[1])]
assert sorted((r["seed"], r["goldfish"]) for r in records) == [(1, False), (1, True), (2, False), (2, True)]
for r in records:
    never, often = r["equal_words"]
    assert r["goldfish"] or often > never + 2, r  # words of endings that were read 80 times
    assert r["matches"][0] == 0, r
    assert r["validation_loss"] > 1.0, r
plain = [r for r in records if not r["goldfish"]]
fish = [r for r in records if r["goldfish"]]
assert sum(r["equal_words"][1] for r in plain) > sum(r["equal_words"][1] for r in fish)
rows = list(csv.DictReader(open(sys.argv[2])))
for row in rows:
    own = fish if row["goldfish"] == "1" else plain
    b = [0, 80].index(int(row["repetitions"]))
    percents = [100.0 * r["matches"][b] / 4 for r in own]
    assert abs(float(row["percent"]) - sum(percents) / 2) < 0.01, row
    assert float(row["low"]) == min(percents) and float(row["high"]) == max(percents), row
assert len(rows) == 4
END

# Cut off after the third record, in the middle of the fourth: only that is run again.
cp "$records" "$folder/before"
{ head -n 3 "$folder/before"; sed -n 4p "$folder/before" | cut -c1-40 | tr -d '\n'; } >"$records"
study 0
says "has a line that is no record; its run is done again"
says "4 runs, 3 kept, 1 to run; 0 models to be pre-trained"
[ "$(cat "$records.torn")" = "$(sed -n 4p "$folder/before" | cut -c1-40)" ] || fail "the torn line is lost"
learned() { python3 -c 'import json, sys
for line in sorted(json.dumps([r["seed"], r["goldfish"], r["matches"], r["equal_words"]])
                   for r in map(json.loads, open(sys.argv[1]))): print(line)' "$1"; }
diff <(learned "$folder/before") <(learned "$records") || fail "a run that is done again differs"

# A last line that only lacks its end is kept, and the next record stands on a line of its own.
head -n 3 "$folder/before" | head -c -1 >"$records"
study 0
says "4 runs, 3 kept, 1 to run"
diff <(learned "$folder/before") <(learned "$records") || fail "a record without a line's end is lost"

study 0
says "4 runs, 4 kept, 0 to run"
says "at 80 repetitions the largest model"

# A longer document is another study: nothing kept stands for it.
sed -i 's|document_tokens = 32|document_tokens = 36|' "$folder/study.toml"
study 0
says "4 runs, 0 kept, 4 to run; 1 model to be pre-trained"
echo "a memorisation study is learned, resumed and refused as it should be"
