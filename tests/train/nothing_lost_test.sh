#!/usr/bin/env bash
# `fourfold train` loses nothing unsaid: data cut short or damaged while it is read or between runs, a
# full log, updates that make numbers unsound, readers that leave early.
source "$(dirname "${BASH_SOURCE[0]}")/small_job.sh"
write_small_job "$work" 2
printf '\x88\x29\x35\x01%.0s' {1..400} >words.bin

# The default folder is where one works.
small=(--model ./small.toml --batch 8 --tokens 0 --print-every 1)
"$fourfold" train "${small[@]}" --data text.txt --ranks 1 --steps 2 --checkpoint-every 1 >out 2>&1 ||
  fail "a run in the default folder ended with $?"
logs=$(find . -name log.jsonl)
[ -n "$logs" ] || fail "the default folder is not in the working directory"

# It goes on there, but not on other data, unless they are asked for.
run=$(dirname "${logs#./}")
cp text.txt kept.txt
sed -i 's/sea shore/sea floor/' text.txt
again=(train --resume "$run" --steps 4)
refused "the data has changed since $run/checkpoints was trained on it (then 1 text file, " "${again[@]}"
refused "the data has changed" train --resume "$run/checkpoints/step-00000001.json" --data text.txt --steps 4
refused "are bytes, and those of words.bin are tokens; give --data FILE.txt" "${again[@]}" --data words.bin
refused "leave --model out" "${again[@]}" --model gpt-bytes --folder other
"$fourfold" train --resume "$run" --data kept.txt --steps 3 >out 2>&1 || fail "no resume on named data"
grep -q "with --data kept.txt instead of text.txt" out || fail "other data is not said: $(cat out)"
grep -q "^folder  *$run\$" out || fail "a resumed run is not in its folder: $(cat out)"
cp kept.txt text.txt
"$fourfold" train --resume "$run/checkpoints/step-00000002.json" --data text.txt --steps 3 --tokens 0 >out 2>&1 ||
  fail "no resume on the same words elsewhere"
if grep -q "^folder  *$run\$" out; then fail "an older checkpoint's run is written over: $(cat out)"; fi
[ "$(find . -name log.jsonl | wc -l)" -eq 2 ] || fail "not a folder for each branch"

# A reader that leaves early is no failure, and is not spoken of.
for count in 1 2; do
  "$fourfold" train "${small[@]}" --data text.txt --ranks $count --steps 30 --folder "head-$count" 2>head.err |
    head -n 1 >/dev/null || fail "a reader that left early: status $?"
  [ ! -s head.err ] || fail "a reader that left early is spoken of"
  [ -s "head-$count/checkpoints/step-00000030.json" ] || fail "a reader that left early ended the run"
done

# left_saved NAME SENTENCE: one sentence on standard error, which names the checkpoint of the last
# step that was whole; a run goes on from it.
left_saved() {
  local step
  if [ "$(wc -l <"$1.err")" -ne 1 ] || ! grep -q "^fourfold: .*$2.*; step [0-9]* is saved: --resume $1/checkpoints/step-" "$1.err"; then
    fail "$1: $(cat "$1.err")"
  fi
  step=$(sed 's/.*; step \([0-9]*\) is saved.*/\1/' "$1.err")
  "$fourfold" train --resume "$1" --steps $((step + 2)) --minutes 0 >again.out 2>&1 || fail "$1 does not go on"
  grep -q "^step  *$((step + 2)) .*checkpoint" again.out || fail "$1 did not go on from step $step"
}

# Data that gets shorter, is damaged or cannot be read any more under a run, on one rank and two.
for ((i = 0; i < 40000; i++)); do echo "the quick brown fox jumps over the lazy dog $i"; done >whole.txt
for ((i = 0; i < 20000; i++)); do printf 'a\0b\0c\0d\0'; done >whole.bin
head -c 160000 /dev/zero | tr '\0' '\377' >damaged.bin
for count in 1 2; do
  for damage in cut gone word; do
    name=$damage-$count file=long.txt
    [ $damage != word ] || file=long.bin
    cp "whole${file#long}" $file
    started $name "${small[@]}" --ranks $count --steps 1000000 --data $file
    case $damage in
      cut) truncate -s 1000 $file && sentence="long.txt has become shorter while it was used" ;;
      gone) rm $file && sentence="long.txt cannot be read: No such file" ;;
      word) dd if=damaged.bin of=$file conv=notrunc status=none && sentence="long.bin holds token 65535 at place" ;;
    esac
    # A table of losses that cannot be written adds no sentence to the one that says why.
    [ $damage != gone ] || mkdir $name/loss.csv
    ended 2 $name
    cp "whole${file#long}" $file
    [ $damage != gone ] || rmdir $name/loss.csv
    left_saved $name "$sentence"
  done
done

# Where the last sound step cannot be saved either, why the run ended is said first.
for count in 1 2; do
  name=twice-$count
  cp whole.txt long.txt
  started $name "${small[@]}" --ranks $count --steps 1000000 --data long.txt
  rm -rf $name/checkpoints && touch $name/checkpoints
  truncate -s 1000 long.txt
  ended 2 $name
  if [ "$(wc -l <$name.err)" -ne 1 ] ||
    ! grep -q "^fourfold: long.txt has become shorter.*; .*$name/checkpoints" $name.err; then
    fail "two failures at once: $(cat $name.err)"
  fi
done

# A log whose disk is full, where the user may mount one: what was trained is saved.
mkdir disk
if mount -t tmpfs -o size=64k fourfold-test disk 2>/dev/null; then
  disk=$work/disk
  for count in 1 2; do
    name=full-$count status=0
    "$fourfold" train "${small[@]}" --data text.txt --ranks $count --minutes 60 --log disk/log.jsonl \
      --folder $name >$name.out 2>$name.err || status=$?
    [ $status -eq 2 ] || fail "a full disk for the log: status $status: $(cat $name.err)"
    left_saved $name "cannot write the log disk/log.jsonl: No space left on device"
    rm disk/log.jsonl
  done
fi

# An update that makes numbers unsound is not saved, and is no success; the losses before it are.
for steps in 1 9; do
  name=unsound-$steps status=0
  "$fourfold" train "${small[@]}" --data text.txt --ranks 2 --steps $steps --learning-rate 1e30 --warm-up 0 \
    --folder $name >$name.out 2>$name.err || status=$?
  if [ $status -ne 2 ] || ! grep -q "^fourfold: training has diverged: .*lower --learning-rate" $name.err; then
    fail "an unsound update: status $status: $(cat $name.err)"
  fi
  [ -z "$(find $name -name 'step-*')" ] || fail "an unsound update is saved: $(find $name -name 'step-*')"
  grep -q '^1,[0-9]' $name/loss.csv || fail "a diverged run has lost its losses"
done
echo "nothing is lost"
