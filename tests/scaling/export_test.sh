#!/usr/bin/env bash
# fourfold platforms export --simgrid-xml: well-formed XML with a route for every ordered pair; what
# it cannot say is refused in words.
set -euo pipefail
fourfold=${FOURFOLD_BIN_DIR:?}/fourfold
file=$(mktemp)
trap 'rm -f "$file"' EXIT

fail() {
  echo "$1" >&2
  exit 1
}

"$fourfold" platforms export frontier --simgrid-xml --devices 24 --output "$file"
[ "$(grep -c '<host ' "$file")" -eq 24 ] || fail "24 devices are 24 hosts"
[ "$(grep -c '<route ' "$file")" -eq $((24 * 23)) ] || fail "24 hosts have 552 ordered pairs"
grep -q '<link id="node 2 nic 3 in" bandwidth=' "$file" || fail "the last node has NICs"
[ "$(grep '<link ' "$file" | sort | uniq -d | wc -l)" -eq 0 ] || fail "no link stands twice"
while IFS= read -r crossed; do
  grep -qF "<link id=\"$crossed\" " "$file" || fail "routes cross '$crossed', which is no link"
done < <(grep -o '<link_ctn id="[^"]*"' "$file" | cut -d'"' -f2 | sort -u)
"$fourfold" platforms export frontier --simgrid-xml --devices 24 | cmp - "$file" ||
  fail "standard output and file differ"

# refused SENTENCE ARGUMENTS...
refused() {
  local sentence=$1 said
  shift
  if said=$("$fourfold" platforms export "$@" 2>&1 >/dev/null); then
    fail "accepted: $*"
  fi
  [[ $said == *"$sentence"* ]] || fail "$*: said: $said; expected: $sentence"
}
refused "export 256 at most" frontier --simgrid-xml --devices 257
refused "1 to 256 can be exported, not 0" frontier --simgrid-xml --devices 0
refused "416 devices" jean-zay --simgrid-xml --devices 417
refused "private_port_per_lane" crossbar --simgrid-xml --devices 4
refused "--simgrid-xml is required" frontier
echo "platforms are exported whole or not at all"
