#!/usr/bin/env bash
# Every flag, word and key that names a file, given what is no such file: each ends soon, in a sentence
# of ours. Those that start the engine are tried too, and take most of the minute.
source "$(dirname "${BASH_SOURCE[0]}")/command_line.sh"
TMPDIR=$folder python3 "$FOURFOLD_SOURCE_DIR/tests/scaling/handed_in_files.py" "$fourfold" \
  "$FOURFOLD_SOURCE_DIR"
