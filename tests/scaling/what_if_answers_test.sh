#!/usr/bin/env bash
# What-ifs mean what they say: the answer without, the answer with, their difference and whether it is
# within the tie are those of two questions asked apart; a solved factor gives the step it was solved for;
# the cause that is scaled is the cause that is named.
source "$(dirname "${BASH_SOURCE[0]}")/command_line.sh"
cd "$folder"
machines=$FOURFOLD_SOURCE_DIR/tests/machines

# answer NAME ARGUMENTS...: project's JSON in NAME.json.
answer() {
  local name=$1
  shift
  "$fourfold" project --model gpt2-355m --batch-tokens 524288 --json "$@" >"$name.json" 2>err </dev/null ||
    fail "project $*: $(cat err)"
}

tree=(--platform "$machines/fat-tree-2.toml" --grid 2x1x4x4 --micro-batches 1)
for scale in nics=2 nics=0.5 memory=2 devices=0.5 processor.gemm.rate_Tflops=0.9 nodes=0.9; do
  answer with "${tree[@]}" --fidelity estimated --scale "$scale"
  answer without "${tree[@]}" --fidelity estimated
  python3 - "$scale" <<'PYTHON' || fail "--scale $scale is not told as it is"
import json, sys
with_, without = (json.load(open(name + ".json")) for name in ("with", "without"))
told, a, b = with_["what_if"], without["outcome"]["total_s"], with_["outcome"]["total_s"]
assert told["without_s"] == a and told["with_s"] == b, (told, a, b)
assert abs(told["change"] - (b / a - 1)) < 1e-12
assert told["changed"] == (abs(b / a - 1) >= 1e-4)
assert told["changed"] or sys.argv[1] == "nodes=0.9" or told["limits"], told
assert "what_if" not in without
if "tie" in told: assert told["within_tie"] == (max(a / b, b / a) - 1 < told["tie"])
PYTHON
done
text() { "$fourfold" project --model gpt2-355m --batch-tokens 524288 "$@" 2>err </dev/null | tr '\n' ' '; }
text "${tree[@]}" --fidelity estimated --scale devices=0.5 | heard "Without what was asked .* s more (+" ||
  fail "a slower machine is not said to take more"
text --platform "$machines/fat-tree-2.toml" --grid 2x1x1x1 --fidelity estimated --scale processor.memory_GB=1.1 |
  grep -q "Nothing changes: .* What limits, by what twice as fast would give: devices" ||
  fail "what changes nothing does not say what limits"

# One slow device is no worse than all slow, and all slow is a machine at that speed.
dragonfly=(--platform "$machines/dragonfly.toml" --grid 2x1x4x2 --micro-batches 2)
answer all "${dragonfly[@]}" --slow-devices 100%:0.5
answer one "${dragonfly[@]}" --slow-devices 1:0.5
answer several "${dragonfly[@]}" --slow-devices 1:0.5+25%:0.9
answer rates "${dragonfly[@]}" --scale devices=0.5
# Other jobs, sound, degraded and gone links of a job over nodes.
over=(--platform "$machines/dragonfly.toml" --grid 2x1x4x8 --micro-batches 1)
answer sound "${over[@]}"
for left in 0.9 0.3 0.01; do answer "left-$left" "${over[@]}" --degrade "nic:0.0=$left"; done
answer gone "${over[@]}" --fail nic:0.0
answer others "${over[@]}" --background local=60%
answer replaced "${over[@]}" --lost-node 1=replaced
answer smaller "${over[@]}" --lost-node 1=without
python3 - <<'PYTHON' || fail "what-ifs of devices and links are not in their order"
import json
read = lambda name: json.load(open(name + ".json"))
step = lambda name: read(name)["outcome"]["total_s"]
assert abs(step("all") / step("rates") - 1) < 2e-3, (step("all"), step("rates"))
assert read("one")["what_if"]["without_s"] <= step("one") <= step("several") * 1.001
assert step("several") <= step("all") * 1.001
order = ["sound", "left-0.9", "left-0.3", "left-0.01", "gone"]
for better, worse in zip(order, order[1:]):
    assert step(better) <= step(worse) * 1.001, (better, step(better), worse, step(worse))
assert step("sound") <= step("others")
lost = read("smaller")
assert lost["devices"] < read("replaced")["devices"] == read("sound")["devices"]
assert lost["what_if"]["tokens_per_s_with"] < lost["what_if"]["tokens_per_s_without"]
batch = lambda name: read(name)["point"]["global_batch_sequences"]
part = batch("smaller") / batch("sound")
assert lost["what_if"]["sequences"] == batch("smaller") and part < 1
assert abs(lost["what_if"]["without_s"] / (step("sound") * part) - 1) < 1e-12
PYTHON

# How fast must it be? The factor gives that step.
for part in nics devices; do
  for fidelity in estimated simulated; do
    answer plain "${over[@]}" --fidelity $fidelity
    target=$(python3 -c "import json; print('%.5g' % (0.97 * json.load(open('plain.json'))['outcome']['total_s']))")
    if ! "$fourfold" project --model gpt2-355m --batch-tokens 524288 --json "${over[@]}" --fidelity $fidelity \
      --scale "$part=?" --step-seconds "$target" >solved.json 2>err; then
      grep -q "no factor on $part gives a step of" err || fail "$part for $target s: $(cat err)"
      continue
    fi
    python3 - "$part" "$target" <<'PYTHON' || fail "the factor of $part does not give $target s ($fidelity)"
import json, sys
solved = json.load(open("solved.json"))
assert solved["needed"]["key"] == sys.argv[1] and solved["needed"]["factor"] > 1.0
assert abs(solved["outcome"]["total_s"] / float(sys.argv[2]) - 1) < 5e-3, solved["outcome"]["total_s"]
PYTHON
  done
done
refused() {
  local sentence=$1
  shift
  if "$fourfold" project --model gpt2-355m --batch-tokens 524288 "$@" >out 2>err </dev/null; then fail "$* is taken"; fi
  grep -qF -- "$sentence" err || fail "$* does not say '$sentence': $(cat err)"
}
refused "add --step-seconds" "${over[@]}" --scale nics=?
refused "no --scale KEY=? asks" "${over[@]}" --step-seconds 3
refused "is neither NODE=replaced nor NODE=without" "${over[@]}" --lost-node 3
refused "is no KIND=PERCENT%" "${over[@]}" --background nic=30%
refused "less than one" "${dragonfly[@]}" --slow-devices 1%:0.5
echo "what-ifs mean what they say"
