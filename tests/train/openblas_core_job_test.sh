#!/usr/bin/env bash
# The trap of OpenBLAS's core type in a job of two ranks: every rank of fourfold-engine starts anew
# once with the right kernels, whether OpenBLAS took the wrong ones by itself or was told to; what
# cannot be repaired is shouted about once; header and log name library and core.
source "$(dirname "${BASH_SOURCE[0]}")/small_job.sh"
grep -q avx512vl /proc/cpuinfo 2>/dev/null || { echo "needs AVX-512: nothing to test"; exit 0; }
write_small_job "$work" 1

# job NAME [ENGINE FLAGS...]: two ranks, one step; output in job.out, log in NAME/log.jsonl.
job() {
  timeout 60 mpirun --allow-run-as-root --oversubscribe --mca mpi_yield_when_idle 1 \
    --mca btl_vader_single_copy_mechanism none -np 2 ${preload:+-x LD_PRELOAD="$preload"} \
    "$fourfold-engine" train --model ./small.toml --data text.txt --ranks 2 --steps 1 --tokens 0 \
    --folder "$1" "${@:2}" >job.out 2>&1 || fail "the job fails"
}

# times COUNT TEXT: lines of the output that have the text.
times() { [ "$(grep -c -- "$2" job.out)" -eq "$1" ] || fail "expected $1 times: $2"; }

# OpenBLAS is told to take slow kernels.
preload=
OPENBLAS_CORETYPE=PRESCOTT job told
times 1 "OPENBLAS_CORETYPE=PRESCOTT is replaced by SKYLAKEX"
times 1 "libraries .*with SkylakeX kernels"
times 0 WARNING
grep -q 'with SkylakeX kernels' told/log.jsonl || fail "the log does not name the core"
grep -q '"openblas_core":"SkylakeX"' told/log.jsonl || fail "the log has no openblas_core"
OPENBLAS_CORETYPE=PRESCOTT job kept --openblas-core keep
times 1 "WARNING: OpenBLAS uses its Prescott kernels"
times 1 "Gflop/s here, oneDNN at"
grep -q '"openblas_core":"Prescott"' kept/log.jsonl || fail "the log hides the slow core"

# A library that takes an old core by itself, as OpenBLAS 0.3.21 does for an Emerald Rapids; and one
# that does so whatever it is told.
cat >trap.c <<'C'
#include <stdlib.h>
#include <string.h>
char* openblas_get_corename(void) {
  const char* told = getenv("OPENBLAS_CORETYPE");
  return told && !strcmp(told, "SKYLAKEX") && !getenv("TRAP_IS_DEAF") ? "SkylakeX" : "Prescott";
}
C
if command -v gcc >/dev/null && gcc -shared -fPIC -o trap.so trap.c; then
  preload=$work/trap.so
  job silent
  times 0 "OPENBLAS_CORETYPE"
  times 1 "libraries .*with SkylakeX kernels"
  TRAP_IS_DEAF=1 job deaf
  times 1 "WARNING: OpenBLAS uses its Prescott kernels.*does not honour"
fi
echo "every rank computes with the right kernels, or says why not"
