#!/usr/bin/env bash
# fourfold advise: its status says whether deadline and budget hold, it names what comes nearest, and
# what it offers where nothing fits does fit.
source "$(dirname "${BASH_SOURCE[0]}")/command_line.sh"

# advise STATUS DEVICES WORDS...: of a batch that a search answers at once.
batch=524288
advise() {
  run "$1" advise --model gpt-5b --batch-tokens $batch --recompute full --weight-gather keep \
    --gradient-reduction accumulated --platform frontier --devices "$2" "${@:3}"
}
says() { grep -qE -- "$1" "$folder/said" || fail "'$1' is not said"; }

advise 0 64..256 --tokens 100B --deadline 52w --node-hours 1M
says '^TAKE [0-9]+ devices'
says 'deadline of 364 days holds by'
says 'budget of 1.00M node-hours holds by'
advise 1 64..256 --tokens 100B --deadline 1d
says 'NOTHING HOLDS.*NEAREST: 256 devices'
says 'is missed by'
advise 0 64 --tokens 524289 --restart-minutes 0 # which takes seconds
says ': 2 steps'
says '^TAKE 64 devices .*: [0-9.]+ s, [0-9.]+ node-hours'
! grep -E '[0-9] days.* instead|^>.* 0\.0 ' "$folder/said" || fail "a run of seconds takes days"
# Of a grid that is stated, whosever it is, no pipelines are looked for.
for system in "" "--system axonn-4d"; do
  # shellcheck disable=SC2086
  advise 0 8 --tokens 100B --grid x=2,data=4 $system
  ! grep -e '--stages' "$folder/said" || fail "a stated grid has no pipelines to take for granted"
done
# An option that does nothing on the devices that are advised is named, as `project` does.
advise 0 8 --tokens 100B --grid x=2,z=4 --zero 3
says '^Without effect on this grid: .*--zero 3\.$'
# What the machine has is answered, and a line names the numbers that it has not.
advise 0 64,65536..262144 --tokens 100B
says '^131072, 262144 devices: too many, frontier has 78848$'
advise 2 64 --tokens 524287
says '--tokens 524287 are less than one batch, which has 524288'
# No number of devices has an answer: a no if nothing fits any of them, each with its reason.
advise 2 1,2 --vocabulary 8000000 --tokens 1B --grid 1x1x1x1
says '1 device: gpt-5b on grid 1x1x1x1 needs .*; 2 devices: grid 1x1x1x1 has 1 devices, not 2'
advise 1 1,100000 --vocabulary 8000000 --tokens 1B
says '1 device: gpt-5b fits no grid .*; 100000 devices: too many, frontier has 78848'
advise 1 1,100000 --vocabulary 8000000 --tokens 1B --json
grep -v '^{' "$folder/said" | heard 'fits no grid' || fail "JSON alone says that nothing fits"
sed -n '/^{/,$p' "$folder/said" | python3 -c '
import json, sys
advice = json.JSONDecoder().raw_decode(sys.stdin.read())[0]
assert advice["holds"] is False and advice["options"] == []
assert advice["chosen"] is None and advice["second"] is None
assert advice["refused"][0].startswith("1 device: gpt-5b fits no grid of 1 device "), advice["refused"]
assert advice["refused"][1] == "100000 devices: too many, frontier has 78848"'
# The batch that is offered for a number of devices is of that number, as --batch-tokens takes it.
advise 1 127 --tokens 1B
says '64 or 128 devices would fit, and so would 127 devices with a batch of 520192 tokens \(254 sequences\)$'
batch=520192
advise 0 127 --tokens 1B
echo "advice holds"
