#!/usr/bin/env bash
# Job scripts under stand-ins for Slurm, Flux, PBS and LSF: arrays of points that are projected, and a job
# for each number of ranks of a measured campaign; one job of each is killed in the middle, what was
# answered is gathered, and the same commands answer the rest.
source "$(dirname "${BASH_SOURCE[0]}")/command_line.sh"
export FOURFOLD_PLATFORMS=${FOURFOLD_SOURCE_DIR:?}/tests/machines
cd "$folder"
bash "$FOURFOLD_SOURCE_DIR/tests/scaling/stand_in_scheduler.sh" "$folder/bin"
export PATH=$folder/bin:$PATH STAND_IN_LOG=$folder/log
verb() { "$fourfold" campaign "$@" 2>>said; }

cat >study.toml <<'TOML'
title = "Small points"
batch_tokens = 131_072
fidelity = "estimated"
figures = ["machines"]

[[machine]]
platform = "crossbar"
points = [{ devices = [64, 128, 256, 512], model = ["gpt-5b", "gpt-10b"] }]

[[sweep]]
key = "sequence_tokens"
values = [1_024, 2_048, 4_096]
TOML
points=24
verb run study.toml --output whole >whole.txt || fail "$(cat said)"

# submit COMMAND...: the line that `campaign script` printed.
submit() { "$@" >jobs.log 2>&1 || fail "$*: $(tail -5 jobs.log)"; }

killed_early() {
  grep -q "^killed 2" log && [ "$(cat "$out"/records.slice-*.jsonl | wc -l)" -lt $points ]
}

for launcher in slurm flux pbs lsf; do
  out="$folder/by-$launcher"
  verb script study.toml --output "$out" --launcher $launcher --slices 3 --time 2h >script.txt
  line=$(grep "$launcher.sh" script.txt) || fail "$launcher: $(cat script.txt)"
  # Slices of eight points each, the third first: the second dies when it has answered one. A job
  # that was done before it could be killed proves nothing: once more from the start.
  : >log
  for ((try = 0; try < 20; ++try)); do
    rm -f "$out"/records*
    STAND_IN_KILLS=2 STAND_IN_LINES=9 STAND_IN_WATCHES=$out submit ${line%%#*}
    killed_early && break
  done
  killed_early || fail "$launcher: no job was killed before its end: $(cat log)"
  verb collect study.toml --output "$out" >collected.txt
  gathered=$(grep -o '^[0-9]*' collected.txt)
  [ "$gathered" -ge 17 ] && [ "$gathered" -lt $points ] || fail "$launcher: $(cat collected.txt)"
  [ "$(wc -l <"$out/records.jsonl")" -eq "$gathered" ] || fail "$launcher: a record is lost"
  submit ${line%%#*}
  verb collect study.toml --output "$out" >collected.txt
  [ "$(wc -l <"$out/records.jsonl")" -eq $points ] || fail "$launcher: $(cat collected.txt)"
  verb collect study.toml --output "$out" | heard "^0 records from 3 parts" || fail "twice"
  verb run study.toml --output "$out" >sliced.txt
  cmp whole.txt sliced.txt || fail "$launcher: another table in slices"
done

# Measured: the engine on one and two ranks, by srun, flux run and mpirun.
cat >tiny.toml <<'TOML'
layers = 2
hidden = 64
heads = 4
sequence_tokens = 64
vocabulary = 256
TOML
for i in $(seq 400); do echo "the quick brown fox jumps over the lazy dog number $i"; done >text.txt
cat >measured.toml <<'TOML'
title = "A tiny model, trained"
batch_tokens = 256
fidelity = "measured"
[measure]
steps = 5
data = "text.txt"
[[machine]]
platform = "crossbar"
points = [
  { devices = 1, model = "tiny.toml", grid = "1x1x1x1" },
  { devices = 2, model = "tiny.toml", grid = "2x1x1x1" },
  { devices = 2, model = "tiny.toml", grid = "1x1x1x2" },
]
TOML
for launcher in slurm flux pbs lsf; do
  out="$folder/measured-$launcher"
  verb script measured.toml --output "$out" --launcher $launcher --cores-per-rank 1 --time 0.5h >script.txt
  [ "$(grep -c "$launcher-[12].sh" script.txt)" -eq 2 ] || fail "$launcher: $(cat script.txt)"
  : >log
  # The job of two ranks dies after its first point.
  STAND_IN_KILLS=1 STAND_IN_LINES=1 STAND_IN_WATCHES=$out submit $(grep "$launcher-2.sh" script.txt)
  grep -q "^killed 1" log || fail "$launcher: no job was killed: $(cat log jobs.log "$out"/devices-2.log)"
  submit $(grep "$launcher-1.sh" script.txt)
  verb collect measured.toml --output "$out" | heard "^2 records from 2 parts" || fail "$launcher: records are lost"
  ! verb status measured.toml --output "$out" >status || fail "a point is missing"
  grep -q "2 of 3 points answered" status || fail "$(cat status)"
  submit $(grep "$launcher-2.sh" script.txt)
  cat jobs.log "$out"/devices-2.log >told 2>/dev/null || true  # PBS has a file of its own
  grep -q "3 points, 2 kept .* 1 to run" told || fail "$launcher: the first point was trained twice"
  verb collect measured.toml --output "$out" | heard "^1 record from 2 parts" || fail "$launcher: the rest is not there"
  case $launcher in
  slurm) grep -q "^srun --nodes=1 --ntasks=2 --cpus-per-task=1 --cpu-bind=cores .*fourfold-engine train" log ;;
  flux) grep -q "^srun --nodes=1 --ntasks=2 --cores-per-task=1 -o cpu-affinity=per-task .*fourfold-engine train" log ;;
  pbs | lsf) grep -q "^mpirun -np 2 --map-by ppr:2:node:PE=1 --bind-to core .*fourfold-engine train" log ;;
  esac || fail "$launcher: $(cat log)"
done
# The twins are simulated by the last command, and all is there.
verb run measured.toml --output "$folder/measured-slurm" >table.txt || fail "$(cat said)"
grep -q "simulated" table.txt || fail "$(cat table.txt)"
verb status measured.toml --output "$folder/measured-slurm" >status || fail "$(cat status)"
ls "$folder"/measured-*/training-* 2>/dev/null && fail "a training was left behind"

# A part of a campaign drops nothing, and nothing is made where nothing is asked.
run 2 campaign collect study.toml --output no-such-folder
[ ! -e no-such-folder ] || fail "collecting made a folder"
for part in "--slice 1/3" "--devices 64"; do
  # shellcheck disable=SC2086
  run 2 campaign run study.toml --output whole --fresh $part
  says "fresh drops the records of all points"
done
[ "$(wc -l <whole/records.jsonl)" -eq $points ] || fail "a refused run dropped records"
run 2 campaign run study.toml --output out --fidelity measured
says "no measured campaign"

# What is printed is for a shell, whatever blanks the paths have.
mkdir "a b" && cp study.toml "a b/my study.toml"
verb script "a b/my study.toml" --output "$folder/a b/out" --launcher slurm >script.txt
collect=$(grep "campaign collect" script.txt) || fail "$(cat script.txt)"
collect=${collect/#fourfold campaign/verb}
eval "$collect" >collected.txt || fail "$(tail -1 said)"
grep -q "^0 records from 0 parts" collected.txt || fail "$collect"
echo "clusters share a campaign, and nothing is lost"
