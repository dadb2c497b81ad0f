#!/usr/bin/env bash
# What does not fit is answered with 1, one sentence, what is needed, and commands that fit: each way
# out of drawn questions is typed as it is printed.
source "$(dirname "${BASH_SOURCE[0]}")/command_line.sh"
export FOURFOLD_PLATFORMS=${FOURFOLD_SOURCE_DIR:?}/tests/machines
PATH=${FOURFOLD_BIN_DIR:?}:$PATH
cd "$folder"

# Verbs, machines, models, grids and what is typed besides.
questions=(
  "project --platform torus --model gpt-5b --grid 2x1x1x4 --recompute none --micro-batches 1"
  "project --platform torus --model gpt-5b --grid 2x1x4x1 --recompute none --micro-batches 2"
  "project --platform dragonfly --model gpt-10b --grid x=2,data=4,pipe=2 --order 1f1b --micro-batches 8 --recompute none"
  "project --platform fat-tree-2 --model llama2-7b --grid 1x1x1x8 --recompute full"
  "project --platform torus --model gpt-20b --devices 8 --zero 0"
  "project --platform torus --model gpt-20b --grid 4x1x4x1 --sequence 16384 --recompute full --micro-batches 2"
  "search --platform torus --model gpt-5b --devices 8 --grid x=1,2 --recompute none --zero 0,1 --micro-batches 1"
  "project --platform torus --model gpt-10b --grid 2x1x1x4 --micro-batches 1 --system deepspeed-3d"
  "project --platform torus --model gpt-20b --devices 8 --system megatron-core"
  "advise --platform torus --model gpt-20b --devices 4,8 --zero 0 --tokens 1T"
)
printed=0 some_layers=0 grids=0
for question in "${questions[@]}"; do
  # Words of a question are flags.
  # shellcheck disable=SC2206
  words=($question --batch-tokens 262144 --fidelity estimated)
  run 1 "${words[@]}"
  # A space of strategies has no one question to say no to: its table says why none runs.
  [ "${words[0]}" = search ] || [ "$(head -n 1 "$folder/said" | cut -c 1-10)" = "fourfold: " ] ||
    fail "the sentence is not the first line"
  says "if it fitted"
  # What comes nearest is what the sentence names, whichever options it has.
  [[ ! "$question $(head -n 1 "$folder/said")" =~ ^project.*grid\ ([^\ ]+)\ .*needs ]] ||
    says "Of what was asked for, grid ${BASH_REMATCH[1]},"
  ! grep -E '(^|[^0-9])1 micro-batches' "$folder/said" || fail "one is said as several"
  says "moment of the peak"
  status=0
  fourfold "${words[@]}" --json >answer.json 2>sentence || status=$?
  [ "$status" -eq 1 ] && [ "$(wc -l <sentence)" -le 1 ] || fail "${words[*]} --json did not say no"
  python3 -c '
import json, sys
answer = json.load(open("answer.json"))
answer = answer.get("shortage", answer)
assert answer["memory"]["fits"] != "fits" and answer["estimated_s"] > 0, answer["memory"]
assert all(abs(sum(s["at_peak_B"].values()) - s["peak_B"]) < 1 for s in answer["memory"]["stages"])
seconds = [w["estimated_s"] * w["devices"] for w in answer["ways_out"] if "--memory-risk" not in w["command"]]
assert seconds == sorted(seconds), seconds
said = [set(w["command"].split()) for w in answer["ways_out"]]
assert not any(a < b for i, a in enumerate(said) for b in said[i + 1:]), "does more for no less: " + str(said)
for way in answer["ways_out"]: print(way["command"])' >commands || fail "${words[*]}: its JSON is wrong"
  cat commands >>all
  offered=$(sed -nE 's|.*(--grid [^ ]+).*|\1|p' commands | sort -u | wc -l)
  [ "$offered" -le "$grids" ] || grids=$offered
  [ -s commands ] || fail "${words[*]} has no way out"
  while IFS= read -r command; do
    grep -qF -- "$command" "$folder/said" || fail "only --json has: $command"
    bash -c "$command --json" >way.json 2>/dev/null </dev/null || fail "$command does not work"
    python3 -c '
import json
way = json.load(open("way.json"))  # advice that has options has those that fit
assert way["options"] if "options" in way else way["memory"]["fits"] in ("fits", "may fit")' ||
      fail "$command does not fit"
    if [[ $command =~ --recompute-layers\ ([0-9]+) && ${BASH_REMATCH[1]} -gt 1 ]]; then
      layers=${BASH_REMATCH[1]}
      fewer=${command/--recompute-layers $layers/--recompute-layers $((layers - 1))}
      ! bash -c "$fewer" 2>/dev/null </dev/null | heard -F ": fits (" || fail "a layer fewer fits, too: $fewer"
      some_layers=$((some_layers + 1))
    fi
    printed=$((printed + 1))
  done <commands
done
grep -qF -- "--recompute full --offload-activations on" all || fail "nothing is moved to the host"
[ "$some_layers" -ge 1 ] || fail "nowhere are some layers recomputed"
[ "$grids" -ge 4 ] || fail "one question hears of $grids grids at most"
[ "$printed" -ge 12 ] || fail "only $printed ways out"
echo "$printed ways out fit"
