#!/usr/bin/env bash
# Fails when a name says less than it could: the namespace of a source is its folder, no two headers
# declare a type of one name, and a word of the field is declared in one place of all.
set -euo pipefail
cd "${FOURFOLD_SOURCE_DIR:?must name the root of the sources to check}"
failures=$(mktemp)
trap 'rm -f "$failures"' EXIT

sources() {
  find support schedule platforms sim scaling engine bench microbench -name "*.$1" | sort
}

# Blocks of forward declarations may name the namespace of another folder; functions may stand in
# one within the room's. A main that defines nothing else needs none.
sources '[ch]pp' | xargs awk '
  function close_file() {
    if (named && !own) print file " is not in the namespace of its folder, `" room "`."
  }
  FNR == 1 {
    close_file()
    file = room = FILENAME
    sub(/\/[^\/]*$/, "", room); gsub(/\//, "::inline ", room)
    room = "namespace fourfold::inline " room
    named = own = 0
  }
  /^namespace fourfold/ {
    named = 1
    if (index($0, room) == 1 && substr($0, length(room) + 1) ~ /^(::[a-z]+)? [{]$/) own = 1
    if ($0 !~ /^namespace fourfold::/) print FILENAME ":" FNR ": is no namespace of a room."
  }
  END { close_file() }' >>"$failures"

# name:file of each type that is declared with a body, indented ones with a space before the name.
types() {
  xargs awk '
    match($0, /^ *(class|struct|enum class|using) [A-Z][A-Za-z0-9]*( final)?( : [^;{=]*)? *([{=]|$)/) {
      indent = $0; sub(/[^ ].*/, "", indent)
      name = $0; sub(/^ */, "", name); sub(/^(class|struct|enum class|using) /, "", name)
      sub(/[^A-Za-z0-9].*/, "", name)
      print (indent == "" ? "" : " ") name ":" FILENAME
    }'
}

sources hpp | types | grep -v '^ ' | sort -u | awk -F: '
  $1 == name { print $2 " and " file " both declare " name "; call one of them after what it is." }
  { name = $1; file = $2 }' >>"$failures"

# These had two to five meanings, so that they are declared once, wherever that is.
sources '[ch]pp' | types | sed 's/^ //' | sort |
  awk -F: '/^(Finding|Reach|Operation|Question|Stretch|Walk|Plan|Meeting|Group):/ {
    if ($1 == name) print $2 " and " file " both declare " name ", which has one meaning."
    name = $1; file = $2 }' >>"$failures"

# A word that had several meanings names the files of one place alone.
one_place() {
  find support schedule platforms sim scaling engine bench microbench -path "*$1*" -type f -not -path "$2*" \
    -printf "%p: '$1' is what $2 is about; call this after what it is.\n" >>"$failures"
}
one_place witness sim/witness/
one_place exchange engine/train/checkpoint/checkpoint_exchange

if [ -s "$failures" ]; then
  cat "$failures"
  exit 1
fi
echo "every name has one meaning"
