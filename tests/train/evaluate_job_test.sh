#!/usr/bin/env bash
# `fourfold evaluate` as people run it: the loss of a small run's checkpoint on files, on one rank
# and on two, as text and as JSON; what cannot work is refused in one sentence.
source "$(dirname "${BASH_SOURCE[0]}")/small_job.sh"
write_small_job "$work" 2
# On x = 2, one text of three words is drawn besides.
"$fourfold" train --model ./small.toml --data text.txt --steps 1 --batch 2 --learning-rate 1e-12 --texts 1 --tokens 3 \
  --grid 2x1x1x1 --sequence-parallel on --folder run >run.out 2>&1 || fail "a small run ended with $?"
read -r loss words < <(sed -n 's/^{"kind":"validation",.*"loss":\([0-9.]*\),"words":\([0-9]*\),.*/\1 \2/p' run/log.jsonl)

tail -c 1140 text.txt >held-out.txt
json=$("$fourfold" evaluate --checkpoint run --data held-out.txt --json)
python3 - "$json" "$loss" "$words" <<'PYTHON' || fail "JSON: $json, beside $loss on $words"
import json, math, sys
line = json.loads(sys.argv[1])
assert line["words"] == int(sys.argv[3]) == 1139, line
assert abs(line["loss"] - float(sys.argv[2])) < 1e-5, line
assert abs(line["perplexity"] - math.exp(line["loss"])) < 1e-6 * line["perplexity"], line
PYTHON
said=$("$fourfold" evaluate --checkpoint run --data held-out.txt text.txt --grid 2x1x1x1 2>/dev/null)
[[ $said == *"held-out.txt: loss 5."*" bits a byte, perplexity 2"*"all 2 files: loss "* ]] || fail "two ranks say: $said"
refused "--data is required" evaluate --checkpoint run
refused "cannot be read: No such file" evaluate --checkpoint run --data none.txt
refused "heads do not divide along x" evaluate --checkpoint run --data text.txt --grid 3x1x1x1
echo "evaluations agree"
