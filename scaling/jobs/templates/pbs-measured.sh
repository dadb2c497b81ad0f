#!/bin/bash
# Trains the points on {{devices}} ranks: qsub this file; again for what failed.
#PBS -N {{name}}-{{devices}}
#PBS -l select={{nodes}}:ncpus={{cores_per_node}}:mpiprocs={{ranks_per_node}}
#PBS -l place=scatter:excl
#PBS -l walltime={{time}}
#PBS -j oe
# What your site asks for besides:
##PBS -A PROJECT
##PBS -q QUEUE
##PBS -l filesystems=home
# Modules that Fourfold was built with:
# module load PrgEnv-gnu openmpi
# Binding: a rank keeps its cores (Open MPI's PE={{cores_per_rank}}); MPICH's mpiexec would take
# --ppn {{ranks_per_node}} --cpu-bind depth --depth {{cores_per_rank}}.

exec >{{folder}}/devices-{{devices}}.log 2>&1
cd {{directory}} || exit 2
{{command}} --launch \
  'mpirun -np {ranks} --map-by ppr:{{ranks_per_node}}:node:PE={{cores_per_rank}} --bind-to core'
