#!/usr/bin/env bash
# `fourfold train` loses nothing unsaid: words that are no number, data of two kinds, data cut short
# while it is read or between runs, readers that leave early, signals to mpirun or to one rank; and what is refused leaves no folder behind.
set -euo pipefail
fourfold=${FOURFOLD_BIN_DIR:?}/fourfold
source "$(dirname "${BASH_SOURCE[0]}")/small_job.sh"
unset OPENBLAS_CORETYPE
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

fail() {
  echo "$*" >&2
  exit 1
}

# refused SENTENCE ARGUMENTS...: status 2, one sentence, and nothing new in the folder.
refused() {
  local sentence=$1 before said status=0
  shift
  before=$(ls)
  said=$("$fourfold" train "$@" 2>&1 >/dev/null) || status=$?
  if [ "$status" -ne 2 ] || [[ $said != "fourfold: "*"$sentence"* ]]; then
    fail "train $*: status $status, said: $said; expected: $sentence"
  fi
  [ "$(ls)" = "$before" ] || fail "train $* left something: $(ls)"
}

write_small_job "$work" 2
printf '\x88\x29\x35\x01%.0s' {1..400} >words.bin
refused "has an empty value" --resume ""
refused "'inf' is no number" --minutes inf
refused "'nan' is no number" --minutes nan
refused "is no whole number from 0 to" --seed -1
refused "is no whole number from 1 to" --batch 99999999999999999999
refused "a model learns one kind" --data text.txt --data words.bin
refused "nowhere does not exist" --resume nowhere --folder run
refused "cannot write newdir/log.jsonl" --log newdir/log.jsonl --model ./small.toml --data text.txt --folder run

# The default folder is where one works.
small=(--model ./small.toml --batch 8 --tokens 0 --print-every 1)
"$fourfold" train "${small[@]}" --data text.txt --ranks 1 --steps 2 --checkpoint-every 1 >out 2>&1 ||
  fail "a run in the default folder ended with $?: $(cat out)"
logs=$(find . -name log.jsonl)
[ -n "$logs" ] || fail "the default folder is not in the working directory"

# It goes on there, but not on other data, unless they are asked for.
run=$(dirname "${logs#./}")
cp text.txt kept.txt
sed -i 's/sea shore/sea floor/' text.txt
refused "the data has changed since $run/checkpoints was trained on it (then 1 text file, " --resume "$run" --steps 4
refused "the data has changed" --resume "$run/checkpoints/step-00000001.json" --data text.txt --steps 4
refused "are bytes, and those of words.bin are tokens; give --data FILE.txt" --resume "$run" --data words.bin --steps 4
"$fourfold" train --resume "$run" --data kept.txt --steps 3 >out 2>&1 || fail "no resume on named data: $(cat out)"
grep -q "with --data kept.txt instead of text.txt" out || fail "other data is not said: $(cat out)"
grep -q "^folder  *$run\$" out || fail "a resumed run is not in its folder: $(cat out)"
cp kept.txt text.txt
"$fourfold" train --resume "$run/checkpoints/step-00000002.json" --data text.txt --steps 3 --tokens 0 >out 2>&1 ||
  fail "no resume on the same words elsewhere: $(cat out)"
if grep -q "^folder  *$run\$" out; then fail "an older checkpoint's run is written over: $(cat out)"; fi
[ "$(find . -name log.jsonl | wc -l)" -eq 2 ] || fail "not a folder for each branch"

# A refused resume leaves no folder.
refused "leave --model out" --resume "$(dirname "$logs")" --model gpt-bytes --steps 20 --folder other

# A reader that leaves early is no failure, and is not spoken of.
for ranks in 1 2; do
  "$fourfold" train "${small[@]}" --data text.txt --ranks $ranks --steps 30 --folder "head-$ranks" 2>head.err |
    head -n 1 >/dev/null || fail "a reader that left early: status $?: $(cat head.err)"
  [ ! -s head.err ] || fail "a reader that left early: $(cat head.err)"
  [ -s "head-$ranks/checkpoints/step-00000030.json" ] || fail "a reader that left early ended the run"
done

# started NAME ARGUMENTS...: a run of two ranks that goes on until something happens to it; its
# first steps are over. Sets job.
started() {
  local name=$1 i
  shift
  "$fourfold" train "${small[@]}" --ranks 2 --steps 1000000 --folder "$name" "$@" >"$name.out" 2>"$name.err" &
  job=$!
  for ((i = 0; i < 1200; i++)); do
    if grep -qs '^step  *2 ' "$name.out"; then return; fi
    sleep 0.1
  done
  fail "$name never came to step 2: $(cat "$name.out" "$name.err")"
}

# ended STATUS NAME
ended() {
  local status=0
  wait "$job" || status=$?
  [ "$status" -eq "$1" ] || fail "$2: status $status, not $1: $(cat "$2.err")"
}

# Data that gets shorter under a run.
for ((i = 0; i < 40000; i++)); do echo "the quick brown fox jumps over the lazy dog $i"; done >long.txt
started cut --data long.txt
truncate -s 1000 long.txt
ended 2 cut
grep -q "^fourfold: .*long.txt has become shorter while it was used" cut.err || fail "cut data: $(cat cut.err)"

# Whoever gets the signal, the run is stopped.
for who in mpirun rank; do
  started "$who" --data text.txt
  launcher=$(pgrep -P "$job")
  if [ $who = mpirun ]; then kill -INT "$launcher"; else kill -TERM "$(pgrep -P "$launcher" | tail -n 1)"; fi
  ended 130 "$who"
done
echo "nothing is lost"
