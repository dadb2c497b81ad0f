#!/usr/bin/env bash
# `fourfold train` on a pipeline as people run it: it loses what one rank loses, goes on without
# stages, and is drawn from on other ones.
source "$(dirname "${BASH_SOURCE[0]}")/small_job.sh"
write_small_job "$work" 4
common=(--model ./small.toml --data text.txt --tokens 8 --batch 8 --micro-batches 4 --learning-rate 0.01 --warm-up 2)

# ran NAME ARGUMENTS...: trains in the folder of that name.
ran() { "$fourfold" train "${@:2}" --folder "$1" >"$1.out" 2>&1 || fail "$1 ended with status $?"; }

# losses NAME: of its steps.
losses() { sed -n 's/.*"kind":"step".*"loss":\([0-9.]*\).*/\1/p' "$1/log.jsonl"; }

# alike NAME STEPS: the last steps lose what those on one rank lose, to 1e-3.
alike() {
  paste <(losses one | tail -n "$2") <(losses "$1" | tail -n "$2") >both
  [ "$(awk 'NF == 2 && ($1 - $2)^2 < 1e-6' both | wc -l)" -eq "$2" ] || fail "$1 loses otherwise: $(cat both)"
}

ran one "${common[@]}" --ranks 1 --steps 6
ran 1f1b "${common[@]}" --ranks 4 --grid x=1,pipe=2,data=2 --order 1f1b --zero 1 --steps 6 --checkpoint-every 3 \
  --keep-checkpoints 3 --trace trace.json
ran interleaved "${common[@]}" --grid pipe=2,x=2 --order interleaved --chunks 2 --sequence-parallel on --steps 6 \
  --transport library --progress thread
for order in 1f1b interleaved; do
  alike $order 6
  grep -q "order $order" $order.out || fail "the header of $order does not say so"
  grep -q "validation loss" $order.out || fail "$order does not validate"
done
grep -q '"pipe_forward_even":' 1f1b/log.jsonl || fail "no time stood still for messages"
grep -q '"cat":"message"' trace.json || fail "no message is traced"

# On with one rank, on with other stages, and text from any.
ran resumed --resume 1f1b/checkpoints/step-00000003.json --grid 1x1x1x1
alike resumed 3
grep -q "remembers --order 1f1b, which is not taken to a grid with another number of stages" resumed.out ||
  fail "what is not taken of a pipeline is not said: $(head -n 3 resumed.out)"
ran unstaged --resume interleaved --grid data=2 --steps 7
ran staged --resume one --grid data=2,pipe=2 --order gpipe --zero 2 --steps 7
for name in unstaged staged; do [ "$(losses $name | wc -l)" -eq 1 ] || fail "$name does not go on"; done
for grid in 1x1x1x1 pipe=3 x=2,pipe=2; do
  "$fourfold" sample --checkpoint 1f1b --prompt 'she sells' --temperature 0 --tokens 8 --grid $grid >text-$grid 2>text.out ||
    fail "no text on $grid"
  cmp -s text-$grid text-1x1x1x1 || fail "another text on $grid"
done
echo "pipelines train as one rank does"
