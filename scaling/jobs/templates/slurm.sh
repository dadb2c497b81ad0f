#!/bin/bash
# A job for each slice of the points that are projected: sbatch this file; again for the rest.
#SBATCH --job-name={{name}}
#SBATCH --array=1-{{slices}}
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=2
#SBATCH --time={{time}}
# A slice simulates two grids at a time on two cores. What your site asks for besides:
##SBATCH --account=PROJECT
##SBATCH --partition=PARTITION
##SBATCH --qos=QOS
##SBATCH --constraint=cpu
# Modules that Fourfold was built with:
# module load PrgEnv-gnu openmpi

export FOURFOLD_SLICE=${SLURM_ARRAY_TASK_ID}
exec >{{folder}}/slice-${FOURFOLD_SLICE}.log 2>&1
cd {{directory}} || exit 2
{{command}}
