#!/usr/bin/env bash
# `fourfold train` refuses what cannot work before mpirun starts: one sentence on standard error and
# a status that is not 0; its help teaches.
set -euo pipefail
fourfold=${FOURFOLD_BIN_DIR:?}/fourfold
unset OPENBLAS_CORETYPE  # whose replacement is said on standard error
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

complain() {
  echo "$*" >&2
  failures=$((failures + 1))
}

# refused STATUS SENTENCE ARGUMENTS...
refused() {
  local expected=$1 sentence=$2 said status=0
  shift 2
  said=$("$fourfold" train --folder "${folder:-$work/run}" "$@" 2>&1 >/dev/null) || status=$?
  if [ "$status" -ne "$expected" ] || [ "$(wc -l <<<"$said")" -ne 1 ] ||
    [[ $said != "fourfold: "*"$sentence"* ]]; then
    complain "train $*: status $status, said: $said; expected $expected: $sentence"
  fi
}

printf 'too short' >"$work/short.txt"
refused 2 "'few' is no whole number" --steps few
refused 2 "as every operation of a step is written down" --batch 100000000 --micro-batches 100000000 --ranks 1
refused 2 "cannot be read" --data "$work/nowhere.txt"
refused 2 "no file matches" --data "$work/*.bin"
refused 2 "too short" --data "$work/short.txt"
printf '\377%.0s' {1..4000} >"$work/tokens.bin"
refused 2 "needs one of at least 65536" --data "$work/tokens.bin"
refused 2 "must be auto or keep, not 'best'" --openblas-core best
refused 2 "$work/nowhere" --resume "$work/nowhere"
refused 2 "cannot write" --log "$work/short.txt/log.jsonl"

refused 2 "has no effect: this run has 2 steps" --trace "$work/trace.json" --trace-step 3 --steps 2
refused 2 "--prompt has no effect with --tokens 0" --prompt now --tokens 0

# A trace replaces a trace, and nothing else: not the text, a file of the run or of another one.
cp "$0" "$work/text.txt"
echo '{"displayTimeUnit":"ms"}' >"$work/earlier.json"
for taken in "$work/text.txt" "$work/short.txt"; do
  refused 2 "$taken is there already and is no trace" --trace "$taken" --data "$work/text.txt" --steps 5
done
for own in log.jsonl loss.csv heartbeats checkpoints/step-00000005.json; do
  mkdir -p "$work/new/checkpoints"
  folder=$work/new refused 2 "$work/new/$own is a file of the run's own" --trace "$work/new/$own" --steps 5
done
refused 2 "$work/l is a file of the run's own" --log "$work/l" --trace "$work/l" --steps 5
refused 2 "has no effect: this run has 2 steps" --trace "$work/earlier.json" --trace-step 3 --steps 2
cmp -s "$0" "$work/text.txt" || complain "a refused run has written over its text"
refused 2 "$work/text.txt is there already and is no log of a run" --log "$work/text.txt" --data "$0"

# A folder, or a log, that holds a run stays as it is, unless that run is resumed.
mkdir -p "$work/held"
echo '{"kind":"run"}' >"$work/held/log.jsonl"
folder=$work/held refused 2 "$work/held/log.jsonl is the log of an earlier run" --data "$0"

# Without mpirun in PATH: a sentence that says what to install, after everything else was right.
status=0
said=$(PATH=$work "$fourfold" train --folder "$work/run" --steps 1 --data "$0" --ranks 2 2>&1) ||
  status=$?
if [ "$status" -ne 2 ] || [[ $said != *"cannot start mpirun"*"install openmpi-bin"* ]]; then
  complain "without mpirun: status $status, said: $said"
fi

# What only the ranks find out, they agree on: one sentence and no MPI_Abort, under a user's mpirun,
# too.
for ((i = 0; i < 3000; i++)); do printf 'words of a byte'; done >"$work/words.txt"
printf '\xff' >>"$work/words.txt"
sed 's/.*/layers = 1\nhidden = 16\nheads = 2\nsequence_tokens = 16\nvocabulary = 128/' <<<x >"$work/128.toml"
wrong=(train --model "$work/128.toml" --data "$work/words.txt" --steps 2 --tokens 0)
launcher=(mpirun --allow-run-as-root --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 -n 4)
status=0
said=$("${launcher[@]}" "${fourfold}-engine" "${wrong[@]}" --folder "$work/agreed" 2>&1 >/dev/null) ||
  status=$?
if [ "$status" -ne 2 ] || [[ $said == *MPI_ABORT* ]] ||
  [ "$(grep -c '^fourfold: .*token 255' <<<"$said")" -ne 1 ]; then
  complain "ranks that agree on an error: status $status, said: $said"
fi

# More memory than any machine has is refused by numbers, not by the system.
status=0
said=$("$fourfold" train --batch 1000000000 --ranks 2 --data "$0" --steps 1 --folder "$work/huge" 2>&1 \
  >/dev/null | grep -v ^WARNING:) || status=$?
if [ "$status" -ne 2 ] || [ "$(wc -l <<<"$said")" -ne 1 ] ||
  ! grep -Eq '^fourfold: this run needs [0-9.e+]+ GB a rank, .* for the 2 ranks' <<<"$said"; then
  complain "a batch beyond the memory: status $status, said: $said"
fi

if "$fourfold" train --help >/dev/full 2>/dev/null; then complain "help to a full disk succeeds"; fi
help=$("$fourfold" train --help)
for part in --grid --micro-batches --tune-kernels --resume "Examples:" "Exit status: 0 done" \
  part_of_peak "a later end"; do
  if [[ $help != *"$part"* ]]; then complain "the help does not mention $part"; fi
done
[ "$failures" -eq 0 ] || exit 1
echo "everything is refused in words"
