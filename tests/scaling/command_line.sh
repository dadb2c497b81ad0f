# What tests of the command line start with, sourced by them: $fourfold, a $folder that is gone at
# the end, fail WORDS, run STATUS ARGUMENTS, says WORDS, heard, one_point, and is_golden.
set -euo pipefail
fourfold=${FOURFOLD_BIN_DIR:?}/fourfold
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# With the end of what fourfold said last, if that is in $folder/said.
fail() {
  echo "FAILED: $*" >&2
  [ ! -f "$folder/said" ] || tail -n 20 "$folder/said" >&2
  exit 1
}

# run STATUS ARGUMENTS...: what fourfold says goes to $folder/said.
run() {
  local expected=$1 status=0
  shift
  "$fourfold" "$@" >"$folder/said" 2>&1 || status=$?
  [ "$status" -eq "$expected" ] || fail "fourfold $* ended with $status, not $expected"
}

says() { grep -qF -- "$1" "$folder/said" || fail "it did not say: $1"; }

# As grep -q at the end of a pipe, but for that it reads to the end: who writes a pipe that nobody
# reads dies of it, and pipefail makes that the answer.
heard() { grep "$@" | cat >/dev/null; }

# one_point FILE FIDELITY BATCH_TOKENS PLATFORM POINT: writes a campaign of that point.
one_point() {
  printf '%s\n' 'title = "One point"' "fidelity = \"$2\"" "batch_tokens = $3" '[[machine]]' \
    "platform = \"$4\"" "points = [{ $5 }]" >"$1"
}

# is_golden FILE NAME: FILE is tests/golden/NAME word for word; else the first differences are told and
# its text is left where ./test.sh --accept finds it.
is_golden() {
  local golden=${FOURFOLD_SOURCE_DIR:?}/tests/golden/$2 new=$FOURFOLD_BIN_DIR/../new_texts/$2
  rm -f "$new"
  fold -s -w 200 "$1" >"$1.folded"
  cmp -s "$1.folded" "$golden" && return
  mkdir -p "$(dirname "$new")" && cp "$1.folded" "$new"
  echo "tests/golden/$2 was (<) and is (>); ./test.sh --accept takes the new text over:" >&2
  { diff "$golden" "$1.folded" || true; } | head -n 20 >&2
  return 1
}
