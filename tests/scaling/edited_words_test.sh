#!/usr/bin/env bash
# Command lines with one flag more or another value: what each hears, or which entries of the record
# it changes, in the golden text edited_words.txt.
source "$(dirname "${BASH_SOURCE[0]}")/command_line.sh"
export FOURFOLD_PLATFORMS=${FOURFOLD_SOURCE_DIR:?}/tests/machines
python3 "$FOURFOLD_SOURCE_DIR/tests/scaling/edited_words.py" "$fourfold" |
  sed "s|$FOURFOLD_SOURCE_DIR|SOURCE|g" >"$folder/is"
is_golden "$folder/is" edited_words.txt
