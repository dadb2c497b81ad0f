#!/usr/bin/env bash
# How much of the communication that the schedule allows to hide does a training step hide? Runs
# bench-engine_training_overlap, whose head defines every quantity, through a loopback that a token
# bucket limits (overlap_tbf.sh), on grids that exercise each overlap.
#
#   microbench/training_overlap.sh              gpt2-mini, each grid at its rate below
#   microbench/training_overlap.sh gpt-bytes 8  another model and batch, at the same rates
#
# Choose rate and batch such that what the schedule moves apart is 40 to 100 % of the time in kernels;
# each answer says how much it was. Ranks and progress threads need cores of their own: on a busy
# machine the answer is about the scheduler, so the load is printed beside it.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
model=${1:-gpt2-mini}
batch=${2:-16}
repetitions=${3:-5}
bench=$root/build/bin/bench-engine_training_overlap

if [ ! -x "$bench" ]; then
  echo "build it first: cmake --build build --target bench-engine_training_overlap" >&2
  exit 1
fi

# measure RATE GRID [FLAG ...]; the ranks are the product of the grid's extents.
measure() {
  local rate=$1 grid=$2
  shift 2
  echo
  echo "$rate, load $(cut -d' ' -f1-3 /proc/loadavg)"
  "$root/microbench/overlap_tbf.sh" "$rate" mpirun --allow-run-as-root --oversubscribe \
    -np "$((${grid//x/*}))" "$bench" --model "$model" --batch "$batch" --grid "$grid" \
    --repetitions "$repetitions" "$@"
}

grep -m1 'model name' /proc/cpuinfo
measure 1gbit 1x1x2x1                                           # gathers and reduce-scatters
# Half the rate for twice the compute: TCP costs the CPU per byte, so that it weighs half as much.
batch=$((2 * batch)) measure 500mbit 1x1x2x1
measure 1gbit 1x1x2x1 --recompute full                          # ... and gathers of recompute
measure 1gbit 2x1x1x1                                           # backward all-reduces
measure 1gbit 1x1x1x2 --data-reduction beside-backward          # the data all-reduces
if [ "$(nproc)" -ge 4 ]; then
  measure 1gbit 2x1x2x1 --recompute full                        # all three at once
else
  echo
  echo "2x1x2x1 is left out: its 4 ranks would share $(nproc) cores"
fi
