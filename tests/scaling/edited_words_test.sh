#!/usr/bin/env bash
# Command lines with one flag more or another value keep the laws of edited_words.py; what they are
# refused with is recorded, each sentence once.
source "$(dirname "${BASH_SOURCE[0]}")/command_line.sh"
export FOURFOLD_PLATFORMS=${FOURFOLD_SOURCE_DIR:?}/tests/machines
python3 "$FOURFOLD_SOURCE_DIR/tests/scaling/edited_words.py" "$fourfold" "$FOURFOLD_SOURCE_DIR/tests/golden" \
  >"$folder/said" || fail "laws of command lines are broken"
sed "s|$FOURFOLD_SOURCE_DIR|SOURCE|g" "$folder/said" >"$folder/is"
is_golden "$folder/is" refused_flags.txt
