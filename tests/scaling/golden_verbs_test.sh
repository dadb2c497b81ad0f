#!/usr/bin/env bash
# What the main verbs say about the tests' own machines, word for word with tests/golden/verbs: text,
# pictures, tables, CSV and JSON.
source "$(dirname "${BASH_SOURCE[0]}")/command_line.sh"
source_folder=${FOURFOLD_SOURCE_DIR:?}
export FOURFOLD_PLATFORMS=$source_folder/tests/machines
cd "$folder"

# same NAME: compares the standard input with a golden text. Folders, clocks, what rounding leaves of a
# difference, and error bars, which move with every run that is published, are taken out;
# answers_agree_test.sh holds those.
same() {
  sed -E "s|$folder|FOLDER|g; s/, about [0-9:]+ left//; s/-?[0-9.]+e-1[4-9]/0/g; s/80 % bar .*/(its error bar)/
    /^of [0-9]+ sources lay between/d" >"$folder/is"
  is_golden "$folder/is" "verbs/$1" ||
    touch "$folder/differs"  # a variable would be the subshell's of a pipe
}

question=(--model gpt-5b --batch-tokens 262144)
"$fourfold" project --platform dragonfly "${question[@]}" --devices 64 --grid 4x2x2x4 2>&1 | same project.txt
"$fourfold" compare --platform fat-tree-3 --model gpt-5b --devices 64 --batch-tokens 524288 \
  --systems megatron-lm-2021,deepspeed-zero-3,pytorch-fsdp,axonn-4d --output systems >/dev/null 2>&1
python3 - systems/summary.csv <<'PY' | same compare.csv
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
kept = [column for column in rows[0] if not column.startswith("bar_")]
table = csv.DictWriter(sys.stdout, kept, extrasaction="ignore", lineterminator="\n")
table.writeheader()
table.writerows(rows)
PY
for order in 1f1b zero-bubble "interleaved --chunks 2"; do
  # The words of an order are flags.
  # shellcheck disable=SC2086
  "$fourfold" show order --stages 4 --micro-batches 8 --times 1,1.25,0.75 --order $order
done >orders
small=(--platform dragonfly --model gpt2-124m)
"$fourfold" show order "${small[@]}" --grid pipe=2,data=2 --batch-tokens 12288 --micro-batches 3 >>orders 2>&1
same orders.txt <orders
# Phases that do not train, and a factor that is asked for.
{
  for phase in evaluation prefill decode; do
    echo "\$ --phase $phase"
    "$fourfold" project "${small[@]}" --grid 2x1x1x4 --phase $phase --global-batch-size 64 --fidelity estimated |
      grep -E "^(An? |Grid|one batch|[0-9.]+ [PT]flop|MFU [0-9]|  Of that|Options|Memory)"
  done
  "$fourfold" project "${small[@]}" --grid 1x1x1x8 --batch-tokens 8192 --fidelity estimated --scale 'nics=?' \
    --step-seconds 0.04 | head -n 9
} 2>&1 | same phases.txt
"$fourfold" collectives --platform dragonfly --devices 16 --stride 2 2>&1 | same collectives.txt

cat >campaign.toml <<'TOML'
title = "Two machines of the tests"
batch_tokens = 524_288
[options]
recompute = "none"
[[machine]]
platform = "dragonfly"
points = [{ devices = 16, model = "gpt2-124m" }, { devices = 32, model = "gpt2-124m" }]
[[machine]]
platform = "torus"
vocabulary = 32_000
points = [{ devices = 24, model = "gpt2-124m" }]
TOML
"$fourfold" campaign run campaign.toml --fidelity estimated --output campaign >/dev/null 2>&1
printf '%s\n' '#! bound_percent: 1000' '#! least_cases: 2' \
  'id,study,source,platform,n_gpus,layers,hidden,heads,seq,vocab,global_batch_sequences,tp,pp,dp,micro_batch,seconds' \
  'one,First study,me,fat-tree-3,8,24,2048,16,2048,51200,64,1,1,8,8,1' \
  'two,Second study,me,fat-tree-3,8,24,2048,16,2048,51200,64,2,2,2,8,2' >runs.csv
"$fourfold" validate --set runs.csv --csv rows.csv >/dev/null 2>&1
same validate.csv <rows.csv
# A set with rows that cannot run, rows for comparison only and two libraries; what has moved since.
printf '%s\n' '#! title: Mixed' '#! bound_percent: 40' \
  'id,study,source,platform,n_gpus,layers,hidden,heads,seq,vocab,global_batch_sequences,tp,pp,dp,micro_batch,zero,seconds' \
  'fits,First,me,fat-tree-3,8,24,2048,16,2048,51200,64,2,1,4,8,1,1.5' \
  'large,Second,you,fat-tree-3,8,96,12288,96,2048,51200,64,1,1,8,8,,9' \
  'unpublished,Second,you,torus,8,24,2048,16,1024,51200,64,2,2,2,4,,' \
  'deep,Second,you,torus,16,24,2048,16,1024,51200,64,2,4,2,4,2,0.9' >mixed.csv
"$fourfold" validate --set mixed.csv --json >earlier.json 2>/dev/null || true
sed -i 's/^fits,\(.*\),64,2,1,4,8/fits,\1,64,4,1,2,8/' mixed.csv
{
  "$fourfold" validate --set mixed.csv --against earlier.json || true
  "$fourfold" validate --set mixed.csv --set runs.csv --csv mixed_rows.csv --keep kept.csv || true
  cat mixed_rows.csv kept.csv
  "$fourfold" validate --set mixed.csv --fidelity full || true
} 2>&1 | same validate_mixed.txt

# Collectives beside those that were measured, and a library that is fitted to what a log says.
{
  echo op,nodes,devices_per_node,bytes,time_us,concurrent_groups
  for op in all_gather reduce_scatter all_reduce; do
    printf "$op,%s\n" 2,6,1024,60,1 2,6,1048576,90,1 2,6,67108864,4000,1 4,3,67108864,4500,2 4,6,268435456,9000,1 1,6,67108864,2500,
  done
} >measured.csv
for only in "" "--only nodes=2" "--only op=all_gather"; do
  # shellcheck disable=SC2086
  "$fourfold" collectives --platform fat-tree-2 --measured measured.csv $only
done 2>&1 | same collective_errors.txt
for op in all_gather all_reduce; do
  {
    echo "./${op}_perf -b 1K -e 1G -f 4"
    for n in {0..5}; do echo "#  Rank $n Group 0 Pid 1$n on node$((n / 3)) device $((n % 3))"; done
    echo "#  size  count  type  redop  root  time  algbw  busbw  #wrong"
    awk -v factor="$(grep -c reduce <<<$op)" 'BEGIN {
      for (bytes = 1024; bytes <= 1073741824; bytes *= 4) {
        micro = sprintf("%.2f", 30 + 3 * ++i + bytes / 15000)
        rate = bytes / micro / 1000
        bus = rate * (1 + factor) * 5 / 6
        printf "%d %d float sum -1 %s %.2f %.2f 0\n", bytes, bytes / 4, micro, rate, bus
        sum += bus
      }
      print "# Out of bounds values : 0 OK"
      printf "# Avg bus bandwidth : %.4f\n", sum / i
    }'
  } >$op.log
done
{
  "$fourfold" calibrate --platform fat-tree-2 --library Made --out fitted.toml --from-nccl-tests ./*.log \
    --accept || true
  # What a fit finds ends in other digits elsewhere.
  sed '/fourfold calibrate: fit to/d' fitted.toml | { diff "$FOURFOLD_PLATFORMS/fat-tree-2.toml" - || true; } |
    grep -v '^[<-]'
  # Links of a node, two tests of each; a machine that has no such number keeps what it has.
  for name in host_to_device_memcpy_ce device_to_device_memcpy_write_ce; do
    printf '{"nvbandwidth": {"testcases": [{"name": "%s", "bandwidth_matrix": [["40.0", 50]]}]}}' $name >$name.json
  done
  for machine in dragonfly crossbar-private; do
    "$fourfold" calibrate --platform $machine --library Made --out links.toml --from-nccl-tests ./*_ce.json || true
    if [ -e links.toml ]; then grep nvbandwidth links.toml && rm links.toml; fi
  done
} 2>&1 | same calibrated.txt

# A campaign on a machine whose nodes have six devices.
cat >ranks.toml <<'TOML'
title = "Trained"
batch_tokens = 7_680
fidelity = "measured"
[[machine]]
platform = "fat-tree-2"
points = [{ devices = 10, model = "gpt2-mini", grid = "2x1x1x5" }]
TOML
"$fourfold" campaign script ranks.toml --output slurm --launcher slurm --time 2h >/dev/null
grep -q -- "--nodes=2$" slurm/slurm-10.sh || fail "ten ranks take two nodes: $(cat slurm/slurm-10.sh)"

# refused WORDS...: what is said of them; another status than that of what was mistyped, too.
refused() {
  local status=0
  echo "\$ $*"
  "$fourfold" "$@" 2>&1 || status=$?
  [ "$status" -eq 2 ] || echo "status $status"
}
printf 'no template\n' >no_command
printf '{{command}} {{array\n' >open_template
printf '{{command}} {{wald}}\n' >strange_template
printf 'title = "Dated"\nbatch_tokens = 2020-01-01\n' >dated.toml
printf 'op,nodes,bytes,time_us\n' >short.csv
printf '#! no colon\nid\n' >remark.csv
printf '# nothing\n' >empty.csv
printf 'machine,n_gpus,model,batch_s,pflops\n' >rowless.csv
{
  for template in no_command open_template strange_template missing; do
    refused campaign script campaign.toml --output new --launcher slurm --template $template
  done
  refused campaign script campaign.toml --output new --launcher slurm --ranks-per-node 2
  refused campaign script campaign.toml --output new --launcher slurmm
  refused campaign script ranks.toml --output new --launcher slurm --slices 3
  refused campaign run dated.toml --output new
  refused campaign table campaign.toml --output nowhere
  refused campaign collect campaign.toml --output nowhere
  refused collectives --platform fat-tree-2 --measured short.csv
  refused collectives --platform fat-tree-2 --measured measured.csv --only nodes
  refused collectives --platform fat-tree-2 --measured measured.csv --only node=2
  refused collectives --platform fat-tree-2 --measured measured.csv --only nodes=77
  refused calibrate --platform fat-tree-2 --library Made --out new.toml --from-nccl-tests missing.log
  refused calibrate --platform fat-tree-2 --library Made --out new.toml --from-nccl-tests empty.csv
  refused validate --set remark.csv
  refused validate --set empty.csv
  sed 's/64,4,1,2,8/60,4,1,2,8/' mixed.csv >uneven.csv
  refused validate --set missing.csv
  refused validate --set uneven.csv
  refused validate --set runs.csv --against missing.json
  refused validate --set runs.csv --against runs.csv
  refused project --platform torus --model gpt-5b --batch-tokens 262144 --devices 8 --scale node.nicks=2
  refused project --platform torus --model gpt-5b --batch-tokens 262144 --devices 8 --grid 2x2x2x1 --micro-batches 7
  refused project --platform torus --model gpt-5b --batch-tokens 262144 --devices 8 --slow-devices 9:0.5
  refused project --platform torus --model gpt-5b --batch-tokens 262144 --devices 8 --grid pipe=4,data=2 --order interleaved --chunks 9 --micro-batches 4
  refused compare --platform torus --model gpt-5b --batch-tokens 262144 --devices 8 --systems axonn-2023
  refused advise --platform torus --model gpt-5b --batch-tokens 262144 --devices 32..16 --tokens 1B
  refused show order --stages 4 --micro-batches 6 --order interleaved --chunks 2
  refused show order --stages 4 --micro-batches 8 --times 1,2
  refused platforms show toruss
} 2>&1 | same refused.txt

[ ! -e "$folder/differs" ] || fail "read what differs; ./test.sh --accept takes it over"
echo "the main verbs say what they said"
