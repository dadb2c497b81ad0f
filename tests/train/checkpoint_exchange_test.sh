#!/usr/bin/env bash
# A GPT-2 in Hugging Face's layout comes in, draws what it draws elsewhere, is trained on any grid, and
# goes out again with every tensor's bits; what is damaged is refused in one sentence.
set -euo pipefail

fourfold=$FOURFOLD_BIN_DIR/fourfold
by_hand="python3 $FOURFOLD_SOURCE_DIR/tests/train/foreign_gpt2.py"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

fail() {
  echo "FAILED: $1" >&2
  exit 1
}

# expect_refusal WORDS COMMAND...
expect_refusal() {
  local status=0 text
  text=$("${@:2}" 2>&1) || status=$?
  [[ $status != 0 ]] || fail "not refused: ${*:2}"
  [[ $text == *"$1"* ]] || fail "'$1' is not in: $text"
  [[ $(wc -l <<<"$text") == 1 ]] || fail "more than one line: $text"
}

for files in 1 3; do
  $by_hand make "given-$files" $files
  "$fourfold" checkpoint import "given-$files" "ours-$files" >/dev/null

  # Comes in and goes out: other files, the same bits.
  "$fourfold" checkpoint export "ours-$files" "back-$files" >/dev/null
  $by_hand same "given-$files" "back-$files"
  "$fourfold" checkpoint export "ours-$files" "small-$files" --shard-GB 0.000005 >/dev/null
  [[ -f small-$files/model.safetensors.index.json ]] || fail "there is no index"
  $by_hand same "given-$files" "small-$files"
done

# Draws what the model draws when it is computed by hand.
expected=$($by_hand draw given-3 7)
for grid in 1x1x1x1 2x1x1x1; do
  drawn=$("$fourfold" sample --checkpoint ours-3 --grid $grid --prompt '1 2 3' --tokens 7 \
    --temperature 0 --json 2>/dev/null)
  [[ $drawn == *"\"text\":\"$expected\""* ]] || fail "by hand $expected, on $grid $drawn"
done

# Is trained as it is, on a grid; what comes out has the types of what came in.
python3 -c 'import random; r = random.Random(1)
open("words.bin", "wb").write(b"".join(r.randrange(50).to_bytes(2, "little") for _ in range(3000)))'
"$fourfold" train --start-from ours-3 --data words.bin --grid 1x2x1x1 --batch 4 --steps 2 --tokens 0 \
  --folder run >/dev/null 2>&1 || fail "training from the imported weights"
"$fourfold" checkpoint export run trained >/dev/null
python3 - <<'P' || fail "types or values after training"
import json, struct
def head(path):
    raw = open(path, "rb").read()
    n = struct.unpack("<Q", raw[:8])[0]
    return {k: (v["dtype"], v["shape"]) for k, v in json.loads(raw[8:8 + n]).items() if "shape" in v}
given = {k: v for i in (1, 2, 3)
         for k, v in head(f"given-3/model-0000{i}-of-00003.safetensors").items() if ".attn.bias" not in k}
assert head("trained/model.safetensors") == given
P
! $by_hand same given-3 trained 2>/dev/null || fail "training has changed nothing"

# What cannot be taken.
expect_refusal "holds checkpoints already" "$fourfold" checkpoint import given-1 ours-1
expect_refusal "is not empty" "$fourfold" checkpoint export ours-1 given-1
expect_refusal "config.json cannot be read" "$fourfold" checkpoint import nowhere there
cp -r given-1 cut && truncate -s -10 cut/model.safetensors
expect_refusal "is truncated" "$fourfold" checkpoint import cut there
cp -r given-1 damaged && printf 'x' | dd of=damaged/model.safetensors bs=1 seek=20 conv=notrunc 2>/dev/null
expect_refusal "safetensors" "$fourfold" checkpoint import damaged there
cp -r given-3 lacking && rm lacking/model-00002-of-00003.safetensors
expect_refusal "model-00002-of-00003.safetensors cannot be read" "$fourfold" checkpoint import lacking there
cp -r given-1 other && sed -i 's/"gpt2"/"bert"/' other/config.json
expect_refusal 'model_type "bert"; known: "gpt2"' "$fourfold" checkpoint import other there
cp -r given-1 longer && sed -i 's/"n_positions": 12/"n_positions": 13/' longer/config.json
expect_refusal "wpe.weight as 12 x 16, and config.json asks for 13 x 16" "$fourfold" checkpoint import longer there
cp -r given-1 relu && sed -i 's/gelu_new/relu/' relu/config.json
expect_refusal 'activation_function "relu"' "$fourfold" checkpoint import relu there
expect_refusal "has no optimizer's state" "$fourfold" train --resume ours-1 --data words.bin --steps 3 \
  --batch 4 --folder no
[[ ! -e there ]] || fail "a refused import has left something"
