#!/usr/bin/env bash
# What `fourfold train` needs in memory is what the schedule counts, within 2 %, on several grids and
# under several options. With the default batch growth is at most 8 MB above the count: oneDNN's
# packing buffers and what malloc cannot use again. Those are 1 to 8 MB, 10 on four ranks, whatever
# the batch, drawn anew by where the system lets the heap begin. What kernels work in is there
# before anything grows.
source "$(dirname "${BASH_SOURCE[0]}")/small_job.sh"
for ((i = 0; i < 2000; i++)); do echo "line $i: she sells sea shells by the sea shore"; done >text.txt

# grown RANKS FLAG...: "GROWN COUNTED" in bytes, of the largest rank
grown() {
  rm -rf run
  "$fourfold" train --data text.txt --steps 1 --tokens 0 --ranks "$1" --folder run "${@:2}" >out 2>&1 || fail "$*: $?"
  grep '^memory ' out >&2
  grep -o '"grown_B":[0-9]*,"counted_B":[0-9]*' run/log.jsonl |
    awk -F'[:,]' '{ print $2, $4 }'
}

# Batches that are large enough for ten MB to be less than 2 %.
while read -r ranks flags; do
  # shellcheck disable=SC2086  # several words
  read -r bytes counted < <(grown "$ranks" $flags)
  ((bytes * 100 > counted * 98 && bytes * 100 < counted * 102)) ||
    fail "with $flags, memory has grown by $bytes bytes; $counted are counted"
done <<'END'
1 --grid 1x1x1x1 --precision fp32 --batch 256
2 --grid 1x1x1x2 --precision fp32 --batch 448
2 --grid 1x1x2x1 --precision bf16 --batch 1792 --micro-batches 2 --gradient-reduction accumulated --zero 1
2 --grid pipe=2 --precision fp32 --batch 1536 --micro-batches 4 --recompute mlp
2 --grid 1x2x1x1 --precision fp32 --batch 384 --transport ring
4 --grid 2x1x1x2 --precision fp32 --batch 1536 --sequence-parallel on --zero 2 --recompute norms
END

for precision in fp32 bf16; do
  read -r bytes counted < <(grown 2 --grid 1x1x1x2 --precision $precision --batch 16)
  ((bytes > counted && bytes < counted + 8000000)) ||
    fail "in $precision with the default batch, $bytes bytes grown, $counted counted"
done
