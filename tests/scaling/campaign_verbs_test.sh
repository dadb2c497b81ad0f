#!/usr/bin/env bash
# A campaign beside its run: status, table, export, plot, report; killed at any instant and gone on
# with; records that a hand changed.
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
[ "$(verb export study.toml --output out | wc -l)" -eq 9 ]
[ "$(verb export study.toml --output out --as json | wc -l)" -eq 8 ]
verb plot study.toml --output out >plots.txt
for picture in strong machines; do
  for ending in png svg pdf csv; do [ -s "out/$picture.$ending" ] || fail "no $picture.$ending"; done
done
grep -q 'Eight small points' out/strong.svg || fail "the title is not on the figure"
verb plot study.toml --output out --kind strong --preview >preview.txt
grep -q 'efficiency' preview.txt || fail "no preview"
verb report study.toml --output out >/dev/null
python3 - <<'PY'
import re
from html.parser import HTMLParser
text = open("out/report.html").read()
assert "Eight small points &amp; a &lt;title&gt;" in text
assert text.count("data:image/svg+xml;base64,") == 2
for word in ("http://", "https://", "src=\"/"):
    assert word not in text.replace("http://www.w3.org", ""), word
class Balanced(HTMLParser):
    open_tags = []
    def handle_starttag(self, tag, attributes):
        if tag not in ("meta", "img", "br"): self.open_tags.append(tag)
    def handle_endtag(self, tag):
        assert self.open_tags.pop() == tag, tag
page = Balanced()
page.feed(text)
assert not page.open_tags
assert text.count("<tr>") >= 17
heads = re.findall("<th[^>]*>([^<]*)</th>", text)
assert "system" not in heads, "a column that says nothing"
place = [head.endswith("flop/s") for head in heads].index(True)
rates = [re.findall("<td[^>]*>([^<]*)</td>", row)[place] for row in text.split("<tr>")[2:10]]
assert all(float(rate) > 0 for rate in rates), (heads[place], rates)
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

# A record that a hand changed.
mkdir changed && sed '3s/"total":[0-9]/"total":9/; 3s/"estimated_s":/"estimated_s":1/' out/records.jsonl >changed/records.jsonl
cmp -s out/records.jsonl changed/records.jsonl && fail "nothing was changed"
! "$fourfold" campaign table study.toml --output changed 2>changed.err || fail "a changed record is used"
grep -q "line 3: the record was changed after it was written" changed.err || fail "$(cat changed.err)"

echo "campaigns survive, and are shown"
