#!/usr/bin/env bash
# fourfold regress in its long form: of as many runs each ($RUNS, 20), an unchanged program raises no
# alarm and a product slowed by 10 % is caught but for one. Takes 20 minutes on an idle machine, as a
# run that looks slower is measured three times; prints each run with the load it met.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../scaling/command_line.sh"
runs=${RUNS:-20}
base=$folder/base.json

# measured WORDS...: the status of one run, which must be an answer.
measured() {
  local status=0
  "$fourfold" regress "$@" --quick --json >"$folder/said" 2>"$folder/complaint" || status=$?
  [ -s "$folder/said" ] || fail "fourfold regress $*: $(cat "$folder/complaint")"
  python3 - "$folder/said" "$1" <<'PYTHON' >&2
import json, os, sys, time
said = json.load(open(sys.argv[1]))
changes = {one["name"]: one["change"] for one in said["judgements"] if one["scale"] == "own-product"}
least = min(changes, key=changes.get) if changes else ""
print(time.strftime("%H:%M:%S"), "load %.1f" % os.getloadavg()[0], "status", said["status"],
      "attempts", said["attempts"], "others %.2f cores, stolen %.2f" % (said["foreign_cores"], said["stolen_cores"]),
      "least %+.1f %% %s" % (100 * changes[least], least) if changes else "",
      [one["name"] for one in said["judgements"] if one["standing"] in ("SLOWER", "faster")],
      said["stragglers"], flush=True)
PYTHON
  echo "$status"
}

[ "$(measured --record "$base")" -eq 0 ] || fail "no baseline: $(cat "$folder/said")"
# Status 3 says that others disturbed the run: no alarm, and no answer.
alarms=0 caught=0 undecided=0
for _ in $(seq "$runs"); do
  status=$(measured --baseline "$base")
  [ "$status" -ne 1 ] || alarms=$((alarms + 1))
  [ "$status" -ne 3 ] || undecided=$((undecided + 1))
  status=$(FOURFOLD_BENCH_REPEAT=product=0.1 measured --baseline "$base")
  [ "$status" -ne 1 ] || caught=$((caught + 1))
  [ "$status" -ne 3 ] || undecided=$((undecided + 1))
done
echo "$alarms alarms in $runs runs of the unchanged program; $caught of $runs runs with a product" \
  "slowed by 10 % were caught; $undecided runs of both were undecided"
[ "$alarms" -eq 0 ] || fail "an unchanged program raised an alarm"
[ "$((caught + undecided))" -ge $((runs - runs / 20)) ] || fail "a slowed product was not caught"
