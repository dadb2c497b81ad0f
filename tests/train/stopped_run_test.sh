#!/usr/bin/env bash
# Whoever gets which signal, a run ends with a checkpoint, a sentence and status 130, and can be
# resumed; nohup and a lost terminal stop nothing; too few open files are refused at once.
source "$(dirname "${BASH_SOURCE[0]}")/small_job.sh"
write_small_job "$work" 1
small=(--model ./small.toml --data text.txt --batch 8 --tokens 0 --steps 1000000)

# saved NAME: the job has ended with a checkpoint of the step that it says.
saved() {
  local step began=$SECONDS
  ended 130 "$1"
  [ $((SECONDS - began)) -le 15 ] || fail "$1 took $((SECONDS - began)) s to end"
  step=$(sed -n 's/^asked to stop: step \([0-9]*\) is finished$/\1/p' "$1.out")
  [ -s "$1/checkpoints/step-$(printf %08d "$step").json" ] || fail "$1 left no checkpoint of step $step"
  grep -q "^fourfold: .*go on from its newest checkpoint with: fourfold train --resume $1/checkpoints$" "$1.err" ||
    fail "$1 does not say how to go on"
}

for name in HUP-front HUP-mpirun HUP-rank HUP-alone TERM-mpirun USR1-rank INT-front; do
  signal=${name%-*} who=${name#*-} count=2
  if [ "$who" = alone ]; then count=1; fi
  started "$name" "${small[@]}" --ranks $count
  case $who in
    front) kill "-$signal" "$job" ;;
    rank) kill "-$signal" "$(tail -n 1 <<<"$ranks")" ;;
    *) kill "-$signal" "$launcher" ;; # of one rank it is the rank
  esac
  saved "$name"
done
refused "" train --resume HUP-mpirun --steps 1 # which are done
steps=$(sed -n 's/^asked to stop: step \([0-9]*\) is finished$/\1/p' HUP-mpirun.out)
"$fourfold" train --resume HUP-mpirun --steps $((steps + 1)) >again.out 2>&1 || fail "HUP-mpirun cannot be resumed"

# One event that sends several signals, as a queue and a closing terminal do, is one request.
started several "${small[@]}" --ranks 2
for process in $ranks "$launcher" "$job" "$job"; do kill -TERM "$process"; done
saved several

# nohup: a hang-up is ignored.
trap '' HUP
started nohup "${small[@]}" --ranks 2
trap - HUP
kill -HUP "$job"
lines=$(wc -l <nohup/log.jsonl)
for ((i = 0; i < 300 && $(wc -l <nohup/log.jsonl) < lines + 20; i++)); do sleep 0.1; done
kill -0 "$job" || fail "nohup does not help"
kill -TERM "$job"
saved nohup

# A terminal that is lost under a run that ignores the hang-up: the run goes on to its end.
for count in 1 2; do
  name=terminal-$count
  python3 - "$fourfold" train "${small[@]/1000000/400}" --ranks $count --folder "$name" <<'LOST' || fail "a lost terminal: $?"
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

# Too few open files, and files that may not be as large as MPI's own: one sentence, at once; a soft
# limit is raised.
while read -r limit number count sentence; do
  (
    ulimit "$limit" "$number"
    refused "$sentence" train "${small[@]}" --ranks "$count" --folder few
  )
done <<'LIMITS'
-n 50 2 mpirun with 2 ranks may have to open 76 files, but the limit of open files is 50; raise it (ulimit -n 76)
-n 24 1 a rank of MPI may have to open 40 files
-f 100 1 a rank of MPI may have to write files of 8192 kB, but the limit of a file is 100 kB; raise it (ulimit -f 8192)
-f 100 2 a rank of MPI may have to write files of 8192 kB, but the limit of a file is 100 kB; raise it (ulimit -f 8192)
LIMITS
(
  ulimit -S -n 24
  "$fourfold" train "${small[@]/1000000/2}" --ranks 2 --folder soft >soft.out 2>soft.err || fail "a soft limit: $?"
)
echo "runs stop as they should"
