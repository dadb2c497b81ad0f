#!/usr/bin/env bash
# README.md says what the binary says: its commands are understood, its rows are those of
# docs/accuracy.md, its figures those that `fourfold validate` prints. readme_slow_test.sh runs the study.
source "$(dirname "${BASH_SOURCE[0]}")/command_line.sh"
root=${FOURFOLD_SOURCE_DIR:?}
readme=$root/README.md

# Every row of the table, cell by cell, as docs/accuracy.md has it: README leaves columns out.
rows=0
while IFS='|' read -r _ machine devices model grid seconds rate exposed published deviation _; do
  rows=$((rows + 1))
  devices=${devices// /} machine=${machine// /}
  line=$(grep -E "^$machine +$devices +${model// /} " "$root/docs/accuracy.md" | head -n 1)
  [ -n "$line" ] || fail "docs/accuracy.md has no row of $machine, $devices"
  published=${published/ (derived)/\*}
  for cell in "$grid" "$seconds" "$rate" "$exposed" "$published" "$deviation"; do
    grep -qF -- " ${cell// /}" <<<"$line" || fail "README says $cell of $machine, $devices; docs/accuracy.md: $line"
  done
done < <(grep -E '^\| (perlmutter|frontier|alps) ' "$readme")
[ "$rows" -ge 3 ] || fail "README has $rows rows"

# The verbs and flags of its commands are known: a wrong one is refused before anything else.
while read -r line; do
  words=${line%%#*}
  [[ $words == *...* ]] && continue
  # shellcheck disable=SC2086
  said=$(cd "$folder" && eval "timeout 1 ${fourfold}${words#fourfold} --no-such-flag" 2>&1 >/dev/null || true)
  [[ $said == *"unknown flag '--no-such-flag'"* || $said == *"Unknown option --no-such-flag"* ]] ||
    fail "README has: $words; the binary: $said"
done < <(grep -E '^fourfold ' "$readme")

# What it says of runs that are known.
count=$(sed -n 's/.*validate` projects \([0-9]*\) published runs.*/\1/p' "$readme")
mean=$(grep -A1 'validate` projects' "$readme" | grep -oE '[0-9.]+ % mean' | grep -oE '^[0-9.]+')
"$fourfold" validate --set known_runs >"$folder/said" 2>/dev/null || fail "known_runs is above its bound"
grep -qE "$count of $count.* $mean( |$)" "$folder/said" ||
  fail "README says $count runs and $mean %; the binary: $(cat "$folder/said")"
echo "README says what the binary says"
