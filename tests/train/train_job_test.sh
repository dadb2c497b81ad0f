#!/usr/bin/env bash
# A job of `fourfold train` as people run it: to its end, stopped by SIGTERM and resumed on another
# grid, with a rank killed, and on a disk that is full before its end.
source "$(dirname "${BASH_SOURCE[0]}")/small_job.sh"
write_small_job "$work" 2
common=(--model ./small.toml --data text.txt --batch 8 --tokens 20 --print-every 1)

# To its end.
"$fourfold" train "${common[@]}" --ranks 2 --steps 12 --validate-every 6 --trace trace.json \
  --folder whole >whole.out 2>&1 || fail "a small run ended with status $?"
for file in log.jsonl loss.csv checkpoints/step-00000012.json checkpoints/step-00000012.safetensors; do
  [ -s "whole/$file" ] || fail "a run leaves no $file"
done
[ "$(wc -l <whole/loss.csv)" -eq 13 ] || fail "loss.csv has not a line for every step"
[ "$(grep -c '^step .* tokens/s' whole.out)" -eq 12 ] || fail "not a line for every step"
grep -q '"traceEvents"' trace.json || fail "there is no trace"
for word in parameters Open\ MPI OpenBLAS oneDNN VmHWM "validation loss" "text 1 of 2"; do
  grep -q "$word" whole.out || fail "the run does not say $word"
done

# Stopped after the step, then resumed on another grid.
started stopped "${common[@]}" --ranks 2 --steps 100000
kill -TERM "$job"
ended 130 stopped
step=$(sed -n 's/^asked to stop: step \([0-9]*\) .*/\1/p' stopped.out)
[ "$(wc -l <stopped/loss.csv)" -eq $((step + 1)) ] || fail "a stopped run has no loss.csv of its $step steps"
"$fourfold" train --resume stopped/checkpoints --grid 1x2x1x1 --steps $((step + 2)) --print-every 1 \
  --folder resumed >resumed.out 2>&1 || fail "a resumed run ended with status $?"
[ "$(grep -c '^step .* tokens/s' resumed.out)" -eq 2 ] || fail "not resumed after step $step"

# A run that goes on with another log leaves the losses of the one before, too.
"$fourfold" train "${common[@]}" --ranks 1 --steps 3 --folder logs >logs.out 2>&1 || fail "three steps: $?"
for steps in 5 6; do
  "$fourfold" train --resume logs --steps $steps --log $steps.jsonl >logs.out 2>&1 || fail "no resume with another log: $?"
  [ "$(wc -l <logs/loss.csv)" -eq $((steps + 1)) ] || fail "another log has cost steps: $(cat logs/loss.csv)"
done
grep -q "with --steps 6 instead of --steps 5, other than" logs.out || fail "another length is not said"

# The folder of a run is refused to another one; its own run goes on in it, however it is named, and
# what is not as it was is said.
refused "whole holds an earlier run; go on with that by --resume whole" train "${common[@]}" --ranks 1 --steps 2 --folder whole
[ "$(wc -l <whole/loss.csv)" -eq 13 ] || fail "a refused run has changed the earlier one"
mv small.toml elsewhere.toml # the checkpoint holds the model
"$fourfold" train --resume whole --batch 4 --steps 13 --folder whole \
  >again.out 2>&1 || fail "a run does not go on in its own folder, without its model file"
mv elsewhere.toml small.toml
grep -q "with --batch 4 instead of 8" again.out || fail "another batch is not said"
[ "$(wc -l <whole/loss.csv)" -eq 14 ] || fail "a resumed run has lost its earlier steps"
"$fourfold" train --resume whole/checkpoints/step-00000012.safetensors --steps 13 --json \
  --folder data >json.out 2>json.err || fail "no run from a .safetensors"
[ "$(grep -c '^{"kind":".*}$' json.out)" -eq "$(wc -l <json.out)" ] ||
  fail "--json prints something else: $(cat json.out)"
for kind in run step validation checkpoint text end plots; do
  grep -q "\"kind\":\"$kind\"" json.out || fail "--json prints no $kind"
done

# A run shorter than five steps traces its last one.
"$fourfold" train "${common[@]}" --ranks 1 --steps 3 --trace short.json --folder short \
  >short.out 2>&1 || fail "a run of three steps with a trace ended with status $?"
grep -q 'step 3, measured' short.json || fail "the last step of three is not traced"
python3 "${FOURFOLD_SOURCE_DIR:?}/tests/trace_nests.py" {trace,short}.json || fail "events of a trace cross"

# A rank is killed, or mpirun: the job ends, at once, with a status and one sentence that says who
# died and how to go on.
for victim in rank mpirun; do
  started $victim "${common[@]}" --ranks 2 --steps 100000 --checkpoint-every 2
  wait_for $victim.out '^step  *2  checkpoint'
  who="the job"
  if [ $victim = rank ]; then
    kill -KILL "$(tail -n 1 <<<"$ranks")"
    who="rank [01]"
  else
    kill -KILL "$launcher"
  fi
  ended 2 $victim
  if [ "$(wc -l <$victim.err)" -ne 1 ] ||
    ! grep -q "^fourfold: $who was killed by signal 9.* --resume $victim/checkpoints$" $victim.err; then
    fail "a killed $victim: $(cat $victim.err)"
  fi
done

# fill_until COMMAND...: takes the room that is free, again and again, until the command succeeds.
fill_until() {
  local i k
  for ((i = 0; i < 20; i++)); do
    head -c 1000000 /dev/zero >>"$disk/others" 2>/dev/null || true
    for ((k = 0; k < 50; k++)); do
      if "$@"; then return; fi
      sleep 0.1
    done
  done
}
is_over() { ! kill -0 "$job" 2>/dev/null; }

# A disk with room for one checkpoint and a half, where the user may mount one: one sentence, status
# 2, and the first checkpoint speaks.
mkdir disk
if mount -t tmpfs -o size=600k fourfold-test disk 2>/dev/null; then
  disk=$work/disk
  status=0
  said=$("$fourfold" train "${common[@]}" --ranks 2 --steps 100 --checkpoint-every 5 --folder "$disk/run" 2>&1 >/dev/null) ||
    status=$?
  if [ "$status" -ne 2 ] || ! grep -q "^fourfold: this run needs .* for 3 checkpoints of .* are free; make room" <<<"$said"; then
    fail "a disk without room: status $status, said: $said"
  fi
  [ -z "$(ls "$disk")" ] || fail "a run without room left something: $(ls "$disk")"
  # A trace without room ends nothing.
  head -c 1000000 /dev/zero >"$disk/others" 2>/dev/null || true
  "$fourfold" train "${common[@]}" --ranks 2 --steps 6 --trace "$disk/trace.json" --folder traceless \
    >traceless.out 2>&1 || fail "a trace without room ended a run with status $?"
  grep -q "^fourfold: .*trace.json.*No space left.*; training goes on without the trace$" traceless.out ||
    fail "a trace that cannot be written is not said"
  [ -s traceless/checkpoints/step-00000006.json ] || fail "a trace without room has cost the last step"
  umount "$disk"
  mount -t tmpfs -o size=1400k fourfold-test "$disk"
  # Somebody else takes the room once the run has begun: the older checkpoint makes place for the next.
  "$fourfold" train "${common[@]}" --ranks 2 --minutes 9 --checkpoint-every 5 --folder "$disk/run" \
    --log room.jsonl >room.out 2>room.err &
  job=$!
  wait_for room.out '^step  *10  checkpoint'
  # Taken while a checkpoint replaces another, the room of the replaced one is free again: take that too.
  made='^step .* the disk is full: .*/step-[0-9]*.json is removed to make room$'
  fill_until grep -qsE "$made" room.out
  grep -qsE "$made" room.out || fail "no checkpoint made room on a full disk"
  kill -TERM "$job"
  ended 130 room
  stopped_at=$(sed -n 's/^asked to stop: step \([0-9]*\) is finished$/\1/p' room.out)
  [ -s "$disk/run/checkpoints/step-$(printf %08d "$stopped_at").json" ] || fail "the last step is lost on a full disk"
  rm -r "$disk/run" "$disk/others"

  # The only one stays: then the run ends, says what is saved, and its log has an end.
  "$fourfold" train "${common[@]}" --ranks 2 --minutes 9 --checkpoint-every 5 --keep-checkpoints 1 --folder "$disk" \
    --log disk.jsonl >disk.out 2>disk.err &
  job=$!
  wait_for disk.out '^step  *5  checkpoint'
  fill_until is_over
  ended 2 disk
  said=$(<disk.err)
  if [ "$(wc -l <<<"$said")" -ne 1 ] || [[ $said != *"No space left"*"older checkpoints are"*"; step "*" is saved: --resume $disk/checkpoints/step-"* ]]; then
    fail "a full disk: $said"
  fi
  [[ $(tail -n 1 disk.jsonl) == *'"kind":"end",'*'"failed":true'* ]] || fail "a run on a full disk has no end in its log"
  "$fourfold" sample --checkpoint "$disk/checkpoints" --tokens 3 >disk.out 2>&1 ||
    fail "the checkpoint before a full disk cannot be used"
fi
echo "jobs end as they should"
