#!/usr/bin/env bash
# Nothing is lost unsaid: closed and full standard streams, absurd keys and numbers, memory that is gone,
# pictures on a full disk, and one table of exit statuses that the verbs keep.
source "$(dirname "${BASH_SOURCE[0]}")/command_line.sh"
cd "$folder"

one_point small.toml estimated 1_048_576 perlmutter 'devices = 16, model = "gpt2-124m"'
of=(--devices 16 --batch-tokens 1048576 --fidelity estimated)
point=(--platform perlmutter --model gpt2-124m "${of[@]}")

# ends STATUS SENTENCE ARGUMENTS...: fourfold ARGUMENTS ends so and says the sentence on standard error,
# in 2 GB and 100 s.
ends() {
  local expected=$1 sentence=$2 status=0
  shift 2
  (ulimit -v 2000000 && exec timeout 100 "$fourfold" "$@" >out 2>err </dev/null) || status=$?
  [ "$status" -eq "$expected" ] || fail "fourfold $*: status $status, not $expected: $(cat err)"
  [ -z "$sentence" ] || heard -F -- "$sentence" err || fail "fourfold $* does not say '$sentence': $(cat err)"
}

# The table of statuses, which --help has, too.
ends 0 "" project "${point[@]}"
ends 1 "fits no grid" project --platform perlmutter --model gpt-640b --devices 8 --fidelity estimated
ends 1 "needs at least" project --platform perlmutter --model gpt-640b --grid 2x2x2x1 --fidelity estimated
ends 2 "a verb is missing" campaign
ends 2 "cannot read nowhere.toml" campaign run nowhere.toml
ends 2 "only points of a campaign are measured" compare --systems axonn-4d "${point[@]:0:8}" --fidelity measured

# What is printed as JSON ends its last line.
for verb in systems "systems axonn-4d" software "software fused" models platforms "platforms show frontier" \
  "collectives --platform frontier --devices 16" "project ${point[*]}" "search ${point[*]}"; do
  # shellcheck disable=SC2086
  "$fourfold" $verb --json >out 2>err
  [ -z "$(tail -c 1 out)" ] || fail "fourfold $verb --json does not end its last line"
  python3 -c 'import json; json.load(open("out"))' || fail "fourfold $verb --json is no JSON"
done

# An option that could not take effect is refused, and says beside what it would.
ends 2 "--wide cannot take effect without --explain" project "${point[@]}" --wide
ends 2 "--transport cannot take effect without --set here" validate --set layers --transport auto
ends 2 "--set layers is given twice" validate --set layers --set layers
ends 2 "--intervals needs runs of at least" validate --set layers --intervals
ends 2 "no point of the campaign is on 77 devices; there are 16" campaign run small.toml --devices 77
ends 2 "--launch cannot take effect: it starts ranks of measured points" campaign run small.toml \
  --launch 'srun --ntasks={ranks}'
for flag in "--model gpt-5b" "--sequences 2" "--grid 2x1x1x1"; do
  # shellcheck disable=SC2086
  ends 2 "${flag% *} has no effect beside --shapes" bench gemm --shapes nn:8x8x8 $flag
done
[ ! -e results ] || fail "a campaign that is refused leaves something: $(find results)"
for flag in --order --chunks --layers-per-stage; do ends 2 "unknown flag '$flag'" show --model gpt-5b $flag 2; done
echo own >trace.txt
ends 2 "trace.txt is there already and is no trace" project "${point[@]}" --grid 1x1x4x4 --trace trace.txt
[ "$(cat trace.txt)" = own ] || fail "a trace is written over a text"
"$fourfold" project --help | heard '^Exit status: 0 done; 1 the answer is no; 2 could not; 130' ||
  fail "--help has no table of statuses"

# Streams that are closed take no file's place; what is answered into nothing is an error.
status=0
"$fourfold" campaign run small.toml --output closed >&- 2>err || status=$?
[ "$status" -eq 2 ] || fail "a closed standard output ends with status $status"
grep -q "standard output is closed" err || fail "a closed standard output is not said: $(cat err)"
"$fourfold" campaign run small.toml --output closed 2>&- <&- >out || fail "closed standard error: status $?"
grep -q "^perlmutter" out || fail "the table is not printed: $(cat out)"
while IFS= read -r line; do
  [[ $line == {*} ]] || fail "records.jsonl holds what is no record: $line"
done <closed/records.jsonl
for words in "campaign run small.toml --output closed" platforms --help "project --help" --version; do
  status=0
  # shellcheck disable=SC2086
  "$fourfold" $words >/dev/full 2>err || status=$?
  [ "$status" -eq 2 ] || fail "a full standard output ends $words with status $status"
done
"$fourfold" campaign run small.toml --output closed >out 2>/dev/full || fail "full standard error: status $?"
for program in engine replay; do
  status=0
  "$fourfold-$program" --help >&- 2>err || status=$?
  [ "$status $(grep -c "standard output is closed" err)" = "2 1" ] ||
    fail "fourfold-$program with a closed standard output: status $status, $(cat err)"
done

# Pictures that the disk, here a limit of 8 KiB a file, has no room for.
if command -v gnuplot >/dev/null; then
  status=0
  (ulimit -f 8 && exec "$fourfold" campaign run small.toml --output full >out 2>err) || status=$?
  [ "$status" -eq 2 ] || fail "pictures on a full disk end with status $status: $(cat err)"
  grep -q "cannot draw .*full" err || fail "a full disk is not said: $(cat err)"
  [ -z "$(find full -name '*.png' -o -name '*.svg')" ] || fail "broken pictures are left: $(ls full)"
  [ -s full/table.txt ] || fail "the table is lost with the pictures"
fi

# A key that would overflow a parser's stack.
{ printf 'a%.0s.' $(seq 50000); echo 'a = 1'; } >deep.toml
for words in "campaign run deep.toml" "show --model ./deep.toml" "systems ./deep.toml" "software ./deep.toml" \
  "platforms show ./deep.toml" "search --space deep.toml"; do
  # shellcheck disable=SC2086
  ends 2 "deep.toml, line 1: a key has more than 16 parts" $words
done

# Words that no number or text can be, and those that are like others.
ends 2 "'1e999' is no number" show order --stages 4 --micro-batches 8 --times 1,1,1e999
ends 2 "is no whole number" platforms export frontier --simgrid-xml --devices 99999999999999999999
ends 2 "is no text in UTF-8" project "${of[@]}" --platform perlmutter --model $'gpt\xff'
ends 2 "is no text in UTF-8" sample --checkpoint nowhere --prompt $'a\xffb'
ends 2 "unknown verb 'serach'; did you mean \"search\"?" serach
ends 2 "unknown verb 'shwo'; did you mean \"show\"?" platforms shwo
ends 2 'did you mean "--platform"?' search --platfrom frontier --model gpt-5b --devices 8
ends 2 "--systems names axonn-4d twice" compare "${point[@]}" --systems axonn-4d,axonn-4d
ends 2 "'all,none': all stands alone" project "${point[@]}" --overlap all,none
ends 2 "unknown platform" project "${of[@]}" --platform /tmp --model gpt-5b
! grep -q "did you mean" err || fail "no name is like /tmp: $(cat err)"

# Memory that its limits do not allow is one sentence, too.
printf 'layers = 10000\nhidden = 4096\nheads = 1\nsequence_tokens = 2048\nvocabulary = 512\n' >absurd.toml
status=0
(ulimit -v 200000 && exec "$fourfold" show --model ./absurd.toml >out 2>err) || status=$?
[ "$status $(grep -c "memory that this machine or its limits allow is used up" err)" = "2 1" ] ||
  fail "memory that is gone: status $status, $(cat err)"

# A calibration that fails leaves the old file: a node of the log has 8 ranks, Perlmutter's 4 devices.
{
  echo "./all_reduce_perf -b 1M -e 1M"
  for rank in {0..15}; do echo "#  Rank $rank Group 0 Pid 1 on node$((rank / 8)) device $rank"; done
  echo "#  size  count  type  redop  root  time  algbw  busbw  #wrong"
  echo "1048576  262144  float  sum  -1  100.00  10.49  19.66  0"
  echo "# Out of bounds values : 0 OK"
  echo "# Avg bus bandwidth : 19.66"
} >log.txt
mkdir fits
echo "the old one" >fits/mine.toml
calibrate=(calibrate --platform perlmutter --accept --out fits/mine.toml --from-nccl-tests)
ends 2 "was not written: with the library of the logs" "${calibrate[@]}" log.txt
ends 2 "is given twice" "${calibrate[@]}" log.txt ./log.txt
[ "$(ls fits) $(cat fits/mine.toml)" = "mine.toml the old one" ] || fail "a refused calibration changes the old file"
ends 2 "excludes" "${calibrate[@]}" log.txt --again
# The new file finds the software of the old one's folder; a number that stands otherwise is not said to be none.
cp "$FOURFOLD_SOURCE_DIR/software/fused.toml" own.toml
sed 's/^software = .*/software = "own.toml"/' "$FOURFOLD_SOURCE_DIR/platforms/machines/perlmutter.toml" >plain.toml
sed 's/^host_link_GBps = /host_link_GBps.source = "me"\nhost_link_GBps.value = 20 #/' plain.toml >dotted.toml
echo '{"nvbandwidth": {"testcases": [{"name": "host_to_device_memcpy_ce", "bandwidth_matrix": [["40.0"]]}]}}' >ce.json
ends 0 "" calibrate --platform plain.toml --out fits/moved.toml --from-nccl-tests ce.json
ends 2 "" calibrate --platform dotted.toml --out fits/moved.toml --from-nccl-tests ce.json
heard "it stands below .processor. as" out || fail "a number that is there is said to be none: $(cat out)"

# The same link is named once.
ends 2 "'nic:0.0' is named twice" project --platform frontier --model gpt-5b --devices 8 --grid 4x2x1x1 \
  --fail nic:0.0 --fail nic:0.0

# A factor on links that the job has nothing on: of other nodes, of other groups.
ends 2 "--scale node.nics.bandwidth_GBps=0.5 cannot take effect" project "${of[@]:2}" --platform perlmutter \
  --model gpt2-124m --grid 4x1x1x1 --scale node.nics.bandwidth_GBps=0.5
ends 2 "--scale network.global_bandwidth=0.5 cannot take effect" project "${point[@]}" \
  --scale network.global_bandwidth=0.5
ends 2 "--scale nics=0.5 scales what belongs together" project "${point[@]}" \
  --scale node.nics.bandwidth_GBps=0.5
ends 0 "" project "${point[@]}" --scale nics=0.5

echo "nothing is silent"
