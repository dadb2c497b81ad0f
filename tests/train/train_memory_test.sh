#!/usr/bin/env bash
# What `fourfold train` needs in memory agrees with what the schedule counts. With activations that
# outweigh the libraries' own buffers, growth since MPI and BLAS are up is within 10 % of the count.
# With the default batch it is at most 6 MB above: oneDNN's packing buffers and what malloc cannot
# use again. Those are 1 to 5 MB, drawn anew by where the system lets the heap begin. A processor
# without AVX-512 has no bf16 products: factors are widened, in at most 20 MB that nobody counts.
set -euo pipefail
fourfold=${FOURFOLD_BIN_DIR:?}/fourfold
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for ((i = 0; i < 2000; i++)); do echo "line $i: she sells sea shells by the sea shore"; done \
  >"$work/text.txt"

# grown PRECISION BATCH: "GROWN COUNTED" in bytes, of the largest rank
grown() {
  "$fourfold" train --data "$work/text.txt" --steps 2 --tokens 0 --ranks 2 --grid 1x1x1x2 \
    --batch "$2" --precision "$1" --folder "$work/$1-$2" >"$work/out" 2>&1 || {
    echo "a run in $1 failed" >&2
    cat "$work/out" >&2
    exit 1
  }
  grep '^memory ' "$work/out" >&2
  grep -o '"grown_B":[0-9]*,"counted_B":[0-9]*' "$work/$1-$2/log.jsonl" |
    awk -F'[:,]' '{ print $2, $4 }'
}

for precision in fp32 bf16; do
  widened=0
  if [ $precision = bf16 ] && ! grep -q avx512 /proc/cpuinfo; then widened=20000000; fi
  read -r bytes counted < <(grown "$precision" 128)
  ((bytes * 10 > counted * 9 && (bytes - widened) * 10 < counted * 11)) || {
    echo "in $precision, memory has grown by $bytes bytes; $counted are counted" >&2
    exit 1
  }
  read -r bytes counted < <(grown "$precision" 16)
  ((bytes > counted && bytes < counted + 6000000 + widened)) || {
    echo "in $precision with the default batch, $bytes bytes grown, $counted counted" >&2
    exit 1
  }
done
