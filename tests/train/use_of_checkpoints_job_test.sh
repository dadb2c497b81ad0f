#!/usr/bin/env bash
# `fourfold sample` and `fourfold evaluate` as people run them: text from the checkpoint of a small run,
# and its loss on files, on one rank and on more, as text and as JSON; what cannot work is refused in
# one sentence.
source "$(dirname "${BASH_SOURCE[0]}")/small_job.sh"
write_small_job "$work" 2
"$fourfold" train --model ./small.toml --data text.txt --ranks 1 --steps 300 --warm-up 30 --learning-rate 0.01 \
  --tokens 0 --folder run >run.out 2>&1 || fail "a small run ended with $?"
sample=(sample --checkpoint run/checkpoints)

# said TEXT ARGUMENTS...: what is drawn has the text, and where that begins with =, is the rest of it.
said() {
  local text
  text=$("$fourfold" "${sample[@]}" "${@:2}" 2>/dev/null) || fail "sample ${*:2}: status $?"
  [[ $text == *"$1"* || "=$text" == "$1" ]] || fail "sample ${*:2} says: $text; expected: $1"
}
likeliest=(--prompt 'she sells sea shells ' --temperature 0 --tokens 16)
expected="she sells sea shells by the sea shore"
said "=$expected" "${likeliest[@]}"
said "=$expected" "${likeliest[@]}" --grid 2x2x1x1
said "\"step\":300" "${likeliest[@]}" --json
said "\"text\":\"$expected\"" "${likeliest[@]}" --json
said "text 2 of 2" --texts 2 --tokens 8 --seed 3
# The nucleus is that of every grid, and the text ends where it is told to, which is not shown.
drawn=(--prompt 'she sells ' --temperature 1.5 --top-p 0.9 --tokens 24 --seed 5)
text=$("$fourfold" "${sample[@]}" "${drawn[@]}" 2>/dev/null)
said "=$text" "${drawn[@]}" --grid 2x1x2x1
for stop in 'ea sh' 'sh' 'by'; do
  after=${expected#she sells sea shells }
  said "=she sells sea shells ${after%%"$stop"*}" "${likeliest[@]}" --stop "$stop" --stop never
done
said '"text":"she sells sea shells by t"' "${likeliest[@]}" --end-word 104 --json
said '"ended_by":"end word"' "${likeliest[@]}" --end-word 104 --json

printf '{"prompt": "she sells ", "completion": "sea"}\n' >documents.jsonl
for words in "--tokens 4" "--tokens 4 --json" "--complete documents.jsonl" "--tokens 4 --grid 2x1x1x1"; do
  status=0
  # shellcheck disable=SC2086 # several words
  text=$("$fourfold" "${sample[@]}" $words 2>&1 >/dev/full) || status=$?
  if [ "$status" -ne 2 ] || [[ $text != *"cannot write to standard output: No space left on device"* ]]; then
    fail "sample $words to a full disk: status $status, said: $text"
  fi
done
refused "--checkpoint is required" sample
refused "--top-p has no effect with --temperature 0" "${sample[@]}" --temperature 0 --top-p 0.9
refused "--top-k has no effect with --temperature 0" "${sample[@]}" --temperature 0 --top-k 9
refused "--stop has no effect with --complete" "${sample[@]}" --stop x --complete documents.jsonl
refused "--end-word: 'h' is neither model nor none nor a word from 0 to" "${sample[@]}" --end-word h
refused "--stop" "${sample[@]}" --stop ''
refused "holds no checkpoint" sample --checkpoint .
refused "heads do not divide along x" "${sample[@]}" --grid 3x1x1x1
refused "has 2 ranks, not 4" "${sample[@]}" --grid 2x1x1x1 --ranks 4
refused "unknown --precision" "${sample[@]}" --precision fp16

# The loss of held-out text is the one that the run has said at its end.
read -r loss words < <(sed -n 's/^{"kind":"validation",.*"loss":\([0-9.]*\),"words":\([0-9]*\),.*/\1 \2/p' run/log.jsonl | tail -n 1)
tail -c 1140 text.txt >held-out.txt
json=$("$fourfold" evaluate --checkpoint run --data held-out.txt --json)
python3 - "$json" "$loss" "$words" <<'PYTHON' || fail "JSON: $json, beside $loss on $words"
import json, math, sys
line = json.loads(sys.argv[1])
assert line["words"] == int(sys.argv[3]) == 1139, line
assert abs(line["loss"] - float(sys.argv[2])) < 1e-5, line
assert abs(line["perplexity"] - math.exp(line["loss"])) < 1e-6 * line["perplexity"], line
PYTHON
text=$("$fourfold" evaluate --checkpoint run --data held-out.txt text.txt --grid 2x1x1x1 2>/dev/null)
[[ $text == *"held-out.txt: loss "*" bits a byte, perplexity "*"all 2 files: loss "* ]] || fail "two ranks say: $text"
refused "--data is required" evaluate --checkpoint run
refused "cannot be read: No such file" evaluate --checkpoint run --data none.txt
refused "heads do not divide along x" evaluate --checkpoint run --data text.txt --grid 3x1x1x1

printf 'x' | dd of=run/checkpoints/step-00000300.safetensors bs=1 seek=20000 conv=notrunc 2>/dev/null
refused "is damaged" "${sample[@]}"
echo "checkpoints speak"
