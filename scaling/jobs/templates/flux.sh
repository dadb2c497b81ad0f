#!/bin/bash
# Submits a job for each slice: run it inside a Flux instance, with bash.
# Two cores each, since a slice simulates two grids at a time. What your site asks for besides:
# --bank=PROJECT --queue=QUEUE
# Modules that Fourfold was built with:
# module load PrgEnv-gnu openmpi

cd {{directory}} || exit 2
# A job has these from here; among its words Flux would read {cc} and the like in a name.
export FOURFOLD_FOLDER={{folder}} FOURFOLD_COMMAND={{quoted_command}}
flux submit --cc=1-{{slices}} --job-name={{name}} --ntasks=1 --cores-per-task=2 \
  --time-limit={{minutes}}m bash -c 'export FOURFOLD_SLICE=$FLUX_JOB_CC
    exec bash -c "$FOURFOLD_COMMAND" >"$FOURFOLD_FOLDER/slice-$FOURFOLD_SLICE.log" 2>&1'
