#!/bin/bash
# Trains the points on {{devices}} ranks: sbatch this file; again for what failed.
#SBATCH --job-name={{name}}-{{devices}}
#SBATCH --nodes={{nodes}}
#SBATCH --ntasks-per-node={{ranks_per_node}}
#SBATCH --cpus-per-task={{cores_per_rank}}
#SBATCH --exclusive
#SBATCH --time={{time}}
# What your site asks for besides:
##SBATCH --account=PROJECT
##SBATCH --partition=PARTITION
##SBATCH --qos=QOS
##SBATCH --constraint=cpu
# Modules that Fourfold was built with:
# module load PrgEnv-gnu openmpi
# Binding: a rank keeps its cores (--cpu-bind=cores); one rank a socket would be --cpu-bind=sockets.
# Where srun does not start Open MPI's ranks by itself, add --mpi=pmix.

exec >{{folder}}/devices-{{devices}}.log 2>&1
cd {{directory}} || exit 2
{{command}} --launch \
  'srun --nodes={{nodes}} --ntasks={ranks} --cpus-per-task={{cores_per_rank}} --cpu-bind=cores'
