#!/usr/bin/env bash
# fourfold advise: its status says whether deadline and budget hold, and it names what comes nearest.
source "$(dirname "${BASH_SOURCE[0]}")/command_line.sh"

# A search tries what it is not told.
fewer=(--recompute full --weight-gather keep --gradient-reduction accumulated)
batch=(--batch-tokens 524288 "${fewer[@]}")
# status WANTED WORDS...: leaves what was said in $folder/said.
status() {
  local wanted=$1 is=0
  shift
  "$fourfold" advise --model gpt-5b "${batch[@]}" "$@" >"$folder/said" 2>&1 || is=$?
  [ "$is" -eq "$wanted" ] || fail "advise $* ended with $is, not $wanted: $(cat "$folder/said")"
}
says() {
  grep -qE -- "$1" "$folder/said" || fail "'$1' is not said: $(cat "$folder/said")"
}

status 0 --platform frontier --devices 64..256 --tokens 100B
says '^TAKE [0-9]+ devices'
tr '\n' ' ' <"$folder/said" | heard -E "GB/s, all that the nodes' adapters send; .*Young [0-9.]+ min, Daly" ||
  fail "a checkpoint has no rate or no interval: $(cat "$folder/said")"
says 'UNCONFIRMED'
status 0 --platform frontier --devices 64..256 --tokens 100B --deadline 52w --node-hours 1M
says 'deadline of 364 days holds by'
says 'budget of 1.00M node-hours holds by'
status 1 --platform frontier --devices 64..256 --tokens 100B --deadline 1d
says 'NOTHING HOLDS.*NEAREST: 256 devices'
says 'is missed by'
status 1 --platform frontier --devices 64..256 --tokens 100B --node-hours 10
says 'NEAREST'
# What takes less than a day is said in hours, minutes or seconds.
status 0 --platform frontier --devices 64 --tokens 524288
says ': 1 step of'
status 0 --platform frontier --devices 64 --tokens 524289 --restart-minutes 0
says ': 2 steps'
says '^TAKE 64 devices .*: [0-9.]+ s, [0-9.]+ node-hours'
says 'take [0-9.]+ s to [0-9.]+ s '
says '^> +64 .* [0-9.]+ s +[0-9.]+ s '
! grep -E '[0-9] days.* instead|^>.* 0\.0 ' "$folder/said" || fail "$(cat "$folder/said")"
status 0 --platform crossbar --devices 64 --tokens 100B
says 'lacks node_failures_per_day'
# What the machine has is answered, and a line names the numbers that it has not.
status 0 --platform frontier --devices 64,65536..262144 --tokens 100B
says '^TAKE [0-9]+ devices'
says '^131072, 262144 devices: too many, frontier has 78848$'
status 1 --platform frontier --devices 1,100000 --vocabulary 8000000 --tokens 1B
says '1 device: gpt-5b fits no grid .*; 100000 devices: too many, frontier has 78848'
status 2 --platform frontier --devices 64 --tokens 524287
says '--tokens 524287 are less than one batch, which has 524288'
status 2 --platform frontier --devices 100000,200000 --tokens 1B
says '^fourfold: 100000, 200000 devices: too many, frontier has 78848$'
status 2 --platform frontier --devices 64
says '--tokens is required'
# No number of devices has an answer: a no if nothing fits any of them, each with its reason.
status 1 --platform frontier --devices 1,2 --vocabulary 8000000 --tokens 1B
says '1 device: gpt-5b fits no grid of 1 device .*; 2 devices: gpt-5b fits no grid of 2 devices '
status 2 --platform frontier --devices 1,2 --vocabulary 8000000 --tokens 1B --grid 1x1x1x1
says '1 device: gpt-5b on grid 1x1x1x1 needs .*; 2 devices: grid 1x1x1x1 has 1 devices, not 2'

for words in "--devices 64 --tokens 1X" "--devices 64..1 --tokens 1B" "--devices 64 --tokens 1B --deadline 30" \
  "--devices 64 --tokens 1B --node-hours -5" "--devices 900000 --tokens 1B"; do
  # shellcheck disable=SC2086
  if "$fourfold" advise --model gpt-5b --platform frontier $words >/dev/null 2>"$folder/said"; then
    fail "advise $words is accepted"
  fi
  [ "$(wc -l <"$folder/said")" -eq 1 ] || fail "advise $words: $(cat "$folder/said")"
done

"$fourfold" advise --model gpt-5b "${batch[@]}" --platform frontier --devices 64,128 --tokens 1B --json 2>/dev/null |
  python3 -c '
import json, sys
advice = json.load(sys.stdin)
assert advice["holds"] and len(advice["options"]) == 2
one = advice["options"][advice["chosen"]]
assert one["days"] > one["days_without_failures"] > 0
assert one["failures"]["daly_interval_s"] > 0
assert advice["node_failures_per_day"]["unconfirmed"]'
# The batch that is offered for a number of devices is of that number, as --batch-tokens takes it.
status 1 --platform frontier --devices 127 --tokens 1B
says '64 or 128 devices would fit, and so would 127 devices with a batch of 520192 tokens \(254 sequences\)$'
batch=(--batch-tokens 520192 "${fewer[@]}")
status 0 --platform frontier --devices 127 --tokens 1B

# Where nothing fits, JSON says so, too.
status=0
"$fourfold" advise --model gpt-5b "${fewer[@]}" --platform frontier --devices 1,100000 --vocabulary 8000000 --tokens 1B --json \
  >"$folder/answer.json" 2>/dev/null || status=$?
[ "$status" -eq 1 ] || fail "advise --json ended with $status where nothing fits, not 1"
python3 -c '
import json, sys
advice = json.load(open(sys.argv[1]))
assert advice["holds"] is False and advice["options"] == []
assert advice["chosen"] is None and advice["second"] is None
assert advice["refused"][0].startswith("1 device: gpt-5b fits no grid of 1 device "), advice["refused"]
assert advice["refused"][1] == "100000 devices: too many, frontier has 78848"' "$folder/answer.json"
echo "advice holds"
