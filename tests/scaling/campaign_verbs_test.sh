#!/usr/bin/env bash
# A campaign beside its run: status, table, export, plot, report; killed at any instant and gone on
# with; in slices, under a stand-in for a scheduler; records that a hand changed.
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

# What is made of the records.
verb table study.toml --output out >table.txt
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
PY

# Adding a point computes that point only.
sed 's/64\]/64, 128]/' study.toml >more.toml
mkdir more && cp out/records.jsonl more/
"$fourfold" campaign run more.toml --output more >/dev/null 2>more.err
grep -q "10 points, 8 kept from .* 2 to run" more.err || fail "$(cat more.err)"

# A failed point keeps its reason and is tried again.
sed 's/devices = \[8,/devices = [1, 8,/' study.toml >failing.toml
! verb run failing.toml --output failing >/dev/null || fail "a point that cannot be is no success"
! verb status failing.toml --output failing >status
grep -q "8 of 10 points answered, 2 failed, 0 not run yet" status || fail "$(cat status)"
grep -q "crossbar 1 gpt-5b: failed: .*memory" status || fail "$(cat status)"

# A record that a hand changed.
mkdir changed && sed '3s/"total":[0-9]/"total":9/; 3s/"estimated_s":/"estimated_s":1/' out/records.jsonl >changed/records.jsonl
cmp -s out/records.jsonl changed/records.jsonl && fail "nothing was changed"
! "$fourfold" campaign table study.toml --output changed 2>changed.err || fail "a changed record is used"
grep -q "line 3: the record was changed after it was written" changed.err || fail "$(cat changed.err)"

# Stand-ins for schedulers: each runs the jobs of the array, out of order, one of them killed first.
cat >stand_in.sh <<'SH'
script=$1 count=$2 variable=$3
for ((i = count; i >= 1; --i)); do env "$variable=$i" bash "$script"; done
SH
mkdir bin && cat >bin/flux <<'SH'
#!/bin/bash
[ "$1" = submit ] || exit 1
count=0
while [[ $2 == --* ]]; do
  [[ $2 == --cc=1-* ]] && count=${2#--cc=1-}
  shift
done
shift
for ((i = 1; i <= count; ++i)); do FLUX_JOB_CC=$i "${@}"; done
SH
chmod +x bin/flux
export PATH=$folder/bin:$PATH
for launcher in slurm pbs flux; do
  verb script study.toml --output "by $launcher" --launcher $launcher --slices 3 --time 2h >script.txt
  script="by $launcher/$launcher.sh"
  [ -s "$script" ] || fail "no $script: $(cat script.txt)"
  case $launcher in
  slurm)
    grep -q '^#SBATCH --array=1-3$' "$script" && grep -q '^#SBATCH --time=2:00:00$' "$script"
    timeout -s KILL 0.05 env SLURM_ARRAY_TASK_ID=2 bash "$script" 2>/dev/null || true
    bash stand_in.sh "$script" 3 SLURM_ARRAY_TASK_ID 2>/dev/null
    ;;
  pbs)
    grep -q '^#PBS -J 1-3$' "$script"
    bash stand_in.sh "$script" 3 PBS_ARRAY_INDEX
    ;;
  flux) bash "$script" 2>/dev/null ;;
  esac
  verb collect study.toml --output "by $launcher" >collected.txt
  grep -q "8 records from 3 slices" collected.txt || fail "$launcher: $(cat collected.txt)"
  verb collect study.toml --output "by $launcher" | grep -q "0 records from 3 slices"
  verb run study.toml --output "by $launcher" >sliced.txt
  cmp whole.txt sliced.txt || fail "$launcher: another table in slices"
done

printf '#!/bin/sh\n# {{name}}\n{{comand}}\n{{command}}\n' >mine.sh
! "$fourfold" campaign script study.toml --launcher slurm --template mine.sh 2>script.err
grep -q 'unknown {{comand}}; did you mean "command"?' script.err || fail "$(cat script.err)"
! "$fourfold" campaign script study.toml --launcher slrum 2>script.err
grep -q 'did you mean "slurm"?' script.err || fail "$(cat script.err)"
for slice in 0/3 4/3 3 a/b 1/; do
  ! "$fourfold" campaign run study.toml --output out --slice $slice 2>script.err || fail "--slice $slice is accepted"
  grep -q "is no part of a whole, such as 3/8" script.err || fail "$(cat script.err)"
done
echo "campaigns survive, are shown and are shared out"
