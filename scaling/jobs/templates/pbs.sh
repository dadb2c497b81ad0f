#!/bin/bash
# A job for each slice of the points that are projected: qsub this file; again for the rest.
#PBS -N {{name}}
#PBS -J 1-{{slices}}
#PBS -l select=1:ncpus=2
#PBS -l walltime={{time}}
#PBS -j oe
# A slice simulates two grids at a time on two cores. What your site asks for besides:
##PBS -A PROJECT
##PBS -q QUEUE
##PBS -l filesystems=home
# Modules that Fourfold was built with:
# module load PrgEnv-gnu openmpi

export FOURFOLD_SLICE=${PBS_ARRAY_INDEX:-1}
exec >{{folder}}/slice-${FOURFOLD_SLICE}.log 2>&1
cd {{directory}} || exit 2
{{command}}
