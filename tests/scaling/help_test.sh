#!/usr/bin/env bash
# --help of every verb: no line beyond 100 characters, and examples of that verb only.
set -euo pipefail
fourfold=${FOURFOLD_BIN_DIR:?}/fourfold

for verb in "" campaign "campaign run" project search show "show order" platforms "platforms list" \
  "platforms show" "platforms export" models collectives train \
  sample evaluate checkpoint "checkpoint import" "checkpoint export" calibrate validate systems compare doctor advise regress bench plot \
  "campaign status" \
  "campaign table" "campaign export" "campaign plot" "campaign report" "campaign script" \
  "campaign collect"; do
  # shellcheck disable=SC2086
  said=$("$fourfold" $verb --help)
  if grep -E '.{101}' <<<"$said"; then
    echo "fourfold $verb --help: a line of more than 100 characters" >&2
    exit 1
  fi
  examples=$(grep -c '^  fourfold ' <<<"$said") || true
  own=$(grep -c "^  fourfold $verb" <<<"$said") || true
  if [ "$examples" -eq 0 ] || [ "$examples" -ne "$own" ]; then
    echo "fourfold $verb --help: $own of $examples examples are its own" >&2
    exit 1
  fi
done
[ "$("$fourfold" platforms list)" = "$("$fourfold" platforms)" ]
[ "$("$fourfold" platforms list --json)" = "$("$fourfold" platforms --json)" ]
echo "help is readable"
