#!/usr/bin/env bash
# Makes stand-ins for the commands of Slurm, Flux, PBS and LSF that run jobs here and now, in folder
# $1: sbatch, srun, flux, qsub, bsub, and an mpirun that takes more ranks than cores.
#
# Jobs of an array run last to first. Each call appends a line to $STAND_IN_LOG. The job whose array
# index (or job number, of one without array) is $STAND_IN_KILLS is killed with all its processes as
# soon as the files of records in $STAND_IN_WATCHES have $STAND_IN_LINES lines; the log says so, if
# it did not end before that.
set -euo pipefail
mkdir -p "$1"
real_mpirun=$(command -v mpirun)

cat >"$1/job" <<'SH'
#!/usr/bin/env bash
# job NUMBER COMMAND...: in a session of its own, killed if it is the one to be killed.
number=$1
shift
setsid "$@" &
process=$!
if [ "$number" = "${STAND_IN_KILLS:-}" ]; then
  killed=no
  for ((i = 0; i < 6000; ++i)); do
    kill -0 $process 2>/dev/null || break
    if [ "$(cat "$STAND_IN_WATCHES"/records.*.jsonl 2>/dev/null | wc -l)" -ge "$STAND_IN_LINES" ]; then
      kill -9 -- -$process 2>/dev/null && killed=yes
      break
    fi
    sleep 0.005
  done
fi
status=0
wait $process 2>/dev/null || status=$?
if [ "${killed:-no}" = yes ] && [ $status -eq 137 ]; then echo "killed $number" >>"$STAND_IN_LOG"; fi
SH

# array COMMAND PLACE MARK VARIABLE [ALONE]: a command whose word at PLACE is a script, which runs as often as
# MARK says, with its number in VARIABLE, or once with ALONE in its environment.
array() {
  cat >"$folder/$1" <<SH
#!/usr/bin/env bash
script=\$$2
echo "$1 \$(basename "\$script")" >>"\$STAND_IN_LOG"
indices=\$(sed -n 's/^$3\$/\1/p' "\$script")
if [ -z "\$indices" ]; then exec env ${5:-} job 1 bash "\$script"; fi
for ((i = indices; i >= 1; --i)); do $4=\$i job \$i bash "\$script"; done
SH
}
folder=$1
array sbatch 1 '#SBATCH --array=1-\([0-9]*\)' SLURM_ARRAY_TASK_ID
array qsub 1 '#PBS -J 1-\([0-9]*\)' PBS_ARRAY_INDEX
array bsub 2 '#BSUB -J ".*\[1-\([0-9]*\)\]"' LSB_JOBINDEX LSB_JOBINDEX=0  # "<" is a word

# Options end at the first word without dashes; -o takes a word of its own.
cat >"$1/srun" <<'SH'
#!/usr/bin/env bash
echo "srun $*" >>"$STAND_IN_LOG"
ranks=1
while [[ $1 == -* ]]; do
  [[ $1 == --ntasks=* ]] && ranks=${1#--ntasks=}
  [[ $1 == -o ]] && shift
  shift
done
exec mpirun -np "$ranks" "$@"
SH

cat >"$1/flux" <<'SH'
#!/usr/bin/env bash
verb=$1
shift
case $verb in
batch)
  echo "flux batch $(basename "$1")" >>"$STAND_IN_LOG"
  exec job 1 bash "$1"
  ;;
run) exec srun "$@" ;;
submit)
  echo "flux submit" >>"$STAND_IN_LOG"
  count=0
  while [[ $1 == --* ]]; do
    [[ $1 == --cc=1-* ]] && count=${1#--cc=1-}
    shift
  done
  for ((i = count; i >= 1; --i)); do FLUX_JOB_CC=$i job $i "$@"; done
  ;;
*) exit 1 ;;
esac
SH

# Without the words that need more cores than there are here.
cat >"$1/mpirun" <<SH
#!/usr/bin/env bash
echo "mpirun \$*" >>"\$STAND_IN_LOG"
words=()
while [ \$# -gt 0 ]; do
  case \$1 in
  --map-by | --bind-to) shift ;;
  *) words+=("\$1") ;;
  esac
  shift
done
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
exec $real_mpirun --oversubscribe --bind-to none --mca btl_vader_single_copy_mechanism none \
  --mca mpi_yield_when_idle 1 "\${words[@]}"
SH
chmod +x "$1"/*
