#!/usr/bin/env bash
# A law: no text from a file or a name is ever code. Campaigns, models, machines and folders of hostile
# names go through every verb and every job script, which are run; a training, too.
# Each name would leave a file canary behind where it is taken for code.
source "$(dirname "${BASH_SOURCE[0]}")/command_line.sh"
cd "$folder"
bash "$FOURFOLD_SOURCE_DIR/tests/scaling/stand_in_scheduler.sh" "$folder/bin"
export PATH=$folder/bin:$PATH STAND_IN_LOG=$folder/log
unharmed() {
  found=$(find "$folder" "${TMPDIR:-/tmp}" -maxdepth 6 -name 'canary*' 2>/dev/null) || true
  [ -z "$found" ] || fail "$1 was taken for code: $found"
}
tried=0
try() { # STATUS ARGUMENTS...
  run "$@"
  tried=$((tried + 1))
}

# The scripts of gnuplot have nothing that starts a process or evaluates a text.
for script in "$FOURFOLD_SOURCE_DIR"/plots/*.gp; do
  ! grep -v '^ *#' "$script" | grep -nE '`|\<system *\(|\<(shell|evaluate|eval|call|popen|macros|fit)\>|@|^ *!|["'"'"']<|output ["'"'"'][|]' ||
    fail "$script has a way to run code"
done

names=("q';touch canary;'" "a'\$(touch canary)'b" '`touch canary`' "dir's" '-rf $(touch canary)'
  $'a\ntouch canary\n#SBATCH --wrap=canary' '< touch canary | "' '%s%n{a}_b^c@ARG1 # ;touch canary')
for i in "${!names[@]}"; do
  name=${names[i]}
  text=${name//$'\n'/ } # a campaign's reader refuses line ends in texts
  mkdir -p "$folder/$i/$name" && cd "$folder/$i/$name"
  cp "$FOURFOLD_SOURCE_DIR/platforms/machines/crossbar.toml" "./$text.machine.toml"
  printf '%s\n' 'layers = 2' 'hidden = 64' 'heads = 4' 'sequence_tokens = 128' 'vocabulary = 256' \
    >"./$text.model.toml"
  printf '# source: %s\n%s\n%s,4,%s,9,\n' "$text" 'machine,devices,model,batch_s,pflops' x y >rows.csv
  python3 - "$name" "$text" >"./$name.toml" <<'END'
import json, sys
name, text = sys.argv[1:]
word = lambda value: json.dumps(value, ensure_ascii=False)
print(f"""title = {word(text)}
axis = {word(text)}
batch_tokens = 4096
fidelity = "estimated"
published_csv = "rows.csv"
figures = ["lines", "machines", "time", "strong"]
[[sweep]]
list = [{{ label = {word(text)} }}, {{ label = {word(text + " again")}, options = {{ zero = 1 }} }}]
[[machine]]
platform = {word("./" + text + ".machine.toml")}
label = {word(text)}
points = [{{ devices = [2, 4], model = {word("./" + text + ".model.toml")} }}]""")
END
  file=./$name.toml
  try 0 campaign run "$file" --output "out $name"
  says "are drawn"
  for verb in status table report "export --as csv"; do try 0 campaign $verb "$file" --output "out $name"; done
  try 0 campaign plot "$file" --output "out $name" --kind machines --preview
  for launcher in slurm flux pbs lsf; do
    try 0 campaign script "$file" --output "out $name" --launcher $launcher --slices 1
    rm -f "out $name"/records.slice*
    script="out $name/$launcher.sh"
    bash -n "$script" || fail "$launcher: no script for bash"
    case $launcher in
    slurm) SLURM_ARRAY_TASK_ID=1 bash "$script" ;;
    pbs) PBS_ARRAY_INDEX=1 bash "$script" ;;
    lsf) LSB_JOBINDEX=1 bash "$script" ;;
    flux) bash "$script" ;;
    esac >"$folder/said" 2>&1 || fail "$launcher: its script failed for $name"
    [ -e "out $name/records.slice-1-of-1.jsonl" ] || fail "$launcher: its script ran something else"
  done
  cd "$folder"
  unharmed "$name"
done

# A line end in a name, or in a text of records, makes no second line of a complaint or a remark.
one_line() { # STATUS ARGUMENTS...
  try "$@"
  [ "$(wc -l <"$folder/said")" -eq 1 ] || fail "two lines are said to fourfold $*"
  ! grep -q '^no harm' "$folder/said" || fail "a name begins a line"
}
broken=$'a\nno harm: all is well'
one_line 2 campaign run "$broken.toml"
one_line 2 campaign table "0/${names[0]}/${names[0]}.toml" --output "$broken"
point=(--devices 8 --batch-tokens 65536 --fidelity estimated)
one_line 2 project "${point[@]}" --platform "./$broken.toml" --model gpt2-124m
one_line 2 project "${point[@]}" --platform perlmutter --model "./$broken.toml"
for flag in system software; do
  one_line 2 project "${point[@]}" --platform perlmutter --model gpt2-124m --$flag "./$broken.toml"
done
one_line 2 train --resume "$broken" --steps 1
one_line 2 train --data "$broken" --steps 1 --folder "$folder/none"
one_line 2 sample --checkpoint "$broken"
one_line 2 evaluate --checkpoint "$broken" --data "$broken"
one_line 2 checkpoint export "$broken" "$broken.out"
one_line 2 regress --baseline "$broken"
one_line 2 validate --set "./$broken.csv"

# Two that plot the same at once both do, and leave no draft.
cd "$folder/0/${names[0]}"
out="out ${names[0]}"
for i in 1 2 3; do
  "$fourfold" campaign plot "${names[0]}.toml" --output "$out" >"$folder/plot$i" 2>&1 &
  plots[i]=$!
done
for i in 1 2 3; do wait "${plots[i]}" || fail "one of three plots at once failed: $(cat "$folder/plot$i")"; done
[ -z "$(find "$out" -name '*draft*')" ] || fail "a draft is left: $(ls "$out")"

# A figure that fails costs neither the others nor the report, but the exit status.
rm "$out/time.svg" "$out/strong.svg" && mkdir "$out/time.svg"
run 2 campaign report "${names[0]}.toml" --output "$out"
says "cannot write $out/time.svg"
says "report.html is written"
[ -s "$out/strong.svg" ] || fail "the other figures are lost"
grep -q "cannot write" "$out/report.html" || fail "the report does not say what it lacks"
cd "$folder"

# A model of such a name is trained, and trained on from its checkpoint.
name="a'\$(touch canary)'b"
printf '%s\n' 'layers = 1' 'hidden = 32' 'heads = 2' 'sequence_tokens = 32' 'vocabulary = 256' >"$name.toml"
for i in $(seq 200); do echo "the quick brown fox $i jumps over the lazy dog"; done >text.txt
try 0 train --model "./$name.toml" --ranks 1 --steps 2 --batch 2 --data text.txt --folder run \
  --checkpoint-every 1 --validate-every 1 --validation-words 256 --tokens 0
try 0 train --resume run/checkpoints --ranks 1 --steps 3
says "loss.png, .svg and .pdf are drawn"
cp text.txt : # mpirun begins a further program behind this word
run 2 train --model "./$name.toml" --ranks 2 --steps 2 --data : --tokens 0
says "is one of mpirun's own"
unharmed "a model's name"
echo "no name is code: ${#names[@]} hostile names, $tried commands"
