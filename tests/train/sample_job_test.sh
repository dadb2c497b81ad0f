#!/usr/bin/env bash
# `fourfold sample` as people run it: from the checkpoint of a small run, on one rank and on four,
# as text and as JSON; what cannot work is refused in one sentence.
source "$(dirname "${BASH_SOURCE[0]}")/small_job.sh"
failures=0

complain() {
  echo "$*" >&2
  failures=$((failures + 1))
}

# refused STATUS SENTENCE ARGUMENTS...
refused() {
  local expected=$1 sentence=$2 said status=0
  shift 2
  said=$("$fourfold" sample "$@" 2>&1 >/dev/null) || status=$?
  if [ "$status" -ne "$expected" ] || [ "$(wc -l <<<"$said")" -ne 1 ] ||
    [[ $said != "fourfold: "*"$sentence"* ]]; then
    complain "sample $*: status $status, said: $said; expected $expected: $sentence"
  fi
}

write_small_job "$work" 2
"$fourfold" train --model "$work/small.toml" --data "$work/text.txt" --ranks 1 \
  --steps 300 --warm-up 30 --learning-rate 0.01 --tokens 0 --folder "$work/run" >"$work/run.out" 2>&1 ||
  { cat "$work/run.out" >&2; exit 1; }
checkpoint=(--checkpoint "$work/run/checkpoints")
likeliest=(--prompt 'she sells sea shells ' --temperature 0 --tokens 16)
expected="she sells sea shells by the sea shore"

said=$("$fourfold" sample "${checkpoint[@]}" "${likeliest[@]}")
[ "$said" = "$expected" ] || complain "one rank says: $said"
said=$("$fourfold" sample "${checkpoint[@]}" "${likeliest[@]}" --grid 2x2x1x1 2>/dev/null)
[ "$said" = "$expected" ] || complain "2x2x1x1 says: $said"
printf '{"prompt": "she sells ", "completion": "sea"}\n' >"$work/documents.jsonl"
for words in "--tokens 4" "--tokens 4 --json" "--complete $work/documents.jsonl" \
  "--tokens 4 --grid 2x1x1x1"; do
  status=0
  # shellcheck disable=SC2086 # several words
  said=$("$fourfold" sample "${checkpoint[@]}" $words 2>&1 >/dev/full) || status=$?
  if [ "$status" -ne 2 ] || [[ $said != *"cannot write to standard output: No space left on device"* ]]; then
    complain "sample $words to a full disk: status $status, said: $said"
  fi
done
said=$("$fourfold" sample "${checkpoint[@]}" --texts 2 --tokens 8 --seed 3)
[[ $said == *"text 1 of 2"*"text 2 of 2"* ]] || complain "two texts: $said"
# The nucleus is that of every grid, and the text ends where it is told to, which is not shown.
drawn=(--prompt 'she sells ' --temperature 1.5 --top-p 0.9 --tokens 24 --seed 5)
said=$("$fourfold" sample "${checkpoint[@]}" "${drawn[@]}" 2>/dev/null)
other=$("$fourfold" sample "${checkpoint[@]}" "${drawn[@]}" --top-p 1 2>/dev/null) || true
for grid in 2x1x1x1 1x2x1x1 1x1x1x2 2x1x2x1; do
  other=$("$fourfold" sample "${checkpoint[@]}" "${drawn[@]}" --grid "$grid" 2>/dev/null)
  [ "$said" = "$other" ] || complain "the nucleus on $grid says $other, on one rank $said"
done
for stop in 'ea sh' 'sh' 'by'; do
  said=$("$fourfold" sample "${checkpoint[@]}" "${likeliest[@]}" --stop "$stop" --stop 'never' 2>/dev/null)
  after=${expected#she sells sea shells }
  [ "$said" = "she sells sea shells ${after%%"$stop"*}" ] || complain "stopped by $stop: $said"
done
said=$("$fourfold" sample "${checkpoint[@]}" "${likeliest[@]}" --end-word 104 --json 2>/dev/null)
[[ $said == *'"text":"she sells sea shells by t"'*'"ended_by":"end word"'* ]] || complain "ended by h: $said"
json=$("$fourfold" sample "${checkpoint[@]}" "${likeliest[@]}" --json)
if command -v python3 >/dev/null; then
  python3 -c 'import json, sys
line = json.loads(sys.argv[1])
assert line["texts"][0]["text"] == sys.argv[2] and line["step"] == 300, line' "$json" "$expected" ||
    complain "JSON: $json"
fi

refused 2 "--checkpoint is required"
refused 2 "did you mean \"--checkpoint\"?" --chekpoint "$work/run/checkpoints"
refused 2 "'-1' is no whole number from 0 to" "${checkpoint[@]}" --top-k -1
refused 2 "--top-p: must be at least 1e-09 and at most 1, not 0" "${checkpoint[@]}" --top-p 0
refused 2 "--top-p has no effect with --temperature 0" "${checkpoint[@]}" --temperature 0 --top-p 0.9
refused 2 "--top-k has no effect with --temperature 0" "${checkpoint[@]}" --temperature 0 --top-k 9
refused 2 "--stop has no effect with --complete" "${checkpoint[@]}" --stop x \
  --complete "$work/documents.jsonl"
refused 2 "--end-word: 'h' is neither model nor none nor a word from 0 to" "${checkpoint[@]}" --end-word h
refused 2 "--stop" "${checkpoint[@]}" --stop ''
refused 2 "does not exist" --checkpoint "$work/nowhere"
refused 2 "holds no checkpoint" --checkpoint "$work"
refused 2 "heads do not divide along x" "${checkpoint[@]}" --grid 3x1x1x1
refused 2 "has 2 ranks, not 4" "${checkpoint[@]}" --grid 2x1x1x1 --ranks 4
refused 2 "unknown --precision" "${checkpoint[@]}" --precision fp16
printf 'x' | dd of="$work/run/checkpoints/step-00000300.safetensors" bs=1 seek=20000 conv=notrunc \
  2>/dev/null
refused 2 "is damaged" "${checkpoint[@]}"
help=$("$fourfold" sample --help)
for part in --checkpoint --temperature --top-k --top-p --stop --end-word --json "Examples:"; do
  [[ $help == *"$part"* ]] || complain "the help does not mention $part"
done
[ "$failures" -eq 0 ] || exit 1
echo "checkpoints speak"
