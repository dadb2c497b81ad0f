#!/usr/bin/env bash
# What comes next is always there: show and template of everything that has files, templates that are
# taken as they are, days of a run, where a trace opens, tables for papers, CSV columns that docs explain,
# and points that nothing fits said once.
source "$(dirname "${BASH_SOURCE[0]}")/command_line.sh"
cd "$folder"

for of in "models gpt-5b" "systems megatron-core" "software fused" "platforms frontier"; do
  read -r verb name <<<"$of"
  "$fourfold" "$verb" show "$name" >shown 2>err || fail "$verb show $name: $(cat err)"
  "$fourfold" "$verb" show "$name" --json | python3 -m json.tool >/dev/null || fail "$verb show $name --json"
  "$fourfold" "$verb" template >"my-$verb.toml" 2>err || fail "$verb template: $(cat err)"
  "$fourfold" "$verb" show "my-$verb.toml" >/dev/null 2>err || fail "the template of $verb: $(cat err)"
done
"$fourfold" campaign template >my.toml
"$fourfold" campaign run my.toml --output my >table 2>err || fail "the template of a campaign: $(cat err)"
"$fourfold" campaign export my.toml --output my --latex >my.tex || fail "no LaTeX"
grep -q '\\begin{tabular}' my.tex && grep -q 'gpt-10b &' my.tex || fail "no table for LaTeX: $(cat my.tex)"

# Machines of drawn shapes.
for shape in "4 4 256 fat-tree" "72 18 16 fat-tree" "8 2 1000 dragonfly" "1 1 64 torus" "6 3 40 dragonfly-plus" \
  "64 8 4 fat-tree" "4 1 32 crossbar" "2 2 3 fat-tree"; do
  read -r devices nics nodes network <<<"$shape"
  "$fourfold" platforms template --devices-per-node "$devices" --nics "$nics" --nodes "$nodes" \
    --topology "$network" >machine.toml 2>err || fail "template $shape: $(cat err)"
  "$fourfold" project --platform machine.toml --model gpt2-124m --batch-tokens 262144 --fidelity estimated \
    --grid "2x1x1x$((devices * nodes >= 128 ? 64 : 2))" --json >answer.json 2>err || fail "a machine of $shape: $(cat err)"
done

# Columns of all CSV files stand in docs/records.md.
cat >figures.toml <<'TOML'
title = "figures"
fidelity = "simulated"
batch_tokens = 524_288
figures = ["strong", "systems", "lines", "machines", "ranks", "time"]
[[sweep]]
list = [{ label = "as it is" }, { label = "slow", what_if = { slow_devices = "1:0.5" } }]
[[machine]]
platform = "summit"
points = [
  { devices = 2, model = "gpt2-124m", grid = "1x1x1x2", micro_batches = 64 },
  { devices = 4, model = "gpt2-355m", grid = "1x1x1x4", micro_batches = 64 },
]
TOML
"$fourfold" campaign run figures.toml --output figures >table 2>err || fail "a campaign of all figures: $(cat err)"
for csv in figures/*.csv; do
  for column in $(head -n 1 "$csv" | tr ',' ' '); do
    grep -q "\`$column\`" "$FOURFOLD_SOURCE_DIR/docs/records.md" ||
      fail "column $column of ${csv##*/} stands not in docs/records.md"
  done
done
if grep -Eq "published|Kendall|[Tt]en best" table; then fail "tables speak of what there is not: $(cat table)"; fi
python3 - <<'PYTHON' || fail "parts do not add up to the batch"
import csv
parts = ["compute_s", "exposed_x_s", "exposed_y_s", "exposed_z_s", "exposed_data_s", "exposed_pipe_s", "bubble_s", "other_s"]
for row in csv.DictReader(open("figures/summary.csv")):
    assert abs(sum(float(row[part]) for part in parts) / float(row["batch_s"]) - 1) < 1e-6
PYTHON

# Weak scaling against the first row, in model flop/s.
cat >weak.toml <<'TOML'
title = "weak"
fidelity = "estimated"
batch_tokens = 1_048_576
tokens = "100B"
figures = ["strong"]
[[machine]]
platform = "frontier"
points = [{ devices = 16, model = "gpt2-355m" }, { devices = 64, model = "gpt2-774m" }, { devices = 256, model = "gpt2-1558m" }]
TOML
"$fourfold" campaign run weak.toml --output weak >table 2>err || fail "weak scaling: $(cat err)"
python3 - <<'PYTHON' || fail "efficiency is not against the first row"
import csv
rows = list(csv.DictReader(open("weak/summary.csv")))
told = list(csv.DictReader(open("weak/strong.csv")))
rate = lambda row: float(row["flop_per_s"]) / int(row["devices"])
assert len(told) == 3 and len({row["series"] for row in told}) == 1, told
for row, one in zip(rows, told):
    assert abs(float(one["efficiency"]) - rate(row) / rate(rows[0])) < 1e-6
assert any(abs(float(one["efficiency"]) - 1) > 1e-3 for one in told)
PYTHON

# Without tokens the efficiency stands in the table, too; a grid that is stated is given, another is not.
sed -e '/^tokens/d' -e 's/model = "gpt2-774m"/model = "gpt2-774m", grid = "1x1x1x64"/' weak.toml >plain.toml
"$fourfold" campaign run plain.toml --output plain >table 2>err || fail "weak scaling without tokens: $(cat err)"
python3 - <<'PYTHON' || fail "the table has not the efficiency of $(cat table)"
import csv
rows = list(csv.DictReader(open("plain/summary.csv")))
rate = lambda row: float(row["flop_per_s"]) / int(row["devices"])
table = open("table").read()
lines = table[table.index("efficiency"):].splitlines()
for row in rows:
    line = next(line for line in lines if row["model"] in line)
    assert f"{100 * rate(row) / rate(rows[0]):.1f}" in line.split(), line
assert [row["given"] for row in rows] == ["0", "1", "0"], rows
PYTHON

# What fits nowhere is said, stays in the table and is not tried again.
sed 's/devices = 256, model = "gpt2-1558m"/devices = 32, model = "gpt-640b"/' weak.toml >large.toml
for turn in first second; do
  status=0
  "$fourfold" campaign run large.toml --output large >table 2>err || status=$?
  [ "$status" -eq 1 ] || fail "$turn run of what fits nowhere ends with $status: $(cat err)"
  grep -q "Without an answer, as nothing fits:" table || fail "the $turn table lacks what fits nowhere"
  grep -Eq "^frontier +32 +gpt-640b +fits nowhere" table || fail "the $turn table has no row of what fits nowhere"
  grep -q "fits nowhere: frontier 32 gpt-640b" large/strong.svg || fail "the figure does not say what fits nowhere"
  if grep -q "tried again" err; then fail "what fits nowhere is said to be tried again"; fi
done
"$fourfold" campaign export large.toml --output large --latex | heard 'gpt-640b & fits nowhere &' ||
  fail "LaTeX lacks what fits nowhere"
"$fourfold" campaign status large.toml --output large >out || true
grep -q "2 of 3 points answered, 0 failed, 1 without a grid that fits, 0 not run yet" out || fail "status: $(cat out)"
grep -q " 0 to run" err || fail "what fits nowhere is tried again: $(cat err)"

point=(--platform summit --model gpt2-124m --grid 1x1x1x2 --batch-tokens 262144)
"$fourfold" project "${point[@]}" --tokens 2T --fidelity estimated >out 2>err || fail "--tokens: $(cat err)"
grep -q "A run of 2.00T tokens takes .* days and .* device-hours" out || fail "no days of a run: $(cat out)"
"$fourfold" project "${point[@]}" --trace step.json >out 2>err || fail "--trace: $(cat err)"
grep -q "step.json: .* of 2 devices, .* % of the .* s of their step written out.*ui.perfetto.dev" err ||
  fail "no word of the trace: $(cat err)"
echo "next steps are there"
