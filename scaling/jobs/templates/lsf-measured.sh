#!/bin/bash
# Trains the points on {{devices}} ranks: bsub < this file; again for what failed.
#BSUB -J {{name}}-{{devices}}
#BSUB -n {{devices}}
#BSUB -R "span[ptile={{ranks_per_node}}]"
#BSUB -R "affinity[core({{cores_per_rank}})]"
#BSUB -x
#BSUB -W {{minutes}}
# What your site asks for besides:
##BSUB -P PROJECT
##BSUB -q QUEUE
# Modules that Fourfold was built with:
# module load PrgEnv-gnu openmpi
# Binding: a rank keeps its cores (Open MPI's PE={{cores_per_rank}}). Where nodes are asked for by
# number, as on Summit, -nnodes {{nodes}} stands in the place of -n and -R, and jsrun in mpirun's.

exec >{{folder}}/devices-{{devices}}.log 2>&1
cd {{directory}} || exit 2
{{command}} --launch \
  'mpirun -np {ranks} --map-by ppr:{{ranks_per_node}}:node:PE={{cores_per_rank}} --bind-to core'
