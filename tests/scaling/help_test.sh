#!/usr/bin/env bash
# --help of every verb: no line beyond 100 characters, examples of that verb only, and no file of the
# source tree that is not there.
set -euo pipefail
fourfold=${FOURFOLD_BIN_DIR:?}/fourfold
cd "${FOURFOLD_SOURCE_DIR:?}"

fail() {
  echo "fourfold $verb --help: $1" >&2
  exit 1
}

# The files that a help names: what it tells to write or to bring along lies elsewhere.
files_in() {
  grep -oE '(^|[ "'\''(])(\w+/)+\w[A-Za-z0-9_.-]*\.(toml|csv|md|gp)\b' | tr -d ' "'\''(' | grep -vE '^(results|path)/' || true
}

verbs=("") named=0 does=
while [ ${#verbs[@]} -gt 0 ]; do
  verb=${verbs[0]}
  verbs=("${verbs[@]:1}")
  # shellcheck disable=SC2086
  said=$("$fourfold" $verb --help)
  first=$(head -n 1 <<<"$said")
  if [[ $verb != *list ]] && grep -qxF -- "$first" <<<"$does"; then fail "it does what another verb does: $first"; fi
  does+=$first$'\n'
  if grep -E '.{101}' <<<"$said"; then fail "a line of more than 100 characters"; fi
  examples=$(grep -c '^  fourfold ' <<<"$said") || true
  own=$(grep -c "^  fourfold $verb" <<<"$said") || true
  [ "$examples" -gt 0 ] && [ "$examples" -eq "$own" ] || fail "$own of $examples examples are its own"
  for file in $(files_in <<<"$said"); do
    [ -e "$file" ] || fail "it names $file, which is not there"
    named=$((named + 1))
  done
  while read -r below; do
    verbs+=("${verb:+$verb }$below")
  done < <(awk '/^Subcommands:/ { below = 1; next } /^[^ ]/ { below = 0 } below && /^  [a-z]/ { print $1 }' <<<"$said")
done
[ $named -gt 20 ] || fail "only $named files are named in all"
[ "$("$fourfold" platforms list)" = "$("$fourfold" platforms)" ]
[ "$("$fourfold" platforms list --json)" = "$("$fourfold" platforms --json)" ]
echo "help is readable"
