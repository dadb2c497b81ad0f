#!/usr/bin/env bash
# fourfold platforms export --simgrid-xml: a route for every ordered pair, over links that are there;
# what it cannot say is refused in words.
source "$(dirname "${BASH_SOURCE[0]}")/command_line.sh"
file=$folder/frontier.xml

run 0 platforms export frontier --simgrid-xml --devices 24 --output "$file"
[ "$(grep -c '<host ' "$file")" -eq 24 ] || fail "24 devices are 24 hosts"
[ "$(grep -c '<route ' "$file")" -eq $((24 * 23)) ] || fail "24 hosts have 552 ordered pairs"
[ "$(grep '<link ' "$file" | sort | uniq -d | wc -l)" -eq 0 ] || fail "no link stands twice"
while IFS= read -r crossed; do
  grep -qF "<link id=\"$crossed\" " "$file" || fail "routes cross '$crossed', which is no link"
done < <(grep -o '<link_ctn id="[^"]*"' "$file" | cut -d'"' -f2 | sort -u)
"$fourfold" platforms export frontier --simgrid-xml --devices 24 | cmp - "$file" ||
  fail "standard output and file differ"

run 2 platforms export frontier --simgrid-xml --devices 257
says "export 256 at most"
run 2 platforms export jean-zay --simgrid-xml --devices 417
says "416 devices"
run 2 platforms export crossbar --simgrid-xml --devices 4
says "private_port_per_lane"
run 2 platforms export frontier
says "--simgrid-xml is required"
echo "platforms are exported whole or not at all"
