#!/usr/bin/env bash
# Bad input on the command line: one sentence on standard error and a status that is not 0.
set -euo pipefail
fourfold=${FOURFOLD_BIN_DIR:?}/fourfold
failures=0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# refused SENTENCE ARGUMENTS...: fourfold ARGUMENTS fails and says SENTENCE in its only line.
refused() {
  local sentence=$1 said status=0
  shift
  said=$("$fourfold" "$@" 2>&1 >/dev/null) || status=$?
  if [ "$status" -eq 0 ] || [ "$status" -ge 126 ] || [ "$(wc -l <<<"$said")" -ne 1 ] ||
    [[ $said != *"$sentence"* ]]; then
    echo "fourfold $*: status $status, said: $said; expected: $sentence" >&2
    failures=$((failures + 1))
  fi
}

point=(--platform frontier --model gpt-5b --fidelity estimated)
simulated=(--platform frontier --model gpt-5b --devices 8 --grid 4x2x1x1)
refused "unknown verb 'serach'; did you mean \"search\"?" serach
refused "unknown verb 'shwo'; did you mean \"show\"?" platforms shwo
refused "did you mean \"--platform\"?" search --platfrom frontier --model gpt-5b --devices 8
for verb in "advise --tokens 1T" "compare --systems axonn-4d" project; do
  # shellcheck disable=SC2086
  refused "only points of a campaign are measured" $verb --platform frontier --model gpt-5b \
    --devices 64 --fidelity measured
done
refused "axonn-4d does not run on grid x=4,pipe=2: pipe is 2, but it must be 1" \
  project "${point[@]}" --grid x=4,pipe=2 --system axonn-4d
refused "--systems names axonn-4d twice" compare "${point[@]}" --devices 8 --systems axonn-4d,axonn-4d
refused "did you mean \"pytorch-fsdp\"?" systems pytorch-fdsp
refused "did you mean \"oar\"?" project "${point[@]}" --devices 8 --overlap oaa
refused "has no number" project "${point[@]}" --devices 8 --scale network.linx=2
refused "is no KEY=FACTOR" project "${point[@]}" --devices 8 --scale network.links
refused "100000 are too many" project "${point[@]}" --devices 100000
refused "no whole number from 1 to 68719476736" \
  project "${point[@]}" --devices 8 --batch-tokens 9000000000000000000
refused "from 0.000001 to 1000000" \
  project "${point[@]}" --devices 8 --scale network.link_bandwidth_GBps=1e-300
refused "two factors for 'nodes'" project "${point[@]}" --devices 8 --scale nodes=.5 --scale nodes=.5

# A calibration that fails leaves the old file: a node of the log has 8 ranks, Perlmutter's 4 devices.
{
  echo "./all_reduce_perf -b 1M -e 1M"
  for rank in {0..15}; do echo "#  Rank $rank Group 0 Pid 1 on node$((rank / 8)) device $rank"; done
  echo "#  size  count  type  redop  root  time  algbw  busbw  #wrong"
  echo "1048576  262144  float  sum  -1  100.00  10.49  19.66  0"
  echo "# Out of bounds values : 0 OK"
  echo "# Avg bus bandwidth : 19.66"
} >"$folder/log.txt"
echo "the old one" >"$folder/mine.toml"
calibrate=(calibrate --platform perlmutter --accept --out "$folder/mine.toml" --from-nccl-tests)
refused "was not written: with the library of the logs" "${calibrate[@]}" "$folder/log.txt"
refused "is given twice" "${calibrate[@]}" "$folder/log.txt" "$folder/./log.txt"
if [ "$(ls "$folder") $(cat "$folder/mine.toml")" != $'log.txt\nmine.toml the old one' ]; then
  echo "a calibration that was refused did not leave the old file alone" >&2
  failures=$((failures + 1))
fi

refused "'all,none': all stands alone" project "${point[@]}" --devices 8 --overlap all,none
refused "--overlap: has an empty value" project "${point[@]}" --devices 8 --overlap ''
refused "--fidelity is given twice; give it once" project "${point[@]}" --devices 8 --fidelity full
refused "--recompute selective gathers nothing anew" project "${point[@]}" --devices 8 \
  --recompute selective --overlap recompute
refused "without --platform all layers are drawn alike" show order --stages 4 --micro-batches 8 \
  --model gpt-5b
refused "unknown flag '--micro-batches'" show --model gpt-5b --micro-batches 2
refused "hidden size 12288 does not divide by y = 8192" project --platform frontier \
  --model gpt-80b --devices 8192 --grid 1x8192x1x1 --fidelity estimated
refused "devices would fit" project --platform frontier --model gpt-5b --devices 44 --fidelity estimated
refused "is a folder" campaign run "$folder"
mkdir "$folder/d.toml"
refused "is a folder" show --model "$folder/d.toml"
refused "is a folder" project "${simulated[@]}" --placement "nodes:$folder"
absurd=$("$fourfold" project "${point[@]}" --devices 8 --platform /tmp 2>&1 || true)
[[ $absurd != *"did you mean"* ]] || { echo "no name is like /tmp: $absurd" >&2; failures=1; }

# Absurd models are refused before memory goes; memory that is gone is one sentence, too.
model() {
  printf 'layers = %s\nhidden = %s\nheads = 1\nsequence_tokens = 2048\nvocabulary = 512\n' \
    "$1" "$2" >"$folder/absurd.toml"
}
model 1000000 4096
refused "layers = 1000000, but it must be at most 10000" show --model "$folder/absurd.toml"
model 9000000000000000000 4096
refused "but it must be at most 10000" \
  project --platform frontier --devices 8 --fidelity estimated --model "$folder/absurd.toml"
model 2 9000000000000000000
refused "but it must be at most 1048576" show --model "$folder/absurd.toml"
model 10000 4096
(
  ulimit -v 200000
  refused "memory that this machine or its limits allow is used up" \
    show --model "$folder/absurd.toml"
  exit "$failures"
) || failures=$((failures + 1))
refused "no process grid" project "${point[@]}" --devices 16 --grid 2x2x2
refused "no percentage" project "${point[@]}" --devices 8 --jitter 2
refused "more than the 8" project "${simulated[@]}" --slow-devices 9:0.5
refused "does not use it" project "${simulated[@]}" --slow-devices 8=0.5
refused "no link 'foo': its devices are 0 to 7; the links of selene are nic:NODE.NIC, 'unit" \
  project --platform selene --model gpt-5b --devices 8 --fail foo
refused "no link 'nic:9.9'" project "${simulated[@]}" --degrade nic:9.9=0.5
refused "cannot read" campaign run nowhere.toml

for words in platforms --help "project --help" --version; do
  # shellcheck disable=SC2086
  if "$fourfold" $words >/dev/full 2>/dev/null; then
    echo "a full standard output is no success of $words" >&2
    failures=$((failures + 1))
  fi
done
[ "$failures" -eq 0 ] || exit 1
echo "everything is refused in words"
