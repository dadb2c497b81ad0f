#!/usr/bin/env bash
# Simulated explanations and traces, end to end: what is said, that it parses, that nothing is left
# behind by a failure, that progress shows and that Ctrl-C ends everything at once.
source "$(dirname "${BASH_SOURCE[0]}")/command_line.sh"

says() { grep -qE -- "$1" "$folder/said" || fail "it did not say: $1"; }

point=(--platform frontier --model gpt-5b --devices 64 --grid 4x2x2x4)
"$fourfold" project "${point[@]}" --jitter 2% --slow-devices 1:0.5 --explain \
  --trace "$folder/trace.json" >"$folder/said"
says "^the slow device +1 "
says "^NIC +23.8 "
says "no jitter .* simulation"
says "perfect overlap.* bound"
says "The closed form does not include: jitter, slow devices"
says "Slower devices limit this run: .*; they cost [0-9.]+"

"$fourfold" project --platform frontier --model gpt-5b --grid x=2,pipe=4,data=4 --micro-batches 8 --batch-tokens 262144 \
  --trace "$folder/stages.json" >/dev/null
"$fourfold" project "${point[@]}" --fidelity estimated --trace "$folder/closed.json" >/dev/null
python3 "${FOURFOLD_SOURCE_DIR:?}/tests/trace_nests.py" "$folder"/{trace,stages,closed}.json || fail "events cross"

# In full, with the platform's what-ifs, as JSON: links are slower and busier than without.
"$fourfold" project "${point[@]}" --fidelity full --explain --json >"$folder/plain.json"
"$fourfold" project "${point[@]}" --fidelity full --explain --json --degrade nic:3.1=0.25 \
  --scale nics=0.5 >"$folder/worse.json"
python3 - "$folder" <<'PYTHON' || fail "the explanations as JSON are not what they should be"
import json, sys
plain, worse = (json.load(open(f"{sys.argv[1]}/{name}.json")) for name in ("plain", "worse"))
for one in (plain, worse):
    assert one["fidelity"] == "full"
    why = one["explanation"]
    assert abs(sum(why["critical_path_s"].values()) - why["total_s"]) < 1e-9 * why["total_s"]
    # The replay of so small a job takes some tens of MiB and less than a minute, on any machine.
    assert 5 < one["replay"]["peak_rss_MiB"] < 1000 and 0 < one["replay"]["cpu_s"] < 60, one["replay"]
    links = why["simulation"]["links"]
    assert links and all(0 < l["busiest_utilisation"] <= 1 + 1e-9 for l in links)
    assert {i["by"] for i in why["ideals"].values()} == {"simulation", "bound"}
nic = lambda one: next(l for l in one["explanation"]["simulation"]["links"] if l["class"] == "NIC")
assert abs(nic(worse)["capacity_B_per_s"] / nic(plain)["capacity_B_per_s"] - 0.5) < 1e-9
assert abs(nic(worse)["all_B"] / nic(plain)["all_B"] - 1) < 1e-9, "total bytes depend on the links"
# What NIC 1 cannot carry goes through the others of its node.
assert "node 3 nic" in nic(worse)["busiest"] and "nic 1" not in nic(worse)["busiest"], nic(worse)
assert worse["explanation"]["not_in_closed_form"] == ["degraded links"]
assert "with_sound_links" in worse["explanation"]["ideals"]
PYTHON

# A run that fails leaves no file, and an old one as it was.
echo old >"$folder/kept.json"
for file in none.json kept.json; do
  if "$fourfold" project "${point[@]}" --slow-devices 99:0.5 --trace "$folder/$file" \
    >"$folder/said" 2>&1; then
    fail "99 slow devices of 64 are no success"
  fi
done
[ ! -e "$folder/none.json" ] || fail "a failed run left a trace"
[ "$(cat "$folder/kept.json")" = old ] || fail "a failed run touched the old trace"
[ -z "$(find "$folder" -name '*.new')" ] || fail "a draft was left behind"

# Long work: progress on a terminal, and Ctrl-C ends it and its child at once.
long=(project --platform frontier --model gpt-320b --devices 8192 --grid 16x1x16x32
  --micro-batches 16 --fidelity full --jitter 2%)
left="simulating with what-ifs, [0-9]+ % done, about [0-9:]+ left"
script -qefc "echo \$\$ >$folder/process; exec $fourfold ${long[*]}" /dev/null >"$folder/said" 2>&1 &
terminal=$!
until tr '\r' '\n' <"$folder/said" | heard -E "$left"; do
  kill -0 "$terminal" 2>/dev/null || break
  sleep 0.1
done
kill -INT "$(cat "$folder/process")" || fail "the long run ended by itself: it is no test"
wait "$terminal" && fail "an interrupted run is no success"
tr '\r' '\n' <"$folder/said" >"$folder/lines"
grep -qE "$left" "$folder/lines" || fail "no progress with time left"
says "fourfold: interrupted"

echo "explanations hold"
