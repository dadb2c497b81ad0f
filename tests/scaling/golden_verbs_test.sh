#!/usr/bin/env bash
# What the main verbs say about the tests' own machines, word for word with tests/golden/verbs: text,
# pictures, tables, CSV and JSON. The new text of what differs is left in /tmp/golden-verbs.
source "$(dirname "${BASH_SOURCE[0]}")/command_line.sh"
source_folder=${FOURFOLD_SOURCE_DIR:?}
export FOURFOLD_PLATFORMS=$source_folder/tests/machines
left=${TMPDIR:-/tmp}/golden-verbs
cd "$folder"

# same NAME: compares the standard input with a golden text. Folders, clocks, what rounding leaves of a
# difference, and what a faster search need not count are taken out.
same() {
  sed -E "s|$folder|FOLDER|g; s/, about [0-9:]+ left//; s/-?[0-9.]+e-1[4-9]/0/g; s/, [0-9.]+ CPU s//
    s/^ +[0-9]+  (cannot be among|estimated$|out of memory)/  N  \1/" >"$folder/is"
  is_golden "$folder/is" "verbs/$1" "$left/$1" ||
    touch "$folder/differs"  # a variable would be the subshell's of a pipe
}

# A record without what a build or a clock puts into it, keys in order, numbers in nine digits.
values() {
  python3 -c '
import json, sys
volatile = {"provenance", "commit", "cpu_s", "wall_s", "peak_rss_MiB", "date", "made_at", "solver_s",
            "platform_hash", "replay_cpu_s", "path", "build", "host", "key"}
def plain(value):
    if isinstance(value, dict):
        return {k: plain(v) for k, v in sorted(value.items()) if k not in volatile}
    if isinstance(value, list):
        return [plain(v) for v in value]
    if isinstance(value, float):
        return float(f"{value:.9g}") if abs(value) > 1e-13 else 0
    return value
for line in sys.stdin:
    print(json.dumps(plain(json.loads(line)), indent=1))'
}

question=(--model gpt-5b --batch-tokens 262144)
"$fourfold" project --platform dragonfly "${question[@]}" --devices 64 --grid 4x2x2x4 --explain 2>&1 | same project.txt
"$fourfold" project --platform torus "${question[@]}" --grid x=2,z=4,data=2,pipe=4 --micro-batches 4 --zero 1 \
  --jitter 1% --slow-devices 1:0.5 --fidelity full --explain 2>&1 | same project_pipeline.txt
"$fourfold" project --platform dragonfly-plus "${question[@]}" --devices 32 --fidelity estimated --zero 0 \
  --sequence-parallel on 2>&1 | same project_search.txt
"$fourfold" project --platform fat-tree-2 --model gpt-5b --batch-tokens 393216 --devices 24 --grid 2x1x4x3 --micro-batches 2 \
  --fidelity estimated --scale node.nics.bandwidth_GBps=0.5 --json 2>/dev/null | values | same project.json
"$fourfold" search --platform fat-tree-2 --model gpt-5b --devices 48 --batch-tokens 393216 --stages all --best 8 \
  --zero 0,1,3 --micro-batches 1,2,4 2>&1 | same search.txt
"$fourfold" search --platform crossbar --model gpt-5b --devices 32 --batch-tokens 524288 --grid x=1,2,4,8,pipe=all \
  --micro-batch-size 1,2 --order 1f1b,gpipe,zero-bubble --recompute full,none --influence --output out 2>&1 |
  same search_influence.txt
"$fourfold" compare --platform fat-tree-3 --model gpt-5b --devices 64 --batch-tokens 524288 \
  --systems megatron-lm-2021,deepspeed-zero-3,pytorch-fsdp,axonn-4d --output systems 2>/dev/null | same compare.txt
same compare.csv <systems/summary.csv
"$fourfold" systems axonn-2022 2>&1 | same systems.txt
for order in 1f1b gpipe zero-bubble "interleaved --chunks 2" "message-driven --pipeline-limit 3"; do
  # The words of an order are flags.
  # shellcheck disable=SC2086
  "$fourfold" show order --stages 4 --micro-batches 8 --times 1,1.25,0.75 --order $order
done 2>&1 | same orders.txt
"$fourfold" show order --platform dragonfly "${question[@]}" --grid x=4,data=2,pipe=4 --micro-batches 8 \
  --svg order.svg 2>&1 | same order_on_machine.txt
same order.svg <order.svg
"$fourfold" show --model gpt2-mini --zero 2 --sequence-parallel on --recompute none 2>&1 | same program.txt
for group in "torus 6 3" "dragonfly 16 2" "fat-tree-3 64 1" "crossbar 4 1"; do
  read -r machine devices stride <<<"$group"
  "$fourfold" collectives --platform "$machine" --devices "$devices" --stride "$stride"
done 2>&1 | same collectives.txt
for machine in crossbar crossbar-private dragonfly dragonfly-plus fat-tree-2 fat-tree-3 torus; do
  "$fourfold" platforms show "$machine"
done 2>&1 | same platforms.txt

cat >campaign.toml <<'TOML'
title = "Two machines of the tests"
batch_tokens = 524_288
[options]
recompute = "none"
[[machine]]
platform = "dragonfly"
points = [{ devices = 16, model = "gpt2-124m" }, { devices = 32, model = "gpt2-124m" }]
[[machine]]
platform = "torus"
vocabulary = 32_000
points = [{ devices = 24, model = "gpt2-124m" }]
TOML
"$fourfold" campaign run campaign.toml --fidelity estimated --output campaign 2>/dev/null | same campaign.txt
same campaign.csv < <(cat campaign/summary.csv)
printf '%s\n' '#! bound_percent: 1000' '#! least_cases: 2' \
  'id,study,source,platform,n_gpus,layers,hidden,heads,seq,vocab,global_batch_sequences,tp,pp,dp,micro_batch,seconds' \
  'one,First study,me,fat-tree-3,8,24,2048,16,2048,51200,64,1,1,8,8,1' \
  'two,Second study,me,fat-tree-3,8,24,2048,16,2048,51200,64,2,2,2,8,2' >runs.csv
"$fourfold" validate --set runs.csv --csv rows.csv 2>/dev/null | same validate.txt
same validate.csv <rows.csv

[ ! -e "$folder/differs" ] || fail "read what differs; to take it over: cp $left/* tests/golden/verbs/"
echo "the main verbs say what they said"
