#!/usr/bin/env bash
# `fourfold train` on a pipeline as people run it: it loses what one rank loses, goes on without
# stages, and is drawn from on other ones.
source "$(dirname "${BASH_SOURCE[0]}")/small_job.sh"
write_small_job "$work" 4
what=(--model "$work/small.toml" --data "$work/text.txt" --tokens 8)
common=("${what[@]}" --batch 8 --micro-batches 4 --learning-rate 0.01 --warm-up 2)

# ran NAME ARGUMENTS...: trains in the folder of that name.
ran() {
  local name=$1
  shift
  "$fourfold" train "$@" --folder "$work/$name" >"$work/$name.out" 2>&1 || fail "$name ended with status $?"
}

# losses NAME: of its steps.
losses() { sed -n 's/.*"kind":"step".*"loss":\([0-9.]*\).*/\1/p' "$work/$1/log.jsonl"; }

# alike NAME NAME STEPS: the last steps of both lose the same to 1e-3.
alike() {
  paste <(losses "$1" | tail -n "$3") <(losses "$2" | tail -n "$3") >"$work/both"
  [ "$(awk 'NF == 2 && ($1 - $2)^2 < 1e-6' "$work/both" | wc -l)" -eq "$3" ] ||
    fail "$1 and $2 lose otherwise: $(cat "$work/both")"
}

ran one "${common[@]}" --ranks 1 --steps 6
ran 1f1b "${common[@]}" --ranks 4 --grid x=1,pipe=2,data=2 --order 1f1b --zero 1 --steps 6 --checkpoint-every 3 \
  --keep-checkpoints 3 --trace "$work/trace.json"
ran gpipe "${common[@]}" --grid data=2,pipe=2 --order gpipe --zero 3 --steps 6 --transport window
ran interleaved "${common[@]}" --grid pipe=2,x=2 --order interleaved --chunks 2 --sequence-parallel on --steps 6 \
  --transport library --progress thread
ran message-driven "${common[@]}" --grid pipe=2,x=2 --order message-driven --pipeline-limit 3 --steps 6
for order in 1f1b gpipe interleaved message-driven; do
  alike one $order 6
  grep -q "order $order" "$work/$order.out" || fail "the header of $order does not say so"
  grep -q "validation loss" "$work/$order.out" || fail "$order does not validate"
done
grep -q '"pipe_forward_even":' "$work/1f1b/log.jsonl" || fail "no time stood still for messages"
grep -q '"cat":"message"' "$work/trace.json" || fail "no message is traced"

# On with one rank, on with other stages, and text from any.
ran resumed --resume "$work/1f1b/checkpoints/step-00000003.json" --grid 1x1x1x1
alike one resumed 3
grep -q "remembers --order 1f1b, which is not taken to a grid with another number of stages" "$work/resumed.out" ||
  fail "what is not taken of a pipeline is not said: $(head -n 3 "$work/resumed.out")"
ran unstaged --resume "$work/interleaved" --grid data=2 --steps 7
[ "$(losses unstaged | wc -l)" -eq 1 ] || fail "an interleaved run does not go on without stages"
ran staged --resume "$work/one" --grid data=2,pipe=2 --order gpipe --zero 2 --steps 8
[ "$(losses staged | wc -l)" -eq 2 ] || fail "two stages do not go on with what one rank trained"
for grid in 1x1x1x1 pipe=3 x=2,pipe=2; do
  "$fourfold" sample --checkpoint "$work/1f1b" --prompt 'she sells' --temperature 0 --tokens 8 \
    --grid $grid >"$work/text-$grid" 2>"$work/text.out" || fail "no text on $grid"
  cmp -s "$work/text-$grid" "$work/text-1x1x1x1" || fail "another text on $grid"
done

echo "pipelines train as one rank does"
