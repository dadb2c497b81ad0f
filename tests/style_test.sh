#!/usr/bin/env bash
# Checks what no compiler does: a source file opens with a comment that says what it is for, and why
# where it is longer than 400 lines; it has no tab; a source has a header of its name; and complaints have one way out.
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
    if (lines > 400 && !reasoned) {
      complain(file " has " lines " lines; split it, or say in its first comment: long because ...")
    }
  }
  function complain(sentence) { print sentence; failed = 1 }
  FNR == 1 { close_file(); file = FILENAME; sub(/^[.]\//, "", file); commented = reasoned = 0 }
  { lines = FNR }
  FNR == 1 && /^(\/\/ |# )/ { commented = 1 }
  FNR < 6 && /^(\/\/ |# ).*long because/ { reasoned = 1 }
  FNR == 2 && shebang == FILENAME && /^# / { commented = 1 }
  FNR == 1 && /^#!/ { shebang = FILENAME }
  /\t/ { complain(file ":" FNR " has a tab; indent with spaces.") }
  END { close_file(); if (!failed) print "every source file is in order"; exit failed }
'

# Mains, verbs (scaling/cli/commands.hpp lists them), tests and benchmarks have none.
failed=0
while IFS= read -r source; do
  case $source in
    */main.cpp | */command_*.cpp) continue ;;
  esac
  if [ ! -f "${source%.cpp}.hpp" ]; then
    echo "$source has no header of its name; give it one, or put it where it is declared."
    failed=1
  fi
done < <(find support schedule platforms sim engine scaling bench -name '*.cpp' 2>/dev/null | sort)

# What quotes files and names is said by support/complaint or say_line, in one visible line.
if grep -rnE 'std::cerr|"fourfold(-[a-z]+)?: |[^_]say\(fmt::format\(.*\\n"' support schedule platforms sim engine \
  scaling bench --include='*.cpp' | grep -vE '^(sim/witness/main|scaling/jobs/interrupt)[.]cpp:'; then
  echo "these lines say something around support/complaint, by which no name looks like two sentences."
  failed=1
fi
# Who writes a pipe that nobody reads dies of it, by chance, and pipefail makes that the answer.
if grep -rnE '[|] grep -[a-zA-Z]*q' tests --include='*_test.sh'; then
  echo "these pipes end in a reader that leaves early; end them in heard (tests/scaling/command_line.sh)."
  failed=1
fi
# Tests run side by side: a name that two of them may choose is a file that one takes from the other.
if grep -rnE 'TempDir\(|temp_directory_path|mkdtemp|mkstemp|tmpnam' tests --include='*.[hc]pp' |
  grep -v '^tests/temporary_folder[.]hpp:'; then
  echo "these tests name a temporary file themselves; give each a folder of its own, a TemporaryFolder."
  failed=1
fi
exit "$failed"
