#!/usr/bin/env bash
# Bad input on the command line: one sentence on standard error and a status that is not 0.
set -euo pipefail
fourfold=${FOURFOLD_BIN_DIR:?}/fourfold
failures=0

# refused SENTENCE ARGUMENTS...: fourfold ARGUMENTS fails and says SENTENCE in its only line.
refused() {
  local sentence=$1 said status=0
  shift
  said=$("$fourfold" "$@" 2>&1 >/dev/null) || status=$?
  if [ "$status" -eq 0 ] || [ "$status" -ge 126 ] || [ "$(wc -l <<<"$said")" -ne 1 ] ||
    [[ $said != *"$sentence"* ]]; then
    echo "fourfold $*: status $status, said: $said; expected: $sentence" >&2
    failures=$((failures + 1))
  fi
}

point=(--platform frontier --model gpt-5b --fidelity estimated)
refused "unknown verb 'serach'; did you mean \"search\"?" serach
refused "unknown verb 'shwo'; did you mean \"show\"?" platforms shwo
refused "did you mean \"--platform\"?" search --platfrom frontier --model gpt-5b --devices 8
refused "did you mean \"frontier\"?" search --platform forntier --model gpt-5b --devices 8
refused "did you mean \"gpt-5b\"?" search --platform frontier --model gpt-5 --devices 8
refused "did you mean \"oar\"?" project "${point[@]}" --devices 8 --overlap oaa
refused "did you mean \"full\"?" project "${point[@]}" --devices 8 --recompute ful
refused "has no number" project "${point[@]}" --devices 8 --scale network.linx=2
refused "is no KEY=FACTOR" project "${point[@]}" --devices 8 --scale network.links
refused "100000 are too many" project "${point[@]}" --devices 100000
refused "at least 1" project "${point[@]}" --devices 0
refused "no process grid" project "${point[@]}" --devices 16 --grid 2x2x2
refused "has 16 devices, not 8" project "${point[@]}" --devices 8 --grid 2x2x2x2
refused "heads do not divide" project "${point[@]}" --devices 24 --grid 3x2x2x2
refused "batch of 8192 sequences does not divide" project "${point[@]}" --devices 24 --grid 2x2x3x2
refused "no whole number of sequences" project "${point[@]}" --devices 8 --batch-tokens 1000
refused "fits no grid of 8 devices of frontier" \
  project --platform frontier --model gpt-640b --devices 8 --fidelity estimated
refused "needs at least" project --platform frontier --model gpt-640b --devices 8 \
  --grid 2x2x2x1 --fidelity estimated
refused "did you mean \"simulated\"?" project --platform frontier --model gpt-5b --devices 8 \
  --fidelity simulate
refused "ask for --fidelity simulated" project "${point[@]}" --devices 8 --jitter 2%
refused "no percentage" project "${point[@]}" --devices 8 --jitter 2
refused "takes effect only with" project "${point[@]}" --devices 8 --seed 2
refused "did you mean \"tree\"?" project "${point[@]}" --devices 8 --collective tre
refused "cannot take effect on grid" project "${point[@]}" --devices 8 --collective tree
simulated=(--platform frontier --model gpt-5b --devices 8 --grid 4x2x1x1)
refused "more than the 8" project "${simulated[@]}" --slow-devices 9:0.5
refused "does not use it" project "${simulated[@]}" --slow-devices 8=0.5
refused "no link 'nic:9.9'" project "${simulated[@]}" --degrade nic:9.9=0.5
refused "sends nothing over it" project "${simulated[@]}" --degrade nic:0.0=0.5
refused "cannot read the placement list" project "${simulated[@]}" --placement nodes:nowhere
refused "cannot read" campaign run nowhere.toml

if "$fourfold" platforms >/dev/full 2>/dev/null; then
  echo "a full standard output is no success" >&2
  failures=$((failures + 1))
fi
[ "$failures" -eq 0 ] || exit 1
echo "everything is refused in words"
