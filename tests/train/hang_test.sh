#!/usr/bin/env bash
# A rank that hangs, one of two, the only one, or all: it is named, with its process and its step; the
# job ends when told, or waits when told; a request to stop is heeded meanwhile; what is left can be
# resumed, and nobody else is ever named.
source "$(dirname "${BASH_SOURCE[0]}")/small_job.sh"
write_small_job "$work" 1

# saving NAME RANKS ARGUMENTS...: a run of small steps with a checkpoint after each second.
saving() {
  started "$1" --model ./small.toml --data text.txt --batch 8 --tokens 0 --steps 1000000 --checkpoint-every 2 \
    --ranks "$2" "${@:3}"
  wait_for "$1.out" '^step  *2  checkpoint'
}

# stop_ranks NAME COMMAND...: sets stopped, the processes of the ranks whose lines the command takes of
# the file that tells ranks.
stop_ranks() {
  local name=$1
  shift
  wait_for "$name/heartbeats" "training|checkpoint"
  stopped=$("$@" "$name/heartbeats" | awk '{ print $2 }' | xargs)
  # shellcheck disable=SC2086
  kill -STOP $stopped
}

resumed() {
  local step  # of the newest checkpoint, which the rank may not have told before it was stopped
  step=$(find "$1/checkpoints" -name 'step-*.json' | sed 's/.*step-0*\([0-9]*\)[.]json/\1/' | sort -n | tail -n 1)
  "$fourfold" train --resume "$1" --steps $((step + 1)) >"$1-again.out" 2>&1 || fail "$1 cannot be resumed"
}

# Named, then ended when told, whichever rank it is; by its neighbours, or by who started it.
named() { echo "rank $1 on [^ ]+ \\(process $2\\)"; }
for which in head tail alone all; do
  count=2
  if [ $which = alone ]; then count=1; fi
  saving $which $count --hang-timeout 4
  case $which in
    head) stop_ranks head head -n 1 && who=$(named 0 "$stopped") ;;
    tail) stop_ranks tail tail -n 1 && who=$(named 1 "$stopped") ;;
    alone) stop_ranks alone cat && who=$(named 0 "$stopped") ;;
    all) stop_ranks all cat && who="$(named 0 "${stopped% *}"), $(named 1 "${stopped#* }")" ;;
  esac
  wait_for $which.err "^fourfold: no sign of life for [0-9]+ s from $who, last seen [a-z ]+ in step [0-9]+; the job ends in [0-9]+ s unless that changes"
  ended 2 $which
  grep -qE "^fourfold: no sign of life .*; the job is ended \(--hang-timeout\); go on from .* --resume $which/checkpoints$" $which.err ||
    fail "the end of $which is not said"
  if grep -q "lack of memory" $which.err; then fail "the end of $which is given another reason"; fi
  resumed $which
done

# Goes on: said, and nothing else happens.
saving on 2 --hang-timeout 20
stop_ranks on tail -n 1
wait_for on.err "the job ends in"
kill -CONT "$stopped"
wait_for on.err "^fourfold: $(named 1 "$stopped") goes on$"
kill -TERM "$job"
ended 130 on
grep -q "^asked to stop: step" on.out || fail "a rank that went on left no checkpoint"

# Waits for ever, but a request to stop is heeded: what stands goes on for that, be it a rank, the only
# one, mpirun or all of them. Most of it is waiting, so all are done at once.
asked() {
  local which=$1 name=asked-$1 count=2 began
  trap 'kill -KILL $stopped 2>/dev/null || true' EXIT
  if [ $which = alone ]; then count=1; fi
  saving $name $count --hang-timeout 0
  case $which in
    rank) stop_ranks $name head -n 1 ;;
    alone) stop_ranks $name cat ;;
    mpirun) stopped=$launcher && kill -STOP "$launcher" ;;
    all) stop_ranks $name cat && kill -STOP "$launcher" && stopped="$stopped $launcher" ;;
  esac
  kill -TERM "$job"
  began=$SECONDS
  ended 130 $name
  [ $((SECONDS - began)) -le 30 ] || fail "$name took $((SECONDS - began)) s to end"
  grep -q "^asked to stop: step" $name.out || fail "$name left no checkpoint of its last step"
  resumed $name
}
for which in rank alone mpirun all; do asked $which & done
for _ in 1 2 3 4; do wait -n || exit 1; done

# A second request ends the job at once, stopped ranks and all.
saving twice 2 --hang-timeout 0
stop_ranks twice tail -n 1
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
