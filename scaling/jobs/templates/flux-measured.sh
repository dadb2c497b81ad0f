#!/bin/bash
# Trains the points on {{devices}} ranks: flux batch this file; again for what failed.
#flux: --job-name={{name}}-{{devices}}
#flux: --nodes={{nodes}}
#flux: --nslots={{devices}}
#flux: --cores-per-slot={{cores_per_rank}}
#flux: --exclusive
#flux: --time-limit={{minutes}}m
# What your site asks for besides:
##flux: --bank=PROJECT
##flux: --queue=QUEUE
# Modules that Fourfold was built with:
# module load PrgEnv-gnu openmpi
# Binding: a rank keeps its cores (cpu-affinity=per-task); off leaves it to the system.
# Where Flux does not start Open MPI's ranks by itself, add -o mpi=openmpi or -o pmi=pmix.

exec >{{folder}}/devices-{{devices}}.log 2>&1
cd {{directory}} || exit 2
{{command}} --launch \
  'flux run --nodes={{nodes}} --ntasks={ranks} --cores-per-task={{cores_per_rank}} -o cpu-affinity=per-task'
