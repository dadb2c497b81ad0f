#!/usr/bin/env bash
# Checks what no compiler does: a source file opens with a comment that says what it is for, has no
# tab, and stays within 300 lines.
set -euo pipefail
cd "${FOURFOLD_SOURCE_DIR:?must name the root of the sources to check}"

# A shebang may stand before the comment; lines are counted per file.
find . \( -name build -o -name 'build-*' -o -name .git -o -name results \) -prune -o -type f \( \
  -name '*.hpp' -o -name '*.cpp' -o -name '*.in' -o -name '*.cmake' -o -name CMakeLists.txt \
  -o -name '*.sh' -o -name '*.toml' -o -name '*.gp' -o -name '*.gnuplot' -o -name packages.txt \
  \) -print0 | sort -z | xargs -0 awk '
  function close_file() {
    if (file == "") return
    if (!commented) complain(file ":1 should be a comment that says what the file is for.")
    if (lines > 300) complain(file " has " lines " lines; split it, 300 is the limit.")
  }
  function complain(sentence) { print sentence; failed = 1 }
  FNR == 1 { close_file(); file = FILENAME; sub(/^[.]\//, "", file); commented = 0 }
  { lines = FNR }
  FNR == 1 && /^(\/\/ |# )/ { commented = 1 }
  FNR == 2 && shebang == FILENAME && /^# / { commented = 1 }
  FNR == 1 && /^#!/ { shebang = FILENAME }
  /\t/ { complain(file ":" FNR " has a tab; indent with spaces.") }
  END { close_file(); if (!failed) print "every source file is in order"; exit failed }
'
