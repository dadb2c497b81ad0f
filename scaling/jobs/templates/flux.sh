#!/bin/bash
# Submits a job for each slice: run it inside a Flux instance, with bash.
# Two cores each, since a slice simulates two grids at a time. What your site asks for besides:
# --bank=PROJECT --queue=QUEUE
# Modules that Fourfold was built with:
# module load PrgEnv-gnu openmpi

cd {{directory}} || exit 2
flux submit --cc=1-{{slices}} --job-name={{name}} --ntasks=1 --cores-per-task=2 \
  --time-limit={{minutes}}m --output={{folder}}/slice-{cc}.log \
  bash -c 'FOURFOLD_SLICE=$FLUX_JOB_CC exec bash -c "$0"' {{quoted_command}}
