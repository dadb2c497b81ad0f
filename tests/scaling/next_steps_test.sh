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
for shape in "72 18 16 fat-tree" "8 2 1000 dragonfly" "1 1 64 torus" "6 3 40 dragonfly-plus" "4 1 32 crossbar"; do
  read -r devices nics nodes network <<<"$shape"
  "$fourfold" platforms template --devices-per-node "$devices" --nics "$nics" --nodes "$nodes" \
    --topology "$network" >machine.toml 2>err || fail "template $shape: $(cat err)"
  "$fourfold" project --platform machine.toml --model gpt2-124m --batch-tokens 262144 --fidelity estimated \
    --grid "2x1x1x$((devices * nodes >= 128 ? 64 : 2))" --json >answer.json 2>err || fail "a machine of $shape: $(cat err)"
done

# Of a node that was seen, in the network that is asked for.
printf '%s\n' 'GPU0 GPU1 CPU' 'GPU0 X NV4 0' 'GPU1 NV4 X 0' >topo.txt
"$fourfold" platforms template --from-nvidia-smi-topo topo.txt --nodes 37 --topology dragonfly >seen.toml 2>err ||
  fail "template of a node: $(cat err)"
[ "$(grep -cE '^nodes = .*37|^kind = "dragonfly"' seen.toml)" = 2 ] || fail "not as asked: $(cat seen.toml)"

# What a file gets wrong is said at once, and what it leaves open beside the answer: without the row of one
# device the row of eight stands for it.
said=$("$fourfold" platforms template --topology fattree 2>&1) && fail "fattree was accepted"
[[ $said == *'did you mean "fat-tree"?'* ]] || fail "fattree: said: $said"
sed -e 's/^nodes = /noddes = /' -e 's/^memory_GB = /memory_Gb = /' my-platforms.toml >wrong.toml
said=$("$fourfold" platforms show wrong.toml 2>&1) && fail "wrong keys were accepted"
[[ $said == *'2 keys are unknown or missing'*'"noddes"'*'"processor.memory_Gb"'* ]] || fail "wrong keys: said: $said"
sed '/devices = 1, bus_bandwidth_GBps/d' my-platforms.toml >open.toml
"$fourfold" project --platform open.toml --model gpt-5b --devices 64 --batch-tokens 262144 --fidelity estimated \
  --json 2>err | python3 -m json.tool >/dev/null || fail "no answer: $(cat err)"
grep -q '^note: library.across of open starts at 8 devices per node' err || fail "no note: $(cat err)"

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

cat >weak.toml <<'TOML'
title = "weak"
fidelity = "estimated"
batch_tokens = 1_048_576
tokens = "100B"
figures = ["strong"]
[[machine]]
platform = "frontier"
points = [
  { devices = 16, model = "gpt2-355m" },
  { devices = 64, model = "gpt2-774m", grid = "1x1x1x64" },
  { devices = 256, model = "gpt2-1558m" },
]
TOML
"$fourfold" campaign run weak.toml --output weak >table 2>err || fail "weak scaling: $(cat err)"
python3 -c 'import csv; print(*[row["given"] for row in csv.DictReader(open("weak/summary.csv"))])' | heard -x "0 1 0" ||
  fail "the grid that is stated is not the one that is given"

# What fits nowhere is said, stays in the table and is not tried again.
sed 's/devices = 256, model = "gpt2-1558m"/devices = 32, model = "gpt-640b"/' weak.toml >large.toml
run 1 campaign run large.toml --output large
says "Without an answer, as nothing fits:"
grep -Eq "^frontier +32 +gpt-640b +fits nowhere" said || fail "the table has no row of what fits nowhere"
grep -q "fits nowhere: frontier 32 gpt-640b" large/strong.svg || fail "the figure does not say what fits nowhere"
run 1 campaign run large.toml --output large
says " 0 to run"
if grep -q "tried again" said; then fail "what fits nowhere is said to be tried again"; fi
"$fourfold" campaign export large.toml --output large --latex | heard 'gpt-640b & fits nowhere &' ||
  fail "LaTeX lacks what fits nowhere"
run 1 campaign status large.toml --output large
says "2 of 3 points answered, 0 failed, 1 without a grid that fits, 0 not run yet"

point=(--platform summit --model gpt2-124m --grid 1x1x1x2 --batch-tokens 262144)
run 0 project "${point[@]}" --tokens 2T --fidelity estimated
grep -q "A run of 2.00T tokens takes .* days and .* device-hours" said || fail "no days of a run"
run 0 project "${point[@]}" --trace step.json
grep -q "step.json: .* of 2 devices, .* % of the .* s of their step written out.*ui.perfetto.dev" said ||
  fail "no word of the trace"
echo "next steps are there"
