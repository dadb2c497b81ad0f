#!/usr/bin/env bash
# `fourfold train` refuses what cannot work before mpirun starts: one sentence on standard error,
# status 2, and nothing is left behind; its help teaches.
source "$(dirname "${BASH_SOURCE[0]}")/small_job.sh"
write_small_job "$work" 1
printf '\x88\x29\x35\x01%.0s' {1..400} >words.bin
printf 'too short' >short.txt
run=(train --folder run)
refused "has an empty value" "${run[@]}" --resume ""
refused "'inf' is no number" "${run[@]}" --minutes inf
refused "is no whole number from 1 to" "${run[@]}" --batch 99999999999999999999
refused "as every operation of a step is written down" "${run[@]}" --batch 100000000 --micro-batches 100000000 --ranks 1
refused "4 layers cannot be dealt out to 8 stages" "${run[@]}" --grid pipe=8
refused "--prompt has no effect with --tokens 0" "${run[@]}" --prompt now --tokens 0
refused "a model learns one kind" "${run[@]}" --data text.txt --data words.bin
refused "cannot be read" "${run[@]}" --data nowhere.txt
refused "needs one of at least" "${run[@]}" --data words.bin
refused "nowhere does not exist" "${run[@]}" --resume nowhere
refused "cannot write newdir/log.jsonl" "${run[@]}" --log newdir/log.jsonl --data text.txt
sed 's/vocabulary = 256/vocabulary = 128/' small.toml >few.toml
refused "outside the model's vocabulary of 128" "${run[@]}" --model ./few.toml --data text.txt --steps 1 --prompt 'é'

# A trace replaces a trace, and nothing else: not the text, a file of the run or of another one.
cp text.txt kept.txt
echo '{"displayTimeUnit":"ms"}' >earlier.json
mkdir -p new/checkpoints held
for taken in text.txt short.txt; do
  refused "$taken is there already and is no trace" "${run[@]}" --trace $taken --data text.txt --steps 5
done
for own in log.jsonl loss.csv loss.png heartbeats .in-use checkpoints/step-00000005.json; do
  for flag in --trace --log; do
    [[ $flag$own == --loglog.jsonl ]] || refused "new/$own is a file of the run's own; give another $flag" \
      train --folder new $flag new/$own --steps 5
  done
done
refused "no is the run's folder, or above it" train --folder no/where --log no --steps 5
refused "l is a file of the run's own" "${run[@]}" --log l --trace l --steps 5
for trace in trace.json earlier.json; do
  refused "has no effect: this run has 2 steps" "${run[@]}" --trace $trace --trace-step 3 --steps 2
done

# A folder, or a log, that holds a run stays as it is, unless that run is resumed.
echo '{"kind":"run"}' >held/log.jsonl
refused "held/log.jsonl is the log of an earlier run" train --folder held --data text.txt
refused "text.txt is there already and is no log of a run" "${run[@]}" --log text.txt --data text.txt
cmp -s kept.txt text.txt || fail "a refused run has written over its text"

# Without mpirun in PATH: a sentence that says what to install, after everything else was right.
status=0
said=$(PATH=$work "$fourfold" "${run[@]}" --steps 1 --data text.txt --ranks 2 2>&1) || status=$?
if [ "$status" -ne 2 ] || [[ $said != *"cannot start mpirun"*"install openmpi-bin"* ]]; then
  fail "without mpirun: status $status, said: $said"
fi

# What only the ranks find out, they agree on: one sentence and no MPI_Abort, under a user's mpirun,
# too.
for ((i = 0; i < 3000; i++)); do printf 'words of a byte'; done >bytes.txt
printf '\xff' >>bytes.txt
# agreed SENTENCE ARGUMENTS...
agreed() {
  local sentence=$1 said status=0
  shift
  said=$(mpirun --allow-run-as-root --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 -n 4 \
    "${fourfold}-engine" "${run[@]}" --steps 2 --tokens 0 "$@" 2>&1 >/dev/null) || status=$?
  if [ "$status" -ne 2 ] || [[ $said == *MPI_ABORT* ]] || [ "$(grep -c "^fourfold: .*$sentence" <<<"$said")" -ne 1 ]; then
    fail "ranks that agree on an error: status $status, said: $said"
  fi
}
agreed "token 255" --model ./few.toml --data bytes.txt
agreed "grid pipe=2 needs 2 ranks, but mpirun has started 4$" --data text.txt --grid pipe=2

# More memory than any machine has is refused by numbers, not by the system.
status=0
said=$("$fourfold" "${run[@]}" --batch 1000000000 --ranks 2 --data text.txt --steps 1 2>&1 >/dev/null |
  grep -v ^WARNING:) || status=$?
if [ "$status" -ne 2 ] || [ "$(wc -l <<<"$said")" -ne 1 ] ||
  ! grep -Eq '^fourfold: this run needs [0-9.e+]+ GB a rank, .* for the 2 ranks' <<<"$said"; then
  fail "a batch beyond the memory: status $status, said: $said"
fi

if "$fourfold" train --help >/dev/full 2>/dev/null; then fail "help to a full disk succeeds"; fi
help=$("$fourfold" train --help)
for part in --grid --micro-batches --tune-kernels --resume "Examples:" "Exit status: 0 done" \
  part_of_peak "a later end"; do
  [[ $help == *"$part"* ]] || fail "the help does not mention $part"
done
echo "everything is refused in words"
