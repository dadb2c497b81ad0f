#!/usr/bin/env bash
# A campaign, a memorisation study and a search write in their folders and nowhere else, whatever
# links lie in wait there; and two at once do not share a file of records.
source "$(dirname "${BASH_SOURCE[0]}")/command_line.sh"
source "$(dirname "${BASH_SOURCE[0]}")/small_study.sh"
cd "$folder"
source "${FOURFOLD_SOURCE_DIR:?}/tests/theirs.sh"

# plant FOLDER NAME...: links to what is there and to what is not yet.
plant() {
  local where=$1 name count=0
  shift
  mkdir -p "$where"
  for name in "$@"; do
    count=$((count + 1))
    ln -s "$folder/theirs/$([ $((count % 2)) -eq 0 ] && echo new || echo precious)" "$where/$name"
  done
}

one_point point.toml estimated 2_048 perlmutter 'devices = 8, model = "gpt2-124m", grid = "4x1x1x2"'
plant out table.txt{,.new} summary.csv{,.new} pflops.csv{,.new} {pflops,time}.{png,svg,pdf} report.html{,.new} \
  slurm.sh{,.new}
for verb in run plot report "script --launcher slurm"; do
  # shellcheck disable=SC2086
  run 0 campaign $verb point.toml --output out
  expect_untouched "campaign $verb"
done
for file in table.txt summary.csv report.html slurm.sh; do
  [ -f "out/$file" ] && [ ! -L "out/$file" ] || fail "$file is not a file of its own"
done

# What is added to is refused instead.
for name in records.jsonl .records.jsonl.in-use; do
  rm -rf out
  plant out $name
  run 2 campaign run point.toml --output out
  says "$name: it is a link, which might lead out of its folder; remove it"
  expect_untouched "a campaign with a link for $name"
done

# Nor is it read: what it leads to is shown to nobody.
rm -rf out
plant out records.jsonl
for verb in status table plot report "export --as csv" collect; do
  # shellcheck disable=SC2086
  run 2 campaign $verb point.toml --output out
  says "records.jsonl: it is a link, which might lead out of its folder; remove it"
  ! grep -q kept said || fail "campaign $verb quotes a file of others"
  expect_untouched "campaign $verb with a link for records.jsonl"
done
rm -rf out
plant out failures.jsonl
sed 's/grid = "4x1x1x2"/grid = "1x1x1x8", micro_batches = 1/; s/2_048/16_384/; s/gpt2-124m/gpt3-175b/' point.toml >fails.toml
"$fourfold" campaign run fails.toml --output out >said 2>&1 && fail "a point that fits nowhere was answered"
expect_untouched "a campaign with a link for failures.jsonl"

# Its name.
cp point.toml ...toml
run 0 campaign run ...toml
[ -s results/_./records.jsonl ] || fail "a campaign called ...toml: $(find . -name records.jsonl)"

# Whoever has the records, the measurements or the runs of a folder is named; nothing of it is changed.
rm -rf out
mkdir out
since="process $$ on $(hostname) started 0 since 2026-01-02T03:04:05Z"
for name in records.jsonl here.measured.jsonl runs.jsonl; do
  exec {held}>"out/.$name.in-use"
  flock "$held"
  echo "$since" >&"$held"
done
is_held() {
  local name=$1
  shift
  run 2 "$@"
  says "out/$name is in use by process $$ on $(hostname) since 2026-01-02T03:04:05Z"
  [ ! -e "out/$name" ] || fail "$name is written to while another has it"
}
is_held records.jsonl campaign run point.toml --output out
is_held here.measured.jsonl calibrate --out out/here.toml
is_held runs.jsonl validate --set here --folder out

# A study of what is known by heart, to its end; then with folders that are not its own.
write_small_study heart.toml 2 "[0, 2]" "[1]" 2 1
plant heart {table.txt,memorisation.csv,background.txt,held-out.txt,tiny.toml}{,.new} memorisation.png
run 0 campaign run heart.toml --output heart
expect_untouched "a memorisation study"
for name in base-tiny tiny-1 tiny-1-goldfish; do
  rm -rf other && mkdir -p other
  mkdir "other/$name" && echo mine >"other/$name/thesis"
  run 2 campaign run heart.toml --output other
  says "other/$name is in the way: it was not made for this; remove it, or choose another folder"
  [ "$(cat "other/$name/thesis")" = mine ] || fail "a folder of others is gone: $name"
  rm -rf other && mkdir other && ln -s "$folder/theirs" "other/$name"
  run 2 campaign run heart.toml --output other
  says "is in the way"
  expect_untouched "a memorisation study with a link for $name"
done
sed -i 's|name = "tiny"|name = "../theirs/tiny"|' heart.toml
run 2 campaign run heart.toml --output heart
says "'name' must be a plain name for a file: it has a '/'"
echo "studies keep to their folders"
