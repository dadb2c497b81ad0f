#!/usr/bin/env bash
# A run writes in its own folder and nowhere else, whatever a checkpoint says and whatever links lie in
# wait there; runs that begin at once have a folder each; whose folder it is, is told.
source "$(dirname "${BASH_SOURCE[0]}")/small_job.sh"
source "${FOURFOLD_SOURCE_DIR:?}/tests/theirs.sh"
write_small_job "$work" 1
small=(train --model ./small.toml --data text.txt --ranks 1 --batch 8 --tokens 0)

# Three at once, without a folder: three folders, each with its model. Three at once in one folder: one
# model, and two that say why not.
# three_at_once ARGUMENTS...: sets whole, how many ended well.
three_at_once() {
  local i status jobs=()
  whole=0
  for i in 1 2 3; do
    "$fourfold" "${small[@]}" --steps 3 "$@" >"$i.out" 2>&1 &
    jobs+=($!)
  done
  for i in 1 2 3; do
    status=0
    wait "${jobs[i - 1]}" || status=$?
    if [ "$status" -eq 0 ]; then
      whole=$((whole + 1))
    elif [ "$status" -ne 2 ] || ! grep -qE 'is in use by process [0-9]+ on |an earlier run' "$i.out"; then
      fail "of three at once one ended with $status"
    fi
  done
}
three_at_once
if [ "$whole" -ne 3 ] || [ "$(find results/train -name step-00000003.json | wc -l)" -ne 3 ]; then fail "three runs: $(find results)"; fi
[ "$(find results/train -name .in-use | wc -l)" -eq 0 ] || fail "a folder is not given back"
three_at_once --folder one
[ "$whole" -eq 1 ] || fail "$whole of three runs in one folder ended well"
[ "$(grep -c '"kind":"run"' one/log.jsonl)" -eq 1 ] || fail "one log tells of several runs"

# A run that lives is named; one that was killed is, too, and its folder taken over; of another host
# nobody knows.
"$fourfold" "${small[@]}" --steps 1000000 --checkpoint-every 5 --folder live >live.out 2>&1 &
job=$!
wait_for live.out "^step .* checkpoint"  # whose files the next ones replace
engine=$(pgrep -P "$job")
in_use="live is in use by process $engine on $(hostname) since 20"
refused "$in_use" train --resume live --steps 1000001
refused "$in_use" "${small[@]}" --steps 3 --folder live
refused "$in_use" "${small[@]}" --steps 3 --log live/log.jsonl --folder next
kill -9 "$engine"
wait "$job" && fail "a killed run ended well"
step=$(find live/checkpoints -name 'step-*.json' | sort | tail -n 1 | sed 's/.*step-0*\([0-9]*\).json/\1/')
"$fourfold" train --resume live --steps $((step + 1)) >out 2>&1 || fail "no resume after a kill: $(cat out)"
grep -q "^live was in use by process $engine on .*, which has ended; it is taken over" out ||
  fail "the killed run is not named: $(cat out)"
echo "process 7 on far-away started 5 since 2026-01-02T03:04:05Z" >live/.in-use
refused "live is in use by process 7 on far-away since 2026-01-02T03:04:05Z, as far as this host knows; if that has ended, remove live/.in-use" \
  train --resume live --steps $((step + 2))

# A table that a user has there under the same name.
mkdir kept
echo "mine,too" >kept/loss.csv
status=0
"$fourfold" "${small[@]}" --steps 1 --folder kept >out 2>&1 || status=$?
if [ "$status" -ne 2 ] || [ "$(cat kept/loss.csv)" != "mine,too" ] ||
  ! grep -q "kept/loss.csv is of no run and is kept" out; then
  fail "a user's own loss.csv: status $status, $(cat out kept/loss.csv)"
fi

# Links in the place of all that a run writes.
mkdir -p planted/checkpoints
for name in loss.csv loss.csv.new loss.png loss.svg loss.pdf checkpoints/step-00000001.safetensors \
  checkpoints/step-00000001.json.tmp checkpoints/step-00000001.safetensors.tmp; do
  ln -s "$work/theirs/precious" "planted/$name"
done
"$fourfold" "${small[@]}" --steps 1 --folder planted >out 2>&1 || fail "a run among links: $(cat out)"
expect_untouched "a run with links in its folder"
[ -s planted/checkpoints/step-00000001.json ] || fail "a run among links leaves no checkpoint"
for name in log.jsonl checkpoints .in-use; do
  for target in precious new; do
    mkdir "planted-$name"
    ln -s "$work/theirs/$target" "planted-$name/$name"
    refused "is a link" "${small[@]}" --steps 1 --folder "planted-$name"
    expect_untouched "a link in the place of $name"
    rm -r "planted-$name"
  done
done
mkdir -p linked theirs-too
ln -s "$work/theirs-too" linked/checkpoints
refused "linked/checkpoints is a link" "${small[@]}" --steps 1 --folder linked
[ -z "$(ls theirs-too)" ] || fail "a linked folder of checkpoints is written to"

# What the user names is written where it says.
mkdir elsewhere
ln -s "$work/elsewhere" results/mine
"$fourfold" "${small[@]}" --steps 2 --folder results/mine/run --log elsewhere/my.jsonl --trace elsewhere/t.json \
  >out 2>&1 || fail "a run in a linked folder of results: $(cat out)"
for file in my.jsonl t.json run/checkpoints/step-00000002.json; do
  [ -s "elsewhere/$file" ] || fail "what the user named is not written: $file"
done

# A record that was forged, with a checksum that fits.
cp -r elsewhere/run forged
python3 - "$work/theirs" <<'P'
import json, sys
def scattered(x):
    m = (1 << 64) - 1
    x = (x + 0x9e3779b97f4a7c15) & m
    x = ((x ^ x >> 30) * 0xbf58476d1ce4e5b9) & m
    x = ((x ^ x >> 27) * 0x94d049bb133111eb) & m
    return x ^ x >> 31
path = "forged/checkpoints/step-00000002.json"
record = json.load(open(path))
del record["checksum"]
record["model"]["name"] = "../../../theirs/new"
for flag in ("--log", "--trace", "--folder"):
    record["trainer"]["typed"][flag] = [sys.argv[1] + "/precious"]
text = json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
total = len(text)
for byte in text:
    total = scattered(total ^ byte)
record["checksum"] = f"{total:016x}"
json.dump(record, open(path, "w"))
P
"$fourfold" train --resume forged --steps 3 >out 2>&1 || fail "the forged record is not gone on from: $(cat out)"
grep -q "forged/checkpoints remembers --folder $work/theirs/precious --log .*, which is not taken from a checkpoint" out ||
  fail "what is not taken is not said: $(cat out)"
grep -q "with --data text.txt, as the checkpoint remembers" out || fail "files taken are not said: $(cat out)"
[ -s forged/checkpoints/step-00000003.json ] || fail "the forged run goes on elsewhere"
expect_untouched "a forged record"

# Its model's name, where that names a folder.
mv forged/checkpoints loose
"$fourfold" train --resume loose --steps 4 >out 2>&1 || fail "no resume of loose checkpoints: $(cat out)"
[ "$(find results/train -maxdepth 1 -name '*theirs_new-2*' | wc -l)" -eq 1 ] || fail "the model's name: $(ls results/train)"
expect_untouched "a model with a name like a path"
echo "a run keeps to its folder"
