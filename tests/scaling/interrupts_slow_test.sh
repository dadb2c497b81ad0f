#!/usr/bin/env bash
# Every long verb, interrupted at drawn moments: interrupts.py says what must be true. Takes the
# number of rounds and the verbs; SEED draws the same moments again.
set -euo pipefail
fourfold=${FOURFOLD_BIN_DIR:?}/fourfold
here=$(dirname "${BASH_SOURCE[0]}")
source "$here/../train/small_job.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
write_small_job "$work" 2
"$fourfold" train --model "$work/small.toml" --data "$work/text.txt" --batch 8 --tokens 0 --ranks 1 --steps 2 \
  --folder "$work/trained" >"$work/said" 2>&1 || { cat "$work/said" >&2; exit 1; }
"$fourfold" checkpoint export "$work/trained" "$work/exported" >"$work/said" 2>&1 || { cat "$work/said" >&2; exit 1; }
python3 "$here/interrupts.py" "$fourfold" "${FOURFOLD_SOURCE_DIR:?}" "$work" "${1:-2}" "${@:2}"
echo "interrupts end what they should"
