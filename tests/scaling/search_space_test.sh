#!/usr/bin/env bash
# Searches over whole strategies: flags and files say the same space, influences sum up and are
# drawn, and what cannot be said is refused in words.
source "$(dirname "${BASH_SOURCE[0]}")/command_line.sh"

cat >"$folder/space.toml" <<'TOML'
title = "A small space"
platform = "frontier"
model = "gpt-5b"
vocabulary = 32_000
nodes = [1, 2]
batch_tokens = 131_072
grid = { x = [1, 2], pipe = [1, 2, 4] }

[options]
order = ["1f1b", "interleaved"]
chunks = [1, 2]
sequence_parallel = [false, true]
overlap = ["none", "oar,messages"]
zero = 1
TOML
said=(--platform frontier --model gpt-5b --vocabulary 32000 --nodes 1,2 --batch-tokens 131072
  --grid x=1,2,pipe=1,2,4 --order 1f1b,interleaved --chunks 1,2 --sequence-parallel off,on
  --overlap none/oar,messages --zero 1)

"$fourfold" search --space "$folder/space.toml" --influence --json --output "$folder/out" \
  >"$folder/file.json" 2>"$folder/notes"
"$fourfold" search "${said[@]}" --influence --json >"$folder/flags.json" 2>/dev/null
python3 - "$folder/file.json" "$folder/flags.json" <<'PYTHON' || fail "not what was asked for"
import json, sys
file, flags = [json.load(open(path)) for path in sys.argv[1:]]
for key in ("space", "best", "strategies", "refused", "out_of_memory", "estimated", "influence"):
    assert file[key] == flags[key], key
assert file["title"] == "A small space"
words = {factor["choice"]: factor["words"] for factor in file["space"]}
assert words["devices"] == ["8", "16"] and words["pipe"] == ["1", "2", "4"], words
assert words["overlap"] == ["none", "oar,messages"] and "zero" not in words, words
assert all(one["options"]["zero"] == 1 for one in file["best"])
rates = [one["flop_per_s_per_device"] for one in file["best"]]
assert len(rates) == 10 and rates == sorted(rates, reverse=True), rates
for space in ("out_of_memory_is_0", "feasible"):
    shares = [of["share"] for of in file["influence"][space]["choices"].values()]
    assert len(shares) == 8 and abs(sum(shares) - 1) < 1e-9 and min(shares) > -1e-12, shares
PYTHON
for file in table.txt answer.json influence.csv influence.svg influence.png; do
  [ -s "$folder/out/$file" ] || fail "no $file: $(cat "$folder/notes")"
done
grep -q 'micro-batch-size' "$folder/out/influence.svg" || fail "the plot does not name the choices"
[ "$(wc -l <"$folder/out/influence.csv")" = 9 ] || fail "$(cat "$folder/out/influence.csv")"

# The command that the answer ends with projects the same seconds.
"$fourfold" search "${said[@]}" >"$folder/table" 2>/dev/null
again=$(sed -n 's/^  fourfold project //p' "$folder/table")
# shellcheck disable=SC2086
"$fourfold" project $again --fidelity estimated --json 2>/dev/null >"$folder/one.json"
python3 - "$folder/file.json" "$folder/one.json" <<'PYTHON' || fail "another answer: $again"
import json, sys
best, one = [json.load(open(path)) for path in sys.argv[1:]]
assert abs(best["best"][0]["estimated_s"] / one["estimated_s"] - 1) < 1e-12
assert best["best"][0]["memory_B"] == one["memory_B"]
PYTHON

# refused WORDS ARGUMENTS...: what golden texts of other tests do not say.
refused() {
  run 2 search "${@:2}"
  says "$1"
}
point=(--platform frontier --model gpt-5b --devices 16)
refused "twice for --zero" "${point[@]}" --zero 1,1
refused "leaves nothing open" "${point[@]}" --grid 2x2x2x2 --micro-batches 1 --influence
refused "million strategies that fit" "${point[@]}" --micro-batch-size 1-1000 --micro-batches 1-1000
refused "--grids-by cannot take effect: --grid says" "${point[@]}" --grid 2x2x2x2 --grids-by sc24-model
refused "all ranks and links as alike" "${point[@]}" --zero 0,1 --jitter 2%

# With a grid nothing is left open that is not said: the search of a grid is its projection.
grid=(--platform frontier --model gpt-5b --batch-tokens 131072 --grid 2x2x2x2)
seconds=$("$fourfold" project "${grid[@]}" 2>/dev/null | grep -oE '[0-9.]+ s per batch' | head -n 1)
"$fourfold" search --devices 16 "${grid[@]}" 2>/dev/null | heard -F "Best: $seconds" ||
  fail "the search of one grid does not find $seconds"

# The days of the first strategy, and where nothing fits, what does.
point=(--platform frontier --batch-tokens 131072 --overlap none/oar,messages --nodes)
for model in gpt-5b gpt-175b; do
  for form in --json ""; do
    # shellcheck disable=SC2086
    "$fourfold" search "${point[@]}" 1 --model $model --tokens 1T $form >"$folder/$model${form#-}" 2>/dev/null ||
      [ $model = gpt-175b ]
  done
done
python3 - "$folder" "$fourfold" <<'PYTHON' || fail "neither days nor a way out"
import json, shlex, subprocess, sys
some, none = [json.load(open(f"{sys.argv[1]}/{model}-json")) for model in ("gpt-5b", "gpt-175b")]
days = 1e12 / 131072 * some["best"][0]["estimated_s"] / 86400
assert abs(some["run"]["days"] / days - 1) < 1e-9, (some["run"], days)
assert abs(some["run"]["device_hours"] / (24 * 8 * days) - 1) < 1e-9, some["run"]
assert "shortage" not in some and "run" not in none and not none["best"]
assert f"takes {days:.1f} days" in open(f"{sys.argv[1]}/gpt-5b").read(), days
lacks = none["shortage"]
assert lacks["point"]["grid"] == none["closest_miss"]["grid"], none["closest_miss"]
assert lacks["memory"]["peak_B"] > lacks["memory"]["limit_B"] and len(lacks["ways_out"]) > 1
text = open(f"{sys.argv[1]}/gpt-175b").read()
for way in lacks["ways_out"][:3]:
    assert "  " + way["command"] + "\n" in text, way["command"]
    words = shlex.split(way["command"])[1:] + ["--fidelity", "estimated", "--json"]
    ran = subprocess.run([sys.argv[2], *words], capture_output=True, text=True, check=True)
    one = json.loads(ran.stdout)
    assert abs(one["estimated_s"] / way["estimated_s"] - 1) < 1e-9 and one["memory_B"] == way["memory_B"], way
PYTHON

echo "spaces are searched"
