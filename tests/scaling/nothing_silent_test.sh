#!/usr/bin/env bash
# Nothing is lost unsaid: closed and full standard streams, inputs that are no files, absurd keys and
# numbers, pictures on a full disk, and one table of exit statuses that the verbs keep.
source "$(dirname "${BASH_SOURCE[0]}")/command_line.sh"
cd "$folder"

cat >small.toml <<'TOML'
title = "small"
fidelity = "estimated"
batch_tokens = 1_048_576
[[machine]]
platform = "perlmutter"
points = [{ devices = 16, model = "gpt2-124m" }]
TOML
of=(--devices 16 --batch-tokens 1048576 --fidelity estimated)
point=(--platform perlmutter --model gpt2-124m "${of[@]}")

# ends STATUS SENTENCE ARGUMENTS...: fourfold ARGUMENTS ends so and says the sentence on standard error,
# in 2 GB and 100 s.
ends() {
  local expected=$1 sentence=$2 status=0
  shift 2
  (ulimit -v 2000000 && exec timeout 100 "$fourfold" "$@" >out 2>err </dev/null) || status=$?
  [ "$status" -eq "$expected" ] || fail "fourfold $*: status $status, not $expected: $(cat err)"
  [ -z "$sentence" ] || heard -F -- "$sentence" err || fail "fourfold $* does not say '$sentence': $(cat err)"
}

# The table of statuses, which --help has, too.
ends 0 "" project "${point[@]}"
ends 1 "fits no grid" project --platform perlmutter --model gpt-640b --devices 8 --fidelity estimated
ends 1 "needs at least" project --platform perlmutter --model gpt-640b --grid 2x2x2x1 --fidelity estimated
ends 2 "unknown platform" project "${of[@]}" --platform nowhere --model gpt-5b
ends 2 "a verb is missing" campaign
ends 2 "cannot read nowhere.toml" campaign run nowhere.toml

# An option that could not take effect is refused, and says beside what it would.
ends 2 "--best cannot take effect" search "${point[@]}" --best 3
ends 2 "--wide cannot take effect without --explain" project "${point[@]}" --wide
ends 2 "--platform cannot take effect without --set here" validate --set layers --platform frontier
ends 2 "--transport cannot take effect without --set here" validate --set layers --transport auto
ends 2 "--set layers is given twice" validate --set layers --set layers
ends 2 "--intervals needs runs of at least" validate --set layers --intervals
ends 2 "no point of the campaign is on 77 devices; there are 16" campaign run small.toml --devices 77
ends 2 "--launch cannot take effect: it starts ranks of measured points" campaign run small.toml \
  --launch 'srun --ntasks={ranks}'
for flag in "--model gpt-5b" "--sequences 2" "--grid 2x1x1x1"; do
  # shellcheck disable=SC2086
  ends 2 "${flag% *} has no effect beside --shapes" bench gemm --shapes nn:8x8x8 $flag
done
[ ! -e results ] || fail "a campaign that is refused leaves something: $(find results)"
for flag in "--order interleaved" "--chunks 2" "--layers-per-stage 1"; do
  # shellcheck disable=SC2086
  ends 2 "unknown flag '${flag% *}'" show --model gpt-5b $flag
done
ends 2 "as scaled: nodes is 1.536, but it must be a whole number; the file says 1536" project "${point[@]}" \
  --scale nodes=0.001
echo own >trace.txt
ends 2 "trace.txt is there already and is no trace" project "${point[@]}" --grid 1x1x4x4 --trace trace.txt
[ "$(cat trace.txt)" = own ] || fail "a trace is written over a text"
"$fourfold" project --help | heard '^Exit status: 0 done; 1 the answer is no; 2 could not; 130' ||
  fail "--help has no table of statuses"

# Streams that are closed take no file's place; what is answered into nothing is an error.
status=0
"$fourfold" campaign run small.toml --output closed >&- 2>err || status=$?
[ "$status" -eq 2 ] || fail "a closed standard output ends with status $status"
grep -q "standard output is closed" err || fail "a closed standard output is not said: $(cat err)"
"$fourfold" campaign run small.toml --output closed 2>&- <&- >out || fail "closed standard error: status $?"
grep -q "^perlmutter" out || fail "the table is not printed: $(cat out)"
while IFS= read -r line; do
  [[ $line == {*} ]] || fail "records.jsonl holds what is no record: $line"
done <closed/records.jsonl
status=0
"$fourfold" campaign run small.toml --output closed >/dev/full 2>err || status=$?
[ "$status" -eq 2 ] || fail "a full standard output ends with status $status"
"$fourfold" campaign run small.toml --output closed >out 2>/dev/full || fail "full standard error: status $?"
for program in engine replay; do
  status=0
  "$fourfold-$program" --help >&- 2>err || status=$?
  if [ "$status" -ne 2 ] || ! grep -q "standard output is closed" err; then
    fail "fourfold-$program with a closed standard output: status $status, $(cat err)"
  fi
done

# Pictures that the disk, here a limit of 8 KiB a file, has no room for.
if command -v gnuplot >/dev/null; then
  status=0
  (ulimit -f 8 && exec "$fourfold" campaign run small.toml --output full >out 2>err) || status=$?
  [ "$status" -eq 2 ] || fail "pictures on a full disk end with status $status: $(cat err)"
  grep -q "cannot draw .*full" err || fail "a full disk is not said: $(cat err)"
  [ -z "$(find full -name '*.png' -o -name '*.svg')" ] || fail "broken pictures are left: $(ls full)"
  [ -s full/table.txt ] || fail "the table is lost with the pictures"
fi

# What is no file is refused unread.
mkfifo pipe pipe.toml pipe.csv
ends 2 "it is no plain file" campaign run pipe
ends 2 "it is no plain file" show --model ./pipe.toml
ends 2 "it is no plain file" project "${of[@]}" --platform ./pipe.toml --model gpt-5b
ends 2 "it is no plain file" project "${point[@]}" --software ./pipe.toml
ends 2 "it is no plain file" project "${point[@]}" --system ./pipe.toml
ends 2 "it is no plain file" validate --set ./pipe.csv
ends 2 "it is no plain file" validate --against pipe
simulated=(project --platform frontier --model gpt-5b --devices 8 --grid 4x2x1x1)
ends 2 "it is no plain file" "${simulated[@]}" --placement nodes:/dev/zero
ends 2 "it is no plain file" "${simulated[@]}" --placement nodes:pipe
{ echo 'published_csv = "/dev/zero"'; cat small.toml; } >zero.toml
ends 2 "it is no plain file" campaign run zero.toml
ends 2 "it is no plain file" collectives --platform frontier --measured /dev/zero

# A key that would overflow a parser's stack.
{ printf 'a%.0s.' $(seq 50000); echo 'a = 1'; } >deep.toml
for words in "campaign run deep.toml" "show --model ./deep.toml" "systems ./deep.toml" "software ./deep.toml" \
  "platforms show ./deep.toml" "search --space deep.toml"; do
  # shellcheck disable=SC2086
  ends 2 "deep.toml, line 1: a key has more than 16 parts" $words
done

# Words that no number, text or file can be.
ends 2 "'1e999' is no number" show order --stages 4 --micro-batches 8 --times 1,1,1e999
ends 2 "has an empty value" project "${point[@]}" --trace ''
ends 2 "has an empty value" campaign run small.toml --output ''
ends 2 "is no whole number" platforms export frontier --simgrid-xml --devices 99999999999999999999
ends 2 "is no text in UTF-8" project "${of[@]}" --platform perlmutter --model $'gpt\xff'
ends 2 "is no text in UTF-8" sample --checkpoint nowhere --prompt $'a\xffb'
ends 2 "fourfold models template" project "${of[@]}" --platform perlmutter --model gpt-7b

# The same link is named once.
ends 2 "'nic:0.0' is named twice" "${simulated[@]}" --fail nic:0.0 --fail nic:0.0

# A factor on links that the job has nothing on: of other nodes, of other groups.
ends 2 "--scale node.nics.bandwidth_GBps=0.5 cannot take effect" project "${of[@]:2}" --platform perlmutter \
  --model gpt2-124m --grid 4x1x1x1 --scale node.nics.bandwidth_GBps=0.5
ends 2 "--scale network.global_bandwidth=0.5 cannot take effect" project "${point[@]}" \
  --scale network.global_bandwidth=0.5
ends 2 "--scale nics=0.5 scales what belongs together" project "${point[@]}" \
  --scale node.nics.bandwidth_GBps=0.5
ends 0 "" project "${point[@]}" --scale nics=0.5

echo "nothing is silent"
