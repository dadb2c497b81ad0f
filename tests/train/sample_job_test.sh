#!/usr/bin/env bash
# `fourfold sample` as people run it: from the checkpoint of a small run, on one rank and on four,
# as text and as JSON; what cannot work is refused in one sentence.
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
printf 'x' | dd of=run/checkpoints/step-00000300.safetensors bs=1 seek=20000 conv=notrunc 2>/dev/null
refused "is damaged" "${sample[@]}"
echo "checkpoints speak"
