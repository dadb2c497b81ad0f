#!/usr/bin/env bash
# What surrounds mpirun, wrong in the environment: one sentence instead of its pages, and what is
# left over from a scheduler that is not there does no harm. Ranks that fail alike say so once.
# shellcheck source=tests/train/small_job.sh
source "$(dirname "$0")/../train/small_job.sh"
write_small_job . 2
touch plain
runs=0

# job VARIABLE=VALUE...: of two ranks, with these set; its status.
job() {
  runs=$((runs + 1))
  status=0
  timeout 120 env "$@" "$fourfold" train --model small.toml --data "${data:-text.txt}" --batch 4 --steps 2 \
    --ranks 2 --folder "run-$runs" >out 2>err || status=$?
}
# refused SAYING VARIABLE=VALUE...: in one line, and not started.
refused() {
  job "${@:2}"
  [ "$status" -eq 2 ] || fail "${*:2}: status $status: $(cat err)"
  [ "$(wc -l <err)" -eq 1 ] || fail "${*:2}: not one sentence: $(cat err)"
  grep -q "^fourfold: .*$1" err || fail "${*:2}: $(cat err)"
}

refused "plain, which is no folder" TMPDIR="$work/plain"
for framework in btl plm pml ras; do
  refused "the environment sets OMPI_MCA_$framework" "OMPI_MCA_$framework=nonsense"
done
refused "unable to open the hostfile" OMPI_MCA_orte_default_hostfile=/nowhere

command -v srun >/dev/null || {
  job SLURM_JOB_ID=7 SLURM_JOBID=7 "SLURM_NODELIST=gone[1-2]" "SLURM_TASKS_PER_NODE=2(x2)" SLURM_NNODES=2
  [ "$status" -eq 0 ] || fail "variables of a Slurm job that is gone: $(cat err)"
}

job OMPI_MCA_orte_base_help_aggregate=perhaps
[ "$status" -eq 0 ] || fail "a warning: $(cat err)"
grep -q "^fourfold: mpirun warns: An invalid value" err || fail "no warning: $(cat err)"

# Every rank finds the same.
printf '\x1f\x8b\x08\x00abc' >packed.gz
printf 'short' >short.txt
mkdir folder
for data in missing.txt plain packed.gz short.txt folder 'no*such'; do refused "" FOURFOLD=1; done
data=text.txt

job FOURFOLD=1
[ "$status$(cat err)" = 0 ] || fail "a sound job: $(cat err)"
echo "mpirun is started where it can start"
