#!/usr/bin/env bash
# No verb prints a line of more than 120 characters unless --wide asks for it, but `show`: a program is
# one operation a line; and a command that is there to be copied is one line.
source "$(dirname "${BASH_SOURCE[0]}")/command_line.sh"
cd "$folder"

# fits ARGUMENTS...: fourfold ARGUMENTS prints no wider line, to both streams.
fits() {
  "$fourfold" "$@" >said 2>&1 || fail "fourfold $* ended with $?: $(tail -n 3 said)"
  # In characters, not bytes.
  local widest
  widest=$(LC_ALL=C.UTF-8 awk 'length($0) > 120 && !/^  fourfold / {print; exit}' said)
  [ -z "$widest" ] || fail "fourfold $* prints $(LC_ALL=C.UTF-8 awk '{print length($0)}' <<<"$widest") characters: $widest"
}

cat >study.toml <<'TOML'
title = "two points"
batch_tokens = 4_194_304
published_csv = "rows.csv"
[[machine]]
platform = "perlmutter"
points = [{ devices = 64, model = "gpt-5b" }, { devices = 4096, model = "gpt-40b" }]
[[machine]]
platform = "frontier"
points = [{ devices = 2048, model = "gpt-20b" }]
TOML
printf '%s\n' '# source: made up' 'machine,devices,model,batch_s,pflops' 'frontier,2048,gpt-20b,9,' \
  'perlmutter,4096,gpt-40b,,753' >rows.csv
point=(--platform frontier --model gpt-22b --batch-tokens 1048576 --fidelity estimated)
fits campaign run study.toml --fidelity estimated --output out
awk 'length($0) > 120 {found = 1} END {exit !found}' out/table.txt || fail "table.txt has not all columns"
fits compare --platform summit --model gpt-12b --devices 48 --batch-tokens 1048576 --output systems \
  --systems axonn-2022,deepspeed-3d,megatron-lm-2021 --fidelity estimated --recompute full
fits project "${point[@]}" --devices 64 --explain
fits project --platform selene --model gpt-1t-selene --grid x=8,data=6,pipe=64 --order interleaved --chunks 2 \
  --micro-batches 64 --batch-tokens 786432 --fidelity estimated --explain
fits project "${point[@]}" --grid x=8,data=8 --system megatron-core
fits project --platform frontier --model gpt-5b --devices 16 --batch-tokens 1048576 --jitter 2% \
  --slow-devices 1:0.5 --explain
fits search "${point[@]}" --devices 64 --recompute full --weight-gather keep
fits search "${point[@]}" --devices 16 --recompute full --weight-gather keep --stages all --order 1f1b,interleaved --chunks 1,2 --zero 0,1 --influence
fits collectives --platform frontier --devices 8 --stride 8
for of in platforms models software systems; do
  for name in $("$fourfold" "$of" --json | python3 -c 'import json, sys; print(*[one["name"] for one in json.load(sys.stdin)])'); do
    fits "$of" show "$name"
  done
done
for words in models "models template" systems software platforms; do
  # shellcheck disable=SC2086
  fits $words
done
fits validate --set known_runs
fits show order --stages 4 --micro-batches 8
printf 'layers = 1\nhidden = 16\nheads = 2\nsequence_tokens = 16\nvocabulary = 256\n' >tiny.toml
for _ in $(seq 300); do echo "the quick brown fox jumps over the lazy dog"; done >text.txt
fits train --model ./tiny.toml --data text.txt --ranks 2 --steps 3 --batch 4 --tokens 20 --folder run
fits train --resume run --steps 5 --batch 8 --tune-kernels --folder again --tokens 0
echo "all fits a page"
