#!/usr/bin/env bash
# A campaign and the verbs beside its run: what is kept is not answered again, whatever killed the run;
# status, table, export, plot and report are made of the records, with gnuplot or without.
source "$(dirname "${BASH_SOURCE[0]}")/command_line.sh"
export FOURFOLD_PLATFORMS=${FOURFOLD_SOURCE_DIR:?}/tests/machines
cd "$folder"

cat >study.toml <<'TOML'
title = "Eight small points & a <title>"
tokens = "1B"
batch_tokens = 131_072
fidelity = "estimated"
figures = ["strong", "machines"]

[[machine]]
platform = "crossbar"
points = [{ devices = [8, 16, 32, 64], model = ["gpt-5b", "gpt-10b"] }]
TOML
verb() { "$fourfold" campaign "$@" 2>>said; }

# Nothing is there yet.
! verb status study.toml --output out >status || fail "an empty campaign is no whole one"
grep -q "0 of 8 points answered, 0 failed, 8 not run yet" status || fail "$(cat status)"
! verb table study.toml --output out || fail "a table of nothing"

# Killed again and again, then gone on with: the same table as in one go.
verb run study.toml --output whole >whole.txt || fail "$(cat said)"
for ((try = 0; try < 15; ++try)); do
  "$fourfold" campaign run study.toml --output out >out.txt 2>out.err &
  sleep 0.0$((RANDOM % 9 + 1))
  kill -9 $! 2>/dev/null || true
  wait $! 2>/dev/null || true
done
verb run study.toml --output out >out.txt || fail "$(cat said)"
cmp whole.txt out.txt || fail "the table after kills is another"
verb status study.toml --output out >status || fail "all is answered: $(cat status)"
[ "$(wc -l <out/records.jsonl)" -eq 8 ] || fail "a record is lost or doubled"

# The same of simulations, whose seconds are the same each time; a record that was cut off is made anew.
smoke=(campaign run "$FOURFOLD_SOURCE_DIR/scaling/campaigns/smoke.toml" --output smoke)
smoke() { (unset FOURFOLD_PLATFORMS && run 0 "${smoke[@]}" "$@"); } # on shipped machines
seconds() { grep -o '"total_s":[0-9.e+-]*' smoke/records.jsonl | sort; } # points end in no order
smoke
says "0 kept"
seconds >first
[ "$(wc -l <first)" -eq 6 ] || fail "3 points at 2 fidelities make 6 records"
smoke --fresh
says "0 kept"
seconds | cmp - first || fail "two runs gave different seconds"
truncate --size=-200 smoke/records.jsonl
smoke
says "2 kept"
says "was cut off in the middle"
seconds | cmp - first || fail "the repaired run gave different seconds"
smoke
says "3 kept"
rm -r smoke && mkdir empty
(unset FOURFOLD_PLATFORMS && PATH=$folder/empty "$fourfold" "${smoke[@]}" >said 2>&1) ||
  fail "a missing gnuplot made the study fail"
says "no plots"
for file in records.jsonl table.txt summary.csv; do [ -s "smoke/$file" ] || fail "no $file"; done

# Another build of the same program sees what this one answered, and says whose it is.
mkdir other && cp "$fourfold" other/fourfold && printf x >>other/fourfold
other/fourfold campaign table study.toml --output out --wide >table.txt 2>said_by_other
cmp table.txt out/table.txt || fail "another build makes another table of the same records"
grep -q "out has records of another build of Fourfold" said_by_other || fail "$(cat said_by_other)"
! other/fourfold campaign status study.toml --output out >status || fail "it answered nothing itself"
grep -q "8 records of another build" status || fail "$(cat status)"

# What is made of the records.
verb table study.toml --output out --wide >table.txt
cmp table.txt out/table.txt
verb plot study.toml --output out >plots.txt
for picture in strong machines; do
  for ending in png svg pdf csv; do [ -s "out/$picture.$ending" ] || fail "no $picture.$ending"; done
done
verb plot study.toml --output out --kind strong --preview >preview.txt
grep -q 'efficiency' preview.txt || fail "no preview"
verb plot study.toml --output out --preview >previews.txt
! cmp -s preview.txt previews.txt || fail "--kind has no effect on previews"
verb report study.toml --output out >/dev/null
python3 - <<'PY'
text = open("out/report.html").read()
assert "Eight small points &amp; a &lt;title&gt;" in text
assert text.count("data:image/svg+xml;base64,") == 2
for word in ("http://", "https://", "src=\"/"):
    assert word not in text.replace("http://www.w3.org", ""), word
assert ">system</th>" not in text, "a column that says nothing"
PY

# Adding a point computes that point only.
sed 's/64\]/64, 128]/' study.toml >more.toml
mkdir more && cp out/records.jsonl more/
"$fourfold" campaign run more.toml --output more >/dev/null 2>more.err
grep -q "10 points, 8 kept from .* 2 to run" more.err || fail "$(cat more.err)"

# A point that fits nowhere keeps its reason.
sed 's/devices = \[8,/devices = [1, 8,/' study.toml >failing.toml
! verb run failing.toml --output failing >/dev/null || fail "a point that cannot be is no success"
! verb status failing.toml --output failing >status
grep -q "8 of 10 points answered, 0 failed, 2 without a grid that fits, 0 not run yet" status || fail "$(cat status)"
grep -q "crossbar 1 gpt-5b: fits nowhere: .*memory" status || fail "$(cat status)"

echo "campaigns survive, and are shown"
