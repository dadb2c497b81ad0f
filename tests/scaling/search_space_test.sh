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
"$fourfold" search --space "$folder/space.toml" --influence --width 9cm --tokens 300B --json --output "$folder/out" \
  >"$folder/file.json" 2>/dev/null
cmp "$folder/file.json" "$folder/out/answer.json" && grep -q '"run":' "$folder/file.json" &&
  grep -q '^The first of them: .*days' "$folder/out/table.txt" || fail "another answer is kept than printed"
"$fourfold" search "${said[@]}" --wide --output "$folder/out" >"$folder/wide" 2>"$folder/notes"
cmp "$folder/wide" "$folder/out/table.txt" || fail "another table is kept than printed"
! compgen -G "$folder/out/influence.*" >/dev/null || fail "the influences of before are there"

# The command that an answer ends with is taken and projects the same, whatever was listed and asked.
python3 - "$fourfold" "$folder" <<'PYTHON' || fail "the command at the end is another question"
import json, random, re, shlex, subprocess, sys
draw, answered = random.Random(4), 0
drawn = ["--zero 0,1,3", "--precision fp32,bf16", "--recompute none,selective", "--sequence-parallel on,off",
         "--cut-messages on,off", "--attention fused,unfused", "--overlap none/oar,recompute/all",
         "--in-flight-blocks 2,1", "--recompute-layers 1,0", "--grad-precision-data bf16,fp32", "--precision fp32",
         "--scale network=0.5", "--scale devices=0.81234567", "--collective hierarchical", "--library cray-mpich",
         "--memory-risk 0.7", "--software megatron-core"]
grids = ["--devices 16 --stages 1,2", "--devices 8 --grid x=2,4,pipe=2", "--devices 12 --grid z=all"]
for _ in range(14):
    more = {one.split()[0]: one for one in draw.sample(drawn, 5)} | {"--weight-gather": "--weight-gather keep,per-pass"}
    words = " ".join(["--platform frontier --model tinyllama-1.1b --sequence 1024 --global-batch-size 96",
                      draw.choice(grids), *more.values()])
    run = lambda *of: subprocess.run([sys.argv[1], *of], capture_output=True, text=True)
    ran = run("search", *words.split(), "--output", sys.argv[2] + "/first")
    assert ran.returncode == 0, (words, ran.stderr)
    assert ("hierarchical" in ran.stdout.split("best by estimate")[0]) == ("--collective" in more), words
    command = re.search("^  fourfold (project .*)$", ran.stdout, re.M)[1]
    first, one = json.load(open(sys.argv[2] + "/first/answer.json"))["best"][0], run(
        *shlex.split(command), "--fidelity", "estimated", "--json")
    assert one.returncode == 0, (words, command, one.stderr)
    assert abs(json.loads(one.stdout)["estimated_s"] / first["estimated_s"] - 1) < 1e-9, (words, command)
    assert json.loads(one.stdout)["memory_B"] == first["memory_B"], (words, command)
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
refused "--width cannot take effect: without --output" "${point[@]}" --zero 0,1 --influence --width 9cm
refused "--grids-by cannot take effect: --grid says" "${point[@]}" --grid 2x2x2x2 --grids-by sc24-model
refused "all ranks and links as alike" "${point[@]}" --zero 0,1 --jitter 2%

# A grid of other devices is a rule, too, and nothing to draw.
run 1 search "${point[@]}" --grid x=2,z=2,data=2 --zero 0,1 --influence --output "$folder/none"
says "the other axes leave data = 4 of 16 devices, not 2"
says "no picture"

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
