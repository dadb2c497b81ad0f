#!/bin/bash
# fourfold-replay answers bad input with one sentence on standard error and a non-zero exit.
set -u
replay="$FOURFOLD_BIN_DIR/fourfold-replay"
failures=0

# refuses <input> <word in the sentence> <arguments...>
refuses() {
  local input="$1" word="$2" sentence
  shift 2
  if sentence=$(printf '%s' "$input" | "$replay" "$@" 2>&1 >/dev/null); then
    echo "accepted input '$input', arguments '$*'"
    failures=$((failures + 1))
  elif [[ "$sentence" != *"$word"* ]]; then
    echo "input '$input', arguments '$*': no '$word' in: $sentence"
    failures=$((failures + 1))
  fi
}

refuses '' 'JSON'
refuses 'garbage' 'JSON'
refuses '{"platform": "frontier"' 'JSON'
refuses '{}' 'fourfold-replay: '
refuses '{}' 'usage' --no-such-option
refuses '{}' 'usage' --full --full
refuses '{}' 'usage' --fidelity
refuses '{}' 'usage' --work-limit
refuses '{}' 'usage' --work-limit 0
refuses '{}' 'usage' --work-limit 60s
refuses '{}' 'usage' --fidelity exact
# No word goes for a longer one that it begins.
for word in f flo ful s4 s4u- s4u-ste fullest; do refuses '{}' 'usage' --fidelity $word; done
for word in n networ gemm gemm-empirica equal steady-kernel networks; do refuses '{}' 'usage' --ideal $word; done

exit "$((failures > 0))"
