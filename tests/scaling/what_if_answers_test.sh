#!/usr/bin/env bash
# What-ifs mean what they say: the answer without, the answer with, their difference and whether it is
# within the tie are those of two questions asked apart; a solved factor gives the step it was solved for.
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

# Other jobs, and a node that is lost, of a job over nodes.
over=(--platform "$machines/dragonfly.toml" --grid 2x1x4x8 --micro-batches 1)
text "${over[@]}" --lost-node 1=without | heard "Node 1 is lost, and . of 8 replicas go on" || fail "a loss is not told"
answer sound "${over[@]}"
answer gone "${over[@]}" --fail nic:0.0
answer others "${over[@]}" --background local=60%
answer replaced "${over[@]}" --lost-node 1=replaced
answer smaller "${over[@]}" --lost-node 1=without --slow-devices 1:0.5
python3 - <<'PYTHON' || fail "what-ifs of links and nodes are not what they should be"
import json
read = lambda name: json.load(open(name + ".json"))
step = lambda name: read(name)["outcome"]["total_s"]
assert step("sound") < step("gone") and step("sound") <= step("others")
lost = read("smaller")
assert lost["devices"] < read("replaced")["devices"] == read("sound")["devices"]
assert lost["what_if"]["tokens_per_s_with"] < lost["what_if"]["tokens_per_s_without"]
batch = lambda name: read(name)["point"]["global_batch_sequences"]
part = batch("smaller") / batch("sound")
assert lost["what_if"]["sequences"] == batch("smaller") and part < 1
assert abs(lost["what_if"]["without_s"] / (step("sound") * part) - 1) < 1e-12
PYTHON

# How fast must it be? The factor gives that step.
# So it does on the grid that was best without it, where another would be best with it.
answer open --platform "$machines/torus.toml" --devices 32 --fidelity estimated
for of in "sound 0.97 devices ${over[*]}" "open 2 links --platform $machines/torus.toml --devices 32 --fidelity estimated"; do
  read -r before times key words <<<"$of"
  target=$(python3 -c "import json; print('%.5g' % ($times * json.load(open('$before.json'))['outcome']['total_s']))")
  # shellcheck disable=SC2086
  answer solved $words --scale "$key=?" --step-seconds "$target"
  python3 - "$target" "$key" "$times" <<'PYTHON' || fail "the factor on $key does not give $target s"
import json, sys
solved, target, key, times = json.load(open("solved.json")), float(sys.argv[1]), sys.argv[2], float(sys.argv[3])
assert solved["needed"]["key"] == key and (solved["needed"]["factor"] > 1.0) == (times < 1.0)
assert abs(solved["outcome"]["total_s"] / target - 1) < 5e-3, solved["outcome"]["total_s"]
PYTHON
done
run 2 project --model gpt2-355m --batch-tokens 524288 "${over[@]}" --scale nics=?
says "add --step-seconds"
run 2 project --model gpt2-355m --batch-tokens 524288 "${tree[@]}" --slow-devices 1%:0.5
says "less than one"
echo "what-ifs mean what they say"
