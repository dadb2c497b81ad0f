#!/usr/bin/env bash
# What `fourfold train` needs in memory is what the schedule counts, within 2 %, on several grids and
# under several options. With the default batch growth is at most 8 MB above the count: oneDNN's
# packing buffers and what malloc cannot use again. Those are 1 to 8 MB, 10 on four ranks, whatever
# the batch, drawn anew by where the system lets the heap begin. What kernels work in is there
# before anything grows.
set -euo pipefail
fourfold=${FOURFOLD_BIN_DIR:?}/fourfold
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for ((i = 0; i < 2000; i++)); do echo "line $i: she sells sea shells by the sea shore"; done \
  >"$work/text.txt"

# grown RANKS FLAG...: "GROWN COUNTED" in bytes, of the largest rank
grown() {
  rm -rf "$work/run"
  "$fourfold" train --data "$work/text.txt" --steps 1 --tokens 0 --ranks "$1" --folder "$work/run" \
    "${@:2}" >"$work/out" 2>&1 || {
    echo "a run with $* failed" >&2
    cat "$work/out" >&2
    exit 1
  }
  grep '^memory ' "$work/out" >&2
  grep -o '"grown_B":[0-9]*,"counted_B":[0-9]*' "$work/run/log.jsonl" |
    awk -F'[:,]' '{ print $2, $4 }'
}

# Batches that are large enough for ten MB to be less than 2 %.
while read -r ranks flags; do
  # shellcheck disable=SC2086  # several words
  read -r bytes counted < <(grown "$ranks" $flags)
  ((bytes * 100 > counted * 98 && bytes * 100 < counted * 102)) || {
    echo "with $flags, memory has grown by $bytes bytes; $counted are counted" >&2
    exit 1
  }
done <<'END'
1 --grid 1x1x1x1 --precision fp32 --batch 256
2 --grid 1x1x1x2 --precision fp32 --batch 448
2 --grid 1x1x2x1 --precision bf16 --batch 1792 --micro-batches 2 --gradient-reduction accumulated --zero 1
2 --grid pipe=2 --precision fp32 --batch 1536 --micro-batches 4 --recompute mlp
4 --grid 2x1x1x2 --precision fp32 --batch 1536 --sequence-parallel on --zero 2 --recompute norms
END

for precision in fp32 bf16; do
  read -r bytes counted < <(grown 2 --grid 1x1x1x2 --precision $precision --batch 16)
  ((bytes > counted && bytes < counted + 8000000)) || {
    echo "in $precision with the default batch, $bytes bytes grown, $counted counted" >&2
    exit 1
  }
done
