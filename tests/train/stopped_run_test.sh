#!/usr/bin/env bash
# Whoever gets which signal, a run ends with a checkpoint, a sentence and status 130, and can be
# resumed; nohup and a lost terminal stop nothing; too few open files are refused at once.
source "$(dirname "${BASH_SOURCE[0]}")/small_job.sh"
write_small_job "$work" 1
small=(--model ./small.toml --data text.txt --batch 8 --tokens 0 --steps 1000000)

# stopped NAME: the run of process $job has ended with a checkpoint of the step that it says.
stopped() {
  local status=0 step began=$SECONDS
  wait "$job" || status=$?
  [ "$status" -eq 130 ] || fail "$1: status $status, not 130"
  [ $((SECONDS - began)) -le 15 ] || fail "$1 took $((SECONDS - began)) s to end"
  step=$(sed -n 's/^asked to stop: step \([0-9]*\) is finished$/\1/p' "$1.out")
  [ -s "$1/checkpoints/step-$(printf %08d "$step").json" ] || fail "$1 left no checkpoint of step $step"
  grep -q "^fourfold: .*go on from its newest checkpoint with: fourfold train --resume $1/checkpoints$" "$1.err" ||
    fail "$1 does not say how to go on"
}

for name in HUP-front HUP-mpirun HUP-rank HUP-alone TERM-mpirun INT-front; do
  signal=${name%-*} who=${name#*-}
  ranks=2
  if [ "$who" = alone ]; then ranks=1; fi
  "$fourfold" train "${small[@]}" --ranks $ranks --folder "$name" >"$name.out" 2>"$name.err" &
  job=$!
  wait_for "$name.out" '^step  *[0-9]+ '
  launcher=$(pgrep -P "$job")
  case $who in
    front) kill "-$signal" "$job" ;;
    rank) kill "-$signal" "$(pgrep -P "$launcher" | tail -n 1)" ;;
    *) kill "-$signal" "$launcher" ;; # of one rank it is the rank
  esac
  stopped "$name"
done
"$fourfold" train --resume HUP-mpirun --steps 1 >again.out 2>&1 && fail "a run of steps that are done is no run"
steps=$(sed -n 's/^asked to stop: step \([0-9]*\) is finished$/\1/p' HUP-mpirun.out)
"$fourfold" train --resume HUP-mpirun --steps $((steps + 1)) >again.out 2>&1 || fail "HUP-mpirun cannot be resumed"

# One event that sends several signals, as a queue and a closing terminal do, is one request.
"$fourfold" train "${small[@]}" --ranks 2 --folder several >several.out 2>several.err &
job=$!
wait_for several.out '^step  *[0-9]+ '
launcher=$(pgrep -P "$job")
for process in $(pgrep -P "$launcher") "$launcher" "$job" "$job"; do kill -TERM "$process"; done
stopped several

# nohup: a hang-up is ignored.
nohup "$fourfold" train "${small[@]}" --ranks 2 --folder nohup >nohup.out 2>nohup.err &
job=$!
wait_for nohup.out '^step  *[0-9]+ '
kill -HUP "$job"
lines=$(wc -l <nohup/log.jsonl)
for ((i = 0; i < 300 && $(wc -l <nohup/log.jsonl) < lines + 20; i++)); do sleep 0.1; done
kill -0 "$job" || fail "nohup does not help"
kill -TERM "$job"
stopped nohup

# A terminal that is lost under a run that ignores the hang-up: the run goes on to its end.
for ranks in 1 2; do
  name=terminal-$ranks
  python3 - "$fourfold" train "${small[@]/1000000/400}" --ranks $ranks --folder "$name" <<'LOST' || fail "a lost terminal: $?"
import os, pty, signal, sys, time
signal.signal(signal.SIGHUP, signal.SIG_IGN)
process, terminal = pty.fork()
if process == 0:
    os.execv(sys.argv[1], sys.argv[1:])
seen = b""
while b"step " not in seen:
    seen += os.read(terminal, 4096)
os.close(terminal)
_, status = os.waitpid(process, 0)
sys.exit(os.waitstatus_to_exitcode(status))
LOST
  [ -s "$name/checkpoints/step-00000400.json" ] || fail "a lost terminal ended the run"
done

# Too few open files: one sentence, at once; a soft limit is raised.
(
  ulimit -n 50
  status=0
  said=$("$fourfold" train "${small[@]}" --ranks 2 --folder few 2>&1 >few.out) || status=$?
  sentence="fourfold: mpirun with 2 ranks may have to open 76 files, but the limit of open files is 50; raise it (ulimit -n 76)"
  if [ "$status" -ne 2 ] || [ "$said" != "$sentence" ]; then fail "ulimit -n 50: status $status, said: $said"; fi
  ulimit -n 24
  status=0
  said=$("$fourfold" train "${small[@]}" --ranks 1 --folder few 2>&1 >few.out) || status=$?
  if [ "$status" -ne 2 ] || [[ $said != *"a rank of MPI may have to open 40 files"* ]]; then
    fail "ulimit -n 24 of one rank: status $status, said: $said"
  fi
)
# And files that may not be as large as MPI's own.
for ranks in 1 2; do
  status=0
  said=$(ulimit -f 100 && "$fourfold" train "${small[@]}" --ranks $ranks --folder few 2>&1 >few.out) || status=$?
  sentence="fourfold: a rank of MPI may have to write files of 8192 kB, but the limit of a file is 100 kB; raise it (ulimit -f 8192)"
  if [ "$status" -ne 2 ] || [ "$said" != "$sentence" ]; then fail "ulimit -f 100: status $status, said: $said"; fi
done
(
  ulimit -S -n 24
  "$fourfold" train "${small[@]/1000000/2}" --ranks 2 --folder soft >soft.out 2>soft.err || fail "a soft limit: $?"
)
echo "runs stop as they should"
