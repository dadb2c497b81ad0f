#!/usr/bin/env bash
# fourfold regress in its short form: a baseline, an unchanged run, a product slowed by 20 % and a
# rank slowed by 40 % on purpose, a projection that is not what was recorded, and refusals; no
# absolute time is waited for. regress_slow_test.sh counts over twenty runs, where 10 % may escape
# in one of them: here that would fail a build now and then.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../scaling/command_line.sh"

# regress STATUS WORDS...: fourfold regress ends with one of the STATUSes, split by '|'.
regress() {
  local expected=$1 status=0
  shift
  "$fourfold" regress "$@" >"$folder/said" 2>"$folder/complaint" || status=$?
  [[ "|$expected|" == *"|$status|"* ]] ||
    fail "fourfold regress $*: status $status: $(cat "$folder/said" "$folder/complaint")"
}

base=$folder/base.json
# Virtual machines lose time that nobody here can hold off: each is tried up to three times.
try() {
  local attempt
  for attempt in 1 2 3; do
    (regress "$@") 2>"$folder/last" && return
  done
  fail "three times: $(cat "$folder/last")"
}

try 0 --record "$base" --quick --json
# What looks slower while others hold the cores could not be judged.
unchanged='0|3' slowed='1|3'
try "$unchanged" --baseline "$base" --quick --json
python3 - "$folder/said" <<'PYTHON' || fail "the JSON of regress is not what it should be"
import json, sys
said = json.load(open(sys.argv[1]))
assert said["undecided"] == (said["status"] == 3) and said["provenance"]["commit"], said
lost = said["stolen_cores"] + said["foreign_cores"]
assert lost >= 0.25 or not said["undecided"], said
assert len(said["judgements"]) == (11 if said["ranks"] == 1 else 17), len(said["judgements"])
assert all(one["reference"].keys() >= {"value", "lower", "upper", "unit"}
           for one in said["judgements"]), said
PYTHON

FOURFOLD_BENCH_REPEAT=product=0.2 try "$slowed" --baseline "$base" --quick \
  --junit "$folder/report.xml"
grep -q '^product .* beside our own product' "$folder/said" ||
  fail "a product slowed by 20 % is not named: $(cat "$folder/said")"
grep -q '<failure message=' "$folder/report.xml" || fail "JUnit's file has no failure"
if grep -E '.{121}' "$folder/said"; then fail "a line of more than 120 characters"; fi

# A rank that is slower than its peers, under mpirun of our own and under the user's.
FOURFOLD_BENCH_REPEAT=product=0.4@1 regress "$slowed" --quick --ranks 2
grep -q '^rank 1 on .* below the median of its peers in product' "$folder/said" ||
  fail "the slow rank is not named: $(cat "$folder/said")"
status=0
FOURFOLD_BENCH_REPEAT=product=0.4@1 mpirun --allow-run-as-root --oversubscribe --bind-to none \
  --mca mpi_yield_when_idle 1 -n 2 "$fourfold" regress --quick >"$folder/said" 2>/dev/null ||
  status=$?
[[ "|$slowed|" == *"|$status|"* ]] && [ "$(grep -c '^rank 1 on ' "$folder/said")" -eq 1 ] ||
  fail "under mpirun: status $status: $(cat "$folder/said")"

# A projection in the baseline that differs in its last bit.
python3 - "$base" "$folder/other.json" <<'PYTHON'
import json, math, sys
baseline = json.load(open(sys.argv[1]))
one = [r for r in baseline["references"] if r["scale"] == "exact"][0]
one["on_scale"] = math.nextafter(one["on_scale"], 0) if hasattr(math, "nextafter") else one["on_scale"] * (1 - 2**-52)
json.dump(baseline, open(sys.argv[2], "w"))
PYTHON
regress 1 --baseline "$folder/other.json" --quick
grep -q '^projected .* is .* recorded as' "$folder/said" || fail "a changed projection is not named"

# Refusals, before anything is measured; others are heard in words_test.cpp and judge_test.cpp.
refused() {
  local sentence=$1
  shift
  regress 2 "$@"
  [ ! -s "$folder/said" ] && [[ $(cat "$folder/complaint") == *"$sentence"* ]] &&
    [ "$(wc -l <"$folder/complaint")" -eq 1 ] ||
    fail "fourfold regress $*: $(cat "$folder/complaint"); expected: $sentence"
}
refused "such as 5%" --baseline "$base" --allow 5
refused "it has FMA peak; product NN" --baseline "$base" --allow 'disk=5%'
printf '{' >"$folder/broken.json"
refused "broken.json" --baseline "$folder/broken.json"
echo "regressions are seen, and nothing else is"
