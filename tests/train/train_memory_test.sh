#!/usr/bin/env bash
# The default model is small: what `fourfold train` needs in memory beyond it must be small, too.
# Growth since MPI and BLAS are up agrees with what the schedule counts within 10 %, in one of three
# runs: where the heap begins is drawn by the system, and in about one run of ten oneDNN's packing
# buffers lie so that malloc cannot use their memory again (1.5 MB more).
set -euo pipefail
fourfold=${FOURFOLD_BIN_DIR:?}/fourfold
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for ((i = 0; i < 2000; i++)); do echo "line $i: she sells sea shells by the sea shore"; done \
  >"$work/text.txt"

# agrees PRECISION TRY
agrees() {
  "$fourfold" train --data "$work/text.txt" --steps 2 --tokens 0 --ranks 2 --grid 1x1x1x2 \
    --precision "$1" --folder "$work/$1-$2" >"$work/out" 2>&1 || {
    echo "a run in $1 failed" >&2
    cat "$work/out" >&2
    exit 1
  }
  grep '^memory ' "$work/out"
  grep -o '"grown_B":[0-9]*,"counted_B":[0-9]*' "$work/$1-$2/log.jsonl" |
    awk -F'[:,]' '{ ratio = $2 / $4; found = 1 }
      END { exit !(found && ratio > 0.9 && ratio < 1.1) }'
}

for precision in fp32 bf16; do
  agrees "$precision" 1 || agrees "$precision" 2 || agrees "$precision" 3 || {
    echo "in $precision, memory has not grown as counted" >&2
    exit 1
  }
done
