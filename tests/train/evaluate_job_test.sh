#!/usr/bin/env bash
# `fourfold evaluate` as people run it: the loss of a small run's checkpoint on files, on one rank
# and on two, as text and as JSON; the same held-out loss for every batch; texts drawn where x does
# not divide their words; what cannot work is refused in one sentence.
source "$(dirname "${BASH_SOURCE[0]}")/small_job.sh"
failures=0

complain() {
  echo "$*" >&2
  failures=$((failures + 1))
}

# refused SENTENCE ARGUMENTS...
refused() {
  local sentence=$1 said status=0
  shift
  said=$("$fourfold" "$@" 2>&1 >/dev/null) || status=$?
  if [ "$status" -ne 2 ] || [ "$(wc -l <<<"$said")" -ne 1 ] || [[ $said != "fourfold: "*"$sentence"* ]]; then
    complain "$*: status $status, said: $said; expected: $sentence"
  fi
}

write_small_job "$work" 2
common=(--model "$work/small.toml" --data "$work/text.txt" --tokens 0 --steps 1 --learning-rate 1e-12 --ranks 1)
held_out() { sed -n 's/^{"kind":"validation",.*"loss":\([0-9.]*\),"words":\([0-9]*\),.*/\1 \2/p' "$1/log.jsonl"; }
for batch in "16 1" "12 2" "6 3"; do
  read -r sequences micro <<<"$batch"
  "$fourfold" train "${common[@]}" --batch "$sequences" --micro-batches "$micro" \
    --folder "$work/run$sequences" >"$work/run.out" 2>&1 || { cat "$work/run.out" >&2; exit 1; }
  held_out "$work/run$sequences" >>"$work/losses"
done
awk '{ if ($2 != 1139 || (NR > 1 && ($1 - first)^2 > 1e-10)) bad = 1; if (NR == 1) first = $1 }
  END { exit bad || NR != 3 }' "$work/losses" || complain "held-out losses differ: $(cat "$work/losses")"

tail -c 1140 "$work/text.txt" >"$work/held-out.txt"
first=$(held_out "$work/run16")
json=$("$fourfold" evaluate --checkpoint "$work/run16" --data "$work/held-out.txt" --json)
python3 - "$json" "$first" <<'PYTHON' || complain "JSON: $json, beside $first"
import json, math, sys
line, (loss, words) = json.loads(sys.argv[1]), sys.argv[2].split()
assert line["words"] == int(words) == 1139, line
assert abs(line["loss"] - float(loss)) < 1e-5, line
assert abs(line["perplexity"] - math.exp(line["loss"])) < 1e-6 * line["perplexity"], line
PYTHON
said=$("$fourfold" evaluate --checkpoint "$work/run16" --data "$work/held-out.txt" "$work/text.txt" \
  --grid 2x1x1x1 2>/dev/null)
[[ $said == *"held-out.txt: loss 5."*" bits a byte, perplexity 2"*"all 2 files: loss "* ]] ||
  complain "two ranks say: $said"

# One text of three words on x = 2.
"$fourfold" train --model "$work/small.toml" --data "$work/text.txt" --steps 1 --batch 2 --texts 1 --tokens 3 \
  --grid 2x1x1x1 --sequence-parallel on --folder "$work/drawn" >"$work/drawn.out" 2>&1 ||
  complain "sequence parallelism does not draw: $(tail -1 "$work/drawn.out")"
sed 's/vocabulary = 256/vocabulary = 128/' "$work/small.toml" >"$work/few.toml"
refused "outside the model's vocabulary of 128" train --model "$work/few.toml" --data "$work/text.txt" --steps 1 \
  --prompt 'é' --folder "$work/none"
refused "--data is required" evaluate --checkpoint "$work/run16"
refused "cannot be read: No such file" evaluate --checkpoint "$work/run16" --data "$work/none.txt"
refused "heads do not divide along x" evaluate --checkpoint "$work/run16" --data "$work/text.txt" --grid 3x1x1x1
[ "$failures" -eq 0 ] || exit 1
echo "evaluations agree"
