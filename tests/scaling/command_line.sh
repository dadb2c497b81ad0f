# What tests of the command line start with, sourced by them: $fourfold, a $folder that is gone at
# the end, fail WORDS, and is_golden.
set -euo pipefail
fourfold=${FOURFOLD_BIN_DIR:?}/fourfold
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() {
  echo "$1" >&2
  exit 1
}

# is_golden FILE NAME LEFT: FILE is tests/golden/NAME word for word; else its text is left in LEFT and
# the first differences are told.
is_golden() {
  local golden=${FOURFOLD_SOURCE_DIR:?}/tests/golden/$2
  cmp -s "$1" "$golden" && return
  mkdir -p "$(dirname "$3")" && cp "$1" "$3"
  echo "tests/golden/$2 was (<) and is (>); the new text is in $3:" >&2
  { diff "$golden" "$1" || true; } | head -n 20 >&2
  return 1
}
