#!/usr/bin/env bash
# Command lines with one flag more or another value: what each hears, or which entries of the record
# it changes, in the golden text edited_words.txt.
set -euo pipefail
golden=${FOURFOLD_SOURCE_DIR:?}/tests/golden/edited_words.txt
export FOURFOLD_PLATFORMS=$FOURFOLD_SOURCE_DIR/tests/machines
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 "$FOURFOLD_SOURCE_DIR/tests/scaling/edited_words.py" "${FOURFOLD_BIN_DIR:?}/fourfold" |
  sed "s|$FOURFOLD_SOURCE_DIR|SOURCE|g" >is
cmp -s is "$golden" && exit
left=${TMPDIR:-/tmp}/edited_words.txt
cp is "$left"
echo "tests/golden/edited_words.txt was (<) and is (>); the new text is in $left:" >&2
diff "$golden" is | head -n 20 >&2
exit 1
