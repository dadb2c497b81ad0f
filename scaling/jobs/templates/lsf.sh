#!/bin/bash
# A job for each slice of the points that are projected: bsub < this file; again for the rest.
#BSUB -J "{{name}}[1-{{slices}}]"
#BSUB -n 2
#BSUB -R "span[hosts=1]"
#BSUB -W {{minutes}}
# A slice simulates two grids at a time on two cores. What your site asks for besides:
##BSUB -P PROJECT
##BSUB -q QUEUE
# Modules that Fourfold was built with:
# module load PrgEnv-gnu openmpi

export FOURFOLD_SLICE=${LSB_JOBINDEX}
exec >{{folder}}/slice-${FOURFOLD_SLICE}.log 2>&1
cd {{directory}} || exit 2
{{command}}
