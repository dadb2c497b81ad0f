#!/usr/bin/env bash
# Runs the small campaign as a user would: resume, kill, torn and corrupt records, a full disk, and
# the same simulated seconds twice.
source "$(dirname "${BASH_SOURCE[0]}")/command_line.sh"

campaigns=${FOURFOLD_SOURCE_DIR:?}/scaling/campaigns

# In no order: points are answered side by side.
seconds() { grep -o '"total_s":[0-9.e+-]*' "$1/records.jsonl" | sort; }

smoke() { run "$1" campaign run "$campaigns/smoke.toml" --output "$folder/out" "${@:2}"; }

smoke 0
says "0 kept"
for file in records.jsonl table.txt summary.csv; do
  [ -s "$folder/out/$file" ] || fail "no $file"
done
[ "$(wc -l <"$folder/out/records.jsonl")" -eq 6 ] || fail "3 points at 2 fidelities make 6 records"
if command -v gnuplot >/dev/null; then
  for file in pflops.png pflops.svg time.png time.svg; do
    [ -s "$folder/out/$file" ] || fail "no $file"
  done
fi
seconds "$folder/out" >"$folder/first"

smoke 0
says "3 kept"

smoke 0 --fresh
says "0 kept"
seconds "$folder/out" | cmp - "$folder/first" || fail "two runs gave different seconds"

# Killed in the middle of its simulations, as soon as a point is answered: the same command goes on
# to the same table.
mv "$folder/out/table.txt" "$folder/table"
rm -r "$folder/out"
"$fourfold" campaign run "$campaigns/smoke.toml" --output "$folder/out" >"$folder/said" 2>&1 &
process=$!
until [ "$(wc -l 2>/dev/null <"$folder/out/records.jsonl" || echo 0)" -ge 2 ]; do sleep 0.01; done
kill -9 "$process" || fail "it ended before it could be killed"
wait "$process" && fail "it ended well although it was killed"
[ "$(wc -l <"$folder/out/records.jsonl")" -lt 6 ] || fail "nothing was left to do after the kill"
smoke 0
says "kept"
cmp "$folder/out/table.txt" "$folder/table" || fail "the table after a kill is another"
[ "$(wc -l <"$folder/out/records.jsonl")" -eq 6 ] || fail "a record is lost or doubled"
seconds "$folder/out" | cmp - "$folder/first" || fail "after a kill there are other seconds"

# A kill in the middle of a write leaves a line without an end: only its point is run again.
truncate --size=-200 "$folder/out/records.jsonl"
smoke 0
says "2 kept"
says "was cut off in the middle"
seconds "$folder/out" | cmp - "$folder/first" || fail "the repaired run gave different seconds"

# A broken line that is not the last was not left by a kill: refused, nothing is changed.
sed -i '2s/^..../broken/' "$folder/out/records.jsonl"
cp "$folder/out/records.jsonl" "$folder/before"
smoke 2
says "records.jsonl, line 2"
cmp "$folder/before" "$folder/out/records.jsonl" || fail "a refused file was changed"

# No room: one sentence, and what was written before stays whole.
rm -r "$folder/out"
(
  ulimit -f 8 # KiB
  smoke 2
)
says "cannot write to"
[ "$(tail -c 1 "$folder/out/records.jsonl" | od -An -tx1 | tr -d ' ')" = 0a ] ||
  fail "the full disk left a torn record"
smoke 0

# Without gnuplot the study is whole but for its plots.
mkdir "$folder/empty"
PATH=$folder/empty "$fourfold" campaign run "$campaigns/smoke.toml" --output "$folder/out" \
  >"$folder/said" 2>&1 || fail "a missing gnuplot made the study fail"
says "no plots"

# A signal keeps finished points and says how to go on.
"$fourfold" campaign run "$campaigns/sc24_weak.toml" --output "$folder/stopped" \
  >"$folder/said" 2>&1 &
process=$!
for _ in $(seq 300); do
  [ "$(wc -l 2>/dev/null <"$folder/stopped/records.jsonl" || echo 0)" -ge 2 ] && break
  sleep 0.1
done
kill -TERM "$process"
status=0
wait "$process" || status=$?
[ "$status" -eq 130 ] || fail "a stopped campaign ended with $status, not 130"
says "the same command goes on from there"
[ "$(wc -l <"$folder/stopped/records.jsonl")" -ge 2 ] || fail "finished points were lost"

echo "campaigns resume"
