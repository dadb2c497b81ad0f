#!/usr/bin/env bash
# `fourfold train` loses nothing unsaid: words that are no number, data of two kinds, data cut short
# or damaged while it is read or between runs, a full log, updates that make numbers unsound, readers
# that leave early, signals to mpirun or to one rank; and what is refused leaves no folder behind.
source "$(dirname "${BASH_SOURCE[0]}")/small_job.sh"

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

# started NAME ARGUMENTS...: a run of two ranks, or $ranks, that goes on until something happens to
# it; its first steps are over. Sets job.
ranks=2
started() {
  local name=$1 i
  shift
  "$fourfold" train "${small[@]}" --ranks $ranks --steps 1000000 --folder "$name" "$@" >"$name.out" 2>"$name.err" &
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

# left_saved NAME SENTENCE: one sentence on standard error, which names the checkpoint of the last
# step that was whole; a run goes on from it.
left_saved() {
  local step
  if [ "$(wc -l <"$1.err")" -ne 1 ] || ! grep -q "^fourfold: .*$2.*; step [0-9]* is saved: --resume $1/checkpoints/step-" "$1.err"; then
    fail "$1: $(cat "$1.err")"
  fi
  step=$(sed 's/.*; step \([0-9]*\) is saved.*/\1/' "$1.err")
  shift 2
  "$fourfold" train --resume "$name" "$@" --steps $((step + 2)) --minutes 0 >again.out 2>&1 ||
    fail "$name does not go on: $(cat again.out)"
  grep -q "^step  *$((step + 2)) .*checkpoint" again.out || fail "$name did not go on from step $step: $(cat again.out)"
}

# Data that gets shorter, is damaged or cannot be read any more under a run, on one rank and two.
for ((i = 0; i < 40000; i++)); do echo "the quick brown fox jumps over the lazy dog $i"; done >whole.txt
for ((i = 0; i < 20000; i++)); do printf 'a\0b\0c\0d\0'; done >whole.bin
head -c 160000 /dev/zero | tr '\0' '\377' >damaged.bin
for ranks in 1 2; do
  for damage in cut gone word; do
    name=$damage-$ranks file=long.txt
    [ $damage != word ] || file=long.bin
    cp "whole${file#long}" $file
    started $name --data $file
    case $damage in
      cut) truncate -s 1000 $file && sentence="long.txt has become shorter while it was used" ;;
      gone) rm $file && sentence="long.txt cannot be read: No such file" ;;
      word) dd if=damaged.bin of=$file conv=notrunc status=none && sentence="long.bin holds token 65535 at place" ;;
    esac
    ended 2 $name
    cp "whole${file#long}" $file
    left_saved $name "$sentence"
  done
done

# A log whose disk is full, where the user may mount one: what was trained is saved.
mkdir disk
if mount -t tmpfs -o size=64k fourfold-test disk 2>/dev/null; then
  disk=$work/disk
  for ranks in 1 2; do
    name=full-$ranks status=0
    "$fourfold" train "${small[@]}" --data text.txt --ranks $ranks --steps 1000000 --log disk/log.jsonl \
      --folder $name >$name.out 2>$name.err || status=$?
    [ $status -eq 2 ] || fail "a full disk for the log: status $status: $(cat $name.err)"
    left_saved $name "cannot write the log disk/log.jsonl: No space left on device"
    rm disk/log.jsonl
  done
fi

# An update that makes numbers unsound is not saved, and is no success.
for steps in 1 3; do
  name=unsound-$steps status=0
  "$fourfold" train "${small[@]}" --data text.txt --ranks 2 --steps $steps --learning-rate 1e30 --warm-up 0 \
    --folder $name >$name.out 2>$name.err || status=$?
  if [ $status -ne 2 ] || ! grep -q "^fourfold: training has diverged: .*lower --learning-rate" $name.err; then
    fail "an unsound update: status $status: $(cat $name.err)"
  fi
  [ -z "$(find $name -name 'step-*')" ] || fail "an unsound update is saved: $(find $name -name 'step-*')"
done
ranks=2

# Whoever gets the signal, the run is stopped.
for who in mpirun rank; do
  started "$who" --data text.txt
  launcher=$(pgrep -P "$job")
  if [ $who = mpirun ]; then kill -INT "$launcher"; else kill -TERM "$(pgrep -P "$launcher" | tail -n 1)"; fi
  ended 130 "$who"
done
echo "nothing is lost"
