#!/usr/bin/env bash
# Every flag of `fourfold train` changes what a run leaves, where it matters, or is refused.
source "$(dirname "${BASH_SOURCE[0]}")/small_job.sh"
write_small_job "$work" 2
sed 's/layers = 2/layers = 8/' "$work/small.toml" >"$work/deep.toml"
for ((i = 0; i < 400; i++)); do echo "line $i of another text, whose words are others"; done >"$work/other.txt"
python3 "$FOURFOLD_SOURCE_DIR/tests/train/flags_effect.py" "${FOURFOLD_BIN_DIR:?}" "$work"

# What has no effect beside others is said.
cd "$work"
for zero in 2 3; do
  status=0
  said=$("$FOURFOLD_BIN_DIR/fourfold" train --model ./small.toml --data text.txt --precision bf16 --zero $zero \
    --grad-precision-data bf16 --folder none 2>&1) || status=$?
  if [ $status -ne 2 ] || [[ $said != "fourfold: --grad-precision-data has no effect with --zero $zero, "* ]]; then
    echo "ZeRO $zero takes --grad-precision-data: status $status, said: $said"
    exit 1
  fi
done
