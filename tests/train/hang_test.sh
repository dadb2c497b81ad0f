#!/usr/bin/env bash
# A rank that hangs: it is named, with its process and its step; the job ends when told, or waits
# when told; a request to stop is heeded meanwhile; what is left can be resumed, and nobody else is
# ever named.
set -euo pipefail
fourfold=${FOURFOLD_BIN_DIR:?}/fourfold
source "$(dirname "${BASH_SOURCE[0]}")/small_job.sh"
unset OPENBLAS_CORETYPE
work=$(mktemp -d)
stopped=
clean_up() {
  if [ -n "$stopped" ]; then kill -KILL "$stopped" 2>/dev/null || true; fi
  rm -rf "$work"
}
trap clean_up EXIT
cd "$work"
write_small_job "$work" 1

fail() {
  echo "$*" >&2
  tail -n 20 ./*.out ./*.err >&2
  exit 1
}

# wait_for FILE PATTERN: until a line of the file matches, at most 60 s.
wait_for() {
  local i
  for ((i = 0; i < 600; i++)); do
    if grep -qsE "$2" "$1"; then return; fi
    sleep 0.1
  done
  fail "$1 never said $2"
}

# started NAME RANKS ARGUMENTS...: a run of small steps with a checkpoint after each second. Sets job
# and ranks.
started() {
  local name=$1
  "$fourfold" train --model ./small.toml --data text.txt --batch 8 --tokens 0 --steps 1000000 \
    --checkpoint-every 2 --ranks "$2" --folder "$name" "${@:3}" >"$name.out" 2>"$name.err" &
  job=$!
  wait_for "$name.out" '^step  *2  checkpoint'
  ranks=$(pgrep -P "$(pgrep -P "$job")")
}

# stop_rank NAME FIRST-OR-LAST: sets stopped, the process of a rank, by the file that tells ranks.
stop_rank() {
  wait_for "$1/heartbeats" "training|checkpoint"
  stopped=$("$2" -n 1 "$1/heartbeats" | awk '{ print $2 }')
  kill -STOP "$stopped"
}

# ended STATUS NAME: and no rank is left, stopped or not.
ended() {
  local status=0 rank i
  wait "$job" || status=$?
  [ "$status" -eq "$1" ] || fail "$2: status $status, not $1"
  for rank in $ranks; do
    for ((i = 0; i < 100; i++)); do
      kill -0 "$rank" 2>/dev/null || break
      sleep 0.1
    done
    if kill -0 "$rank" 2>/dev/null; then fail "$2: rank $rank is left"; fi
  done
  stopped=
}

resumed() {
  local step
  step=$(sed -n 's/^step  *\([0-9]*\)  checkpoint.*/\1/p' "$1.out" | tail -n 1)
  "$fourfold" train --resume "$1" --steps $((step + 1)) >"$1-again.out" 2>&1 || fail "$1 cannot be resumed"
}

# Named, then ended when told, whichever rank it is.
for which in head tail; do
  started $which 2 --hang-timeout 4
  stop_rank $which $which
  rank=0
  if [ $which = tail ]; then rank=1; fi
  wait_for $which.err "^fourfold: no sign of life for [0-9]+ s from rank $rank on [^ ]+ \(process $stopped\), last seen [a-z ]+ in step [0-9]+; the job ends in [0-9]+ s unless that changes"
  ended 2 $which
  grep -qE "^fourfold: no sign of life .*; the job is ended \(--hang-timeout\); go on from the newest checkpoint with --resume $which/checkpoints$" $which.err ||
    fail "the end of $which is not said"
  resumed $which
done

# Goes on: said, and nothing else happens.
started on 2 --hang-timeout 20
stop_rank on tail
wait_for on.err "the job ends in"
kill -CONT "$stopped"
wait_for on.err "^fourfold: rank 1 on [^ ]+ \(process $stopped\) goes on$"
kill -TERM "$job"
ended 130 on
grep -q "^asked to stop: step" on.out || fail "a rank that went on left no checkpoint"

# Waits for ever, but a request to stop is heeded, with status 130.
started wait 2 --hang-timeout 0
stop_rank wait head
kill -TERM "$job"
ended 130 wait
grep -qE "^fourfold: asked to stop, and no checkpoint can be written: no sign of life for [0-9]+ s from rank 0 " wait.err ||
  fail "a stopped job does not say why there is no checkpoint"
resumed wait

# A second request ends the job at once, stopped ranks and all.
started twice 2 --hang-timeout 0
stop_rank twice tail
kill -INT "$job"
sleep 0.5
began=$SECONDS
kill -INT "$job"
ended 130 twice
[ $((SECONDS - began)) -le 10 ] || fail "a second request took $((SECONDS - began)) s"

# Nobody is named in a run that only trains, writes and draws, on more ranks than cores.
"$fourfold" train --model ./small.toml --data text.txt --batch 8 --tokens 40 --steps 24 --validate-every 7 \
  --checkpoint-every 5 --sample-every 9 --ranks 4 --hang-timeout 20 --folder quiet >quiet.out 2>quiet.err ||
  fail "a run that is well ended with $?"
if grep -q "no sign\|no progress\|waited for one another" quiet.err; then fail "somebody is named who is well"; fi
[ ! -e quiet/heartbeats ] || fail "a run that has ended leaves its heartbeats"
echo "ranks that hang are named"
