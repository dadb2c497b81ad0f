#!/usr/bin/env bash
# An exception on one rank, in its main or its progress thread, ends the whole job at once, with one
# sentence, whatever the others are waiting for; when all fail alike, the sentence is said once.
set -euo pipefail
program=${FOURFOLD_BIN_DIR:?must name the folder of the executables}/failing-rank
[ -x "$program" ] || { echo "$program is not built" >&2; exit 1; }
said=$(mktemp)
trap 'rm -f "$said"' EXIT

# run <who fails> <transport> <progress>: the job's status; 124 if it hung.
run() {
  timeout 30 mpirun --allow-run-as-root --oversubscribe --mca mpi_yield_when_idle 1 -np 4 \
    "$program" "$@" >"$said" 2>&1
}
fail() {
  echo "$1; the job said:" >&2
  cat "$said" >&2
  exit 1
}

for transport in ring library window; do
  for progress in none thread; do
    status=0
    run one "$transport" "$progress" || status=$?
    [ "$status" -ne 124 ] || fail "$transport, $progress: the job hung after rank 1 failed"
    [ "$status" -ne 0 ] || fail "$transport, $progress: the job succeeded though rank 1 failed"
    grep -qx "fourfold: rank 1: something broke here" "$said" || fail "$transport: rank 1's sentence is missing"
    run none "$transport" "$progress" || fail "$transport, $progress: a sound job failed"
  done
done

for transport in ring library; do
  status=0
  run thread "$transport" thread || status=$?
  [ "$status" -ne 124 ] || fail "$transport: the job hung after rank 1's progress thread failed"
  [ "$status" -ne 0 ] || fail "$transport: the job succeeded though rank 1's progress thread failed"
  grep -q "^fourfold: rank 1: MPI_Test failed: " "$said" ||
    fail "$transport: what rank 1's progress thread met is not said"
done

for who in all together; do
  status=0
  run $who || status=$?
  [ "$status" -eq 2 ] || fail "all ranks failed, but the status is $status"
  [ "$(grep -c "^fourfold: .*this cannot work$" "$said")" -eq 1 ] || fail "one sentence was expected"
done
if grep -q MPI_ABORT "$said"; then fail "ranks that fail together need no MPI_Abort"; fi
echo "a failing rank ends the job"
