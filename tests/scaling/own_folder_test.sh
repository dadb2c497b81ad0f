#!/usr/bin/env bash
# A campaign, a memorisation study and a search write in their folders and nowhere else, whatever
# links lie in wait there; and two at once do not share a file of records.
source "$(dirname "${BASH_SOURCE[0]}")/command_line.sh"
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

cat >point.toml <<'TOML'
title = "One point"
batch_tokens = 2_048
fidelity = "estimated"
[[machine]]
platform = "perlmutter"
points = [{ devices = 8, model = "gpt2-124m", grid = "4x1x1x2" }]
TOML
plant out table.txt table.txt.new summary.csv summary.csv.new pflops.csv pflops.csv.new pflops.png pflops.svg \
  pflops.pdf time.png time.svg time.pdf \
  report.html report.html.new slurm.sh slurm.sh.new
run 0 campaign run point.toml --output out
expect_untouched "a campaign"
for verb in plot report "script --launcher slurm"; do
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
python3 - records.jsonl here.measured.jsonl runs.jsonl <<'P' &
import fcntl, os, socket, sys, time
files = [open(f"out/.{name}.in-use", "w") for name in sys.argv[1:]]
for file in files:
    fcntl.flock(file, fcntl.LOCK_EX)
    file.write(f"process {os.getpid()} on {socket.gethostname()} started 0 since 2026-01-02T03:04:05Z\n")
    file.flush()
open("locked", "w").close()
while not os.path.exists("enough"):
    time.sleep(0.05)
P
holder=$!
for _ in $(seq 200); do [ -e locked ] && break || sleep 0.05; done
is_held() {
  local name=$1
  shift
  run 2 "$@"
  says "out/$name is in use by process $holder on $(hostname) since 2026-01-02T03:04:05Z"
  [ ! -e "out/$name" ] || fail "$name is written to while another has it"
}
is_held records.jsonl campaign run point.toml --output out
is_held here.measured.jsonl calibrate --out out/here.toml
is_held runs.jsonl validate --set here --folder out
touch enough
wait "$holder"
run 0 campaign run point.toml --output out
says "out/records.jsonl was in use by process $holder on $(hostname) since"

# A study of what is known by heart, to its end; then with folders that are not its own.
mkdir text
python3 - >text/proverbs <<'END'
import random
random.seed(5)
for _ in range(500):
    print(" ".join(random.choice("the of and a to in he was that it".split()) for _ in range(30)) + "\n%")
END
cat >heart.toml <<END
title = "By heart"
[memorisation]
text = "$folder/text"
document_tokens = 32
ending_tokens = 8
documents = 2
repetitions = [0, 2]
seeds = [1]
goldfish = { k = 2, h = 5 }
pretraining = { steps = 2, batch = 8, warm_up = 1, learning_rate = 3e-3, last_learning_rate = 0.1 }
continued = { batch = 4, injected = 4, warm_up = 1, learning_rate = 3e-3, last_learning_rate = 0.1 }
[[memorisation.model]]
name = "tiny"
layers = 1
hidden = 64
heads = 2
END
plant heart table.txt table.txt.new memorisation.csv memorisation.csv.new background.txt background.txt.new \
  held-out.txt held-out.txt.new tiny.toml tiny.toml.new memorisation.png
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
expect_untouched "a model of a study with a name like a path"
echo "studies keep to their folders"
