#!/usr/bin/env bash
# fourfold platforms template: a machine of one's own in three commands, for every topology; what a
# file gets wrong is said at once, and what it leaves open beside the answer.
source "$(dirname "${BASH_SOURCE[0]}")/command_line.sh"
mine=$folder/my.toml
ask=(--model gpt-5b --devices 64 --batch-tokens 262144)

for topology in crossbar dragonfly dragonfly-plus fat-tree torus; do
  "$fourfold" platforms template --topology "$topology" >"$mine"
  "$fourfold" platforms show "$mine" | heard '128 nodes x 8 = 1024 devices' ||
    fail "$topology: cannot be shown"
  "$fourfold" project --platform "$mine" "${ask[@]}" --at-most-grids 1 2>/dev/null |
    grep -q 'one batch' || fail "$topology: cannot be simulated"
done
"$fourfold" platforms template | heard '^kind = "fat-tree"' || fail "the default is a fat tree"
said=$("$fourfold" platforms template --topology fattree 2>&1) && fail "fattree was accepted"
[[ $said == *'did you mean "fat-tree"?'* ]] || fail "fattree: said: $said"

sed -e 's/^nodes = /noddes = /' "$mine" >"$folder/wrong.toml"
sed -i 's/^memory_GB = /memory_Gb = /' "$folder/wrong.toml"
said=$("$fourfold" platforms show "$folder/wrong.toml" 2>&1) && fail "wrong keys were accepted"
[[ $said == *'2 keys are unknown or missing'*'"noddes"'*'"processor.memory_Gb"'* ]] ||
  fail "wrong keys: said: $said"

# Without the row of one device the row of eight stands for it, which is said beside the answer.
sed '/devices = 1, bus_bandwidth_GBps/d' "$mine" >"$folder/open.toml"
"$fourfold" project --platform "$folder/open.toml" "${ask[@]}" --fidelity estimated --json \
  >"$folder/answer" 2>"$folder/notes"
grep -q '^note: library.across of open starts at 8 devices per node' "$folder/notes" ||
  fail "no note on extrapolation: $(cat "$folder/notes")"
python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$folder/answer"
echo "the template of every topology is a machine"
