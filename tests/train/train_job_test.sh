#!/usr/bin/env bash
# A job of `fourfold train` as people run it: to its end, stopped by SIGTERM and resumed on another
# grid, with a rank killed, and on a disk that is full before its end.
source "$(dirname "${BASH_SOURCE[0]}")/small_job.sh"
write_small_job "$work" 2
common=(--model "$work/small.toml" --data "$work/text.txt" --batch 8 --tokens 20 --print-every 1)

# To its end.
"$fourfold" train "${common[@]}" --ranks 2 --steps 12 --validate-every 6 --trace "$work/trace.json" \
  --folder "$work/whole" >"$work/whole.out" 2>&1 || fail "a small run ended with status $?"
for file in log.jsonl loss.csv checkpoints/step-00000012.json checkpoints/step-00000012.safetensors; do
  [ -s "$work/whole/$file" ] || fail "a run leaves no $file"
done
[ "$(wc -l <"$work/whole/loss.csv")" -eq 13 ] || fail "loss.csv has not a line for every step"
[ "$(grep -c '^step .* tokens/s' "$work/whole.out")" -eq 12 ] || fail "not a line for every step"
grep -q '"traceEvents"' "$work/trace.json" || fail "there is no trace"
for word in parameters Open\ MPI OpenBLAS oneDNN VmHWM "validation loss" "text 1 of 2"; do
  grep -q "$word" "$work/whole.out" || fail "the run does not say $word"
done

# Stopped after the step, then resumed on another grid.
"$fourfold" train "${common[@]}" --ranks 2 --steps 100000 --folder "$work/stopped" \
  >"$work/stopped.out" 2>&1 &
job=$!
wait_for "$work/stopped.out" '^step  *3 '
kill -TERM "$job"
status=0
wait "$job" || status=$?
[ "$status" -eq 130 ] || fail "a stopped run ended with status $status, not 130"
grep -q "asked to stop" "$work/stopped.out" || fail "a stopped run does not say so"
step=$(sed -n 's/^asked to stop: step \([0-9]*\) .*/\1/p' "$work/stopped.out")
[ "$(wc -l <"$work/stopped/loss.csv")" -eq $((step + 1)) ] || fail "a stopped run has no loss.csv of its $step steps"
"$fourfold" train --resume "$work/stopped/checkpoints" --grid 1x2x1x1 --steps $((step + 2)) --print-every 1 \
  --folder "$work/resumed" >"$work/resumed.out" 2>&1 || fail "a resumed run ended with status $?"
[ "$(grep -c '^step .* tokens/s' "$work/resumed.out")" -eq 2 ] || fail "not resumed after step $step"

# A run that diverges leaves its losses, too; and one that goes on with another log those of the one before.
status=0
"$fourfold" train "${common[@]}" --ranks 1 --steps 9 --learning-rate 1e30 --warm-up 0 --folder "$work/diverged" \
  >"$work/diverged.out" 2>&1 || status=$?
if [ "$status" -ne 2 ] || ! grep -q '^1,[0-9]' "$work/diverged/loss.csv"; then fail "a diverged run: status $status"; fi
"$fourfold" train "${common[@]}" --ranks 1 --steps 3 --folder "$work/logs" >"$work/logs.out" 2>&1 || fail "three steps: $?"
for steps in 5 6; do
  "$fourfold" train --resume "$work/logs" --steps $steps --log "$work/$steps.jsonl" >"$work/logs.out" 2>&1 ||
    fail "no resume with another log: $?"
  [ "$(wc -l <"$work/logs/loss.csv")" -eq $((steps + 1)) ] || fail "another log has cost steps: $(cat "$work/logs/loss.csv")"
done
grep -q "with --steps 6 instead of --steps 5, other than" "$work/logs.out" || fail "another length is not said"

# The folder of a run is refused to another one; its own run goes on in it, however it is named, and
# what is not as it was is said.
status=0
"$fourfold" train "${common[@]}" --ranks 1 --steps 2 --folder "$work/whole" 2>"$work/again.out" || status=$?
[ "$status" -eq 2 ] || fail "a run in the folder of another one: status $status"
grep -q "^fourfold: $work/whole holds an earlier run; .*--resume $work/whole" "$work/again.out" ||
  fail "a run in the folder of another one is not refused in words"
[ "$(wc -l <"$work/whole/loss.csv")" -eq 13 ] || fail "a refused run has changed the earlier one"
mv "$work/small.toml" "$work/elsewhere.toml" # the checkpoint holds the model
"$fourfold" train --resume "$work/whole" --batch 4 --steps 13 --folder "$work/whole" \
  >"$work/again.out" 2>&1 || fail "a run does not go on in its own folder, without its model file"
mv "$work/elsewhere.toml" "$work/small.toml"
grep -q "with --batch 4 instead of 8" "$work/again.out" || fail "another batch is not said"
[ "$(wc -l <"$work/whole/loss.csv")" -eq 14 ] || fail "a resumed run has lost its earlier steps"
"$fourfold" train --resume "$work/whole/checkpoints/step-00000012.safetensors" --steps 13 --json \
  --folder "$work/data" >"$work/json.out" 2>"$work/json.err" || fail "no run from a .safetensors"
[ "$(grep -c '^{"kind":".*}$' "$work/json.out")" -eq "$(wc -l <"$work/json.out")" ] ||
  fail "--json prints something else: $(cat "$work/json.out")"
for kind in run step validation checkpoint text end plots; do
  grep -q "\"kind\":\"$kind\"" "$work/json.out" || fail "--json prints no $kind"
done
status=0
said=$("$fourfold" train --resume "$work/whole" --model gpt-bytes --steps 20 --folder "$work/other" 2>&1) ||
  status=$?
if [ "$status" -ne 2 ] || [[ $said != "fourfold: the resumed run trained small ("*"leave --model out"* ]] ||
  [[ $said == *"used instead"* ]]; then
  fail "another model: status $status, said: $said"
fi

# A run shorter than five steps traces its last one.
"$fourfold" train "${common[@]}" --ranks 1 --steps 3 --trace "$work/short.json" --folder "$work/short" \
  >"$work/short.out" 2>&1 || fail "a run of three steps with a trace ended with status $?"
grep -q 'step 3, measured' "$work/short.json" || fail "the last step of three is not traced"
python3 "${FOURFOLD_SOURCE_DIR:?}/tests/trace_nests.py" "$work"/{trace,short}.json || fail "events of a trace cross"

# A rank is killed, or mpirun: the job ends, at once, with a status and one sentence that says who
# died and how to go on.
for victim in rank mpirun; do
  "$fourfold" train "${common[@]}" --ranks 2 --steps 100000 --checkpoint-every 2 \
    --folder "$work/$victim" >"$work/$victim.out" 2>"$work/$victim.err" &
  job=$!
  wait_for "$work/$victim.out" '^step  *2  checkpoint'
  launcher=$(pgrep -P "$job")
  ranks=$(pgrep -P "$launcher")
  if [ $victim = rank ]; then kill -KILL "$(tail -n 1 <<<"$ranks")"; else kill -KILL "$launcher"; fi
  status=0
  wait "$job" || status=$?
  [ "$status" -eq 2 ] || fail "a job whose $victim was killed ended with status $status"
  who="the job"
  if [ $victim = rank ]; then who="rank [01]"; fi
  said=$(<"$work/$victim.err")
  if [ "$(wc -l <<<"$said")" -ne 1 ] ||
    ! grep -q "^fourfold: $who was killed by signal 9.* --resume $work/$victim/checkpoints$" <<<"$said"; then
    fail "a killed $victim: $said"
  fi
  for ((i = 0; i < 200; i++)); do
    # shellcheck disable=SC2086
    kill -0 $ranks 2>/dev/null || break
    sleep 0.1
  done
  for rank in $ranks; do
    if kill -0 "$rank" 2>/dev/null; then fail "ranks are left behind by a killed $victim"; fi
  done
done

# A rank that fails alone: its sentence only. Its neighbour waits for it in a collective.
status=0
"$fourfold" train "${common[@]}" --ranks 2 --steps 5 --folder "$work/full" --log /dev/full \
  >"$work/full.out" 2>"$work/full.err" || status=$?
said=$(<"$work/full.err")
if [ "$status" -ne 2 ] || [ "$(wc -l <<<"$said")" -ne 1 ] ||
  [[ $said != "fourfold: "*"cannot write the log /dev/full: No space left on device" ]]; then
  fail "a full disk for the log: status $status, said: $said"
fi

# A disk with room for one checkpoint and a half, where the user may mount one: one sentence, status
# 2, and the first checkpoint speaks.
mkdir "$work/disk"
if mount -t tmpfs -o size=600k fourfold-test "$work/disk" 2>/dev/null; then
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
  "$fourfold" train "${common[@]}" --ranks 2 --steps 6 --trace "$disk/trace.json" --folder "$work/traceless" \
    >"$work/traceless.out" 2>&1 || fail "a trace without room ended a run with status $?"
  grep -q "^fourfold: .*trace.json.*No space left.*; training goes on without the trace$" "$work/traceless.out" ||
    fail "a trace that cannot be written is not said"
  [ -s "$work/traceless/checkpoints/step-00000006.json" ] || fail "a trace without room has cost the last step"
  umount "$disk"
  mount -t tmpfs -o size=1400k fourfold-test "$disk"
  # Somebody else takes the room once the run has begun: the older checkpoint makes place for the next.
  "$fourfold" train "${common[@]}" --ranks 2 --minutes 9 --checkpoint-every 5 --folder "$disk/run" \
    --log "$work/room.jsonl" >"$work/room.out" 2>"$work/room.err" &
  job=$!
  wait_for "$work/room.out" '^step  *10  checkpoint'
  # Taken while a checkpoint replaces another, the room of the replaced one is free again: take that too.
  made='^step .* the disk is full: .*/step-[0-9]*.json is removed to make room$'
  for ((i = 0; i < 20; i++)); do
    head -c 1000000 /dev/zero >>"$disk/others" 2>/dev/null || true
    for ((k = 0; k < 50; k++)); do
      if grep -qsE "$made" "$work/room.out"; then break 2; fi
      sleep 0.1
    done
  done
  grep -qsE "$made" "$work/room.out" || fail "no checkpoint made room on a full disk"
  kill -TERM "$job"
  status=0
  wait "$job" || status=$?
  [ "$status" -eq 130 ] || fail "a run that made room for itself ended with status $status"
  stopped_at=$(sed -n 's/^asked to stop: step \([0-9]*\) is finished$/\1/p' "$work/room.out")
  [ -s "$disk/run/checkpoints/step-$(printf %08d "$stopped_at").json" ] || fail "the last step is lost on a full disk"
  rm -r "$disk/run" "$disk/others"

  # The only one stays: then the run ends, says what is saved, and its log has an end.
  "$fourfold" train "${common[@]}" --ranks 2 --minutes 9 --checkpoint-every 5 --keep-checkpoints 1 --folder "$disk" \
    --log "$work/disk.jsonl" >"$work/disk.out" 2>"$work/disk.err" &
  job=$!
  wait_for "$work/disk.out" '^step  *5  checkpoint'
  for ((i = 0; i < 20; i++)); do
    head -c 1000000 /dev/zero >>"$disk/others" 2>/dev/null || true
    for ((k = 0; k < 50; k++)); do
      if ! kill -0 "$job" 2>/dev/null; then break 2; fi
      sleep 0.1
    done
  done
  status=0
  wait "$job" || status=$?
  [ "$status" -eq 2 ] || fail "a run on a full disk ended with status $status, not 2"
  said=$(<"$work/disk.err")
  if [ "$(wc -l <<<"$said")" -ne 1 ] || [[ $said != *"No space left"*"older checkpoints are"*"; step "*" is saved: --resume $disk/checkpoints/step-"* ]]; then
    fail "a full disk: $said"
  fi
  [[ $(tail -n 1 "$work/disk.jsonl") == *'"kind":"end",'*'"failed":true'* ]] || fail "a run on a full disk has no end in its log"
  "$fourfold" sample --checkpoint "$disk/checkpoints" --tokens 3 >"$work/disk.out" 2>&1 ||
    fail "the checkpoint before a full disk cannot be used"
fi
echo "jobs end as they should"
