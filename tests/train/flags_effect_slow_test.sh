#!/usr/bin/env bash
# Every flag of `fourfold train` changes what a run leaves, where it matters, or is refused.
source "$(dirname "${BASH_SOURCE[0]}")/small_job.sh"
write_small_job "$work" 2
sed 's/layers = 2/layers = 8/' "$work/small.toml" >"$work/deep.toml"
for ((i = 0; i < 400; i++)); do echo "line $i of another text, whose words are others"; done >"$work/other.txt"
python3 "$FOURFOLD_SOURCE_DIR/tests/train/flags_effect.py" "${FOURFOLD_BIN_DIR:?}" "$work"
