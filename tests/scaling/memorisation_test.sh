#!/usr/bin/env bash
# A study of what a tiny model knows by heart, run as a user would: learned where it was repeated,
# resumed where it was cut off, never begun where it is mistaken.
source "$(dirname "${BASH_SOURCE[0]}")/command_line.sh"
source "$(dirname "${BASH_SOURCE[0]}")/small_study.sh"

study() { run "$1" campaign run "$folder/study.toml" --output "$folder/out" "${@:2}"; }

write_small_study "$folder/study.toml" 4 "[0, 80]" "[1, 2]" 100 10

for flag in "--fidelity estimated" "--grids-by estimate" "--slice 1/2" "--devices 2" "--launch run{ranks}" "--retries 3"; do
  study 2 $flag
  says "${flag% *} has no effect on it"
done
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
python3 - "$records" <<'END' || fail "the records are not what they say"
import json, sys
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
