#!/usr/bin/env bash
# A run writes in its own folder and nowhere else, whatever links lie in wait there; runs that begin at
# once have a folder each; whose folder it is, is told.
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
grep -q "with --data text.txt, as the checkpoint remembers" out || fail "files taken are not said: $(cat out)"
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

echo "a run keeps to its folder"
