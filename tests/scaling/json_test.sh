#!/usr/bin/env bash
# --json everywhere: what each verb prints parses, and its numbers have their units in their keys.
set -euo pipefail
fourfold=${FOURFOLD_BIN_DIR:?}/fourfold
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# parses CHECK ARGUMENTS...: every line that fourfold ARGUMENTS prints is JSON; CHECK, in Python,
# holds for the list `lines` of their values.
parses() {
  local check=$1
  shift
  "$fourfold" "$@" >"$folder/said" 2>"$folder/complaint" ||
    { echo "fourfold $* failed: $(cat "$folder/complaint")" >&2; exit 1; }
  python3 - "$folder/said" "$check" <<'PYTHON' || { echo "fourfold $*: no such JSON" >&2; exit 1; }
import json, sys
text = open(sys.argv[1]).read()
try:
    lines = [json.loads(text)]
except ValueError:
    lines = [json.loads(line) for line in text.splitlines()]
assert lines and eval(sys.argv[2]), lines
PYTHON
}

point=(--platform frontier --model gpt-5b --devices 16)
parses "lines[0]['outcome']['total_s'] > 0" project "${point[@]}" --grid 2x2x2x2 --json
# The replay of so small a job takes some tens of MiB and less than a minute, on any machine.
parses "5 < lines[0]['replay']['peak_rss_MiB'] < 1000 and 0 < lines[0]['replay']['cpu_s'] < 60" \
  project "${point[@]}" --grid 2x2x2x2 --json
parses "lines[0]['explanation']['total_s'] == lines[0]['outcome']['total_s']" \
  project "${point[@]}" --grid 2x2x2x2 --fidelity estimated --explain --json
parses "lines[0]['explanation']['simulation']['links'][0]['busiest_B'] > 0" \
  project "${point[@]}" --grid 2x2x2x2 --explain --json
parses "len(lines[0]['search']['best_grids']) == 10" \
  search "${point[@]}" --fidelity estimated --json
parses "any(s['section'] == 'embedding' and s['operations'] for s in lines[0]['sections'])" \
  show --model gpt-5b --json
parses "any(p['name'] == 'frontier' and p['memory_B_per_device'] == 68.7e9 for p in lines[0])" \
  platforms --json
parses "lines[0]" platforms show frontier --json
parses "any(m['name'] == 'gpt-5b' and m['sequence_tokens'] == 2048 for m in lines[0])" models --json
parses "lines[0]" collectives --platform frontier --devices 8 --json
parses "len(lines) == 3 and all(r['estimated_s'] > 0 for r in lines)" \
  campaign run "${FOURFOLD_SOURCE_DIR:?}/scaling/campaigns/smoke.toml" --fidelity estimated \
  --output "$folder/out" --json

echo "everything parses"
