#!/usr/bin/env bash
# Runs any command in a network of its own whose loopback is limited to a rate, and makes Open MPI
# send through it, so that waiting for messages is no work for the CPU.
#
#   microbench/overlap_tbf.sh                      the overlap benchmark on 2 ranks, at 2 Gbit/s
#   microbench/overlap_tbf.sh 500mbit COMMAND ...  any command, such as an mpirun
#
# A token bucket (tbf) holds what is faster than the rate; nothing outside the namespace changes.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)

for tool in unshare ip tc; do
  if ! command -v "$tool" >/dev/null; then
    echo "overlap_tbf.sh needs '$tool'; on Debian: apt-get install iproute2 util-linux" >&2
    exit 1
  fi
done
if [ "$(id -u)" -ne 0 ]; then
  echo "overlap_tbf.sh must be run as root: only root may limit the rate of a network" >&2
  exit 1
fi

rate=${1:-2gbit}
shift || true
if ! [[ $rate =~ ^[0-9]+([kmg]bit)$ ]]; then
  echo "'$rate' is no rate: write it as 500mbit or 2gbit" >&2
  exit 1
fi
if [ $# -eq 0 ]; then
  set -- mpirun --allow-run-as-root --oversubscribe -np 2 \
    "$here/build/bin/bench-engine_overlap" --benchmark_counters_tabular=true
fi

# mpirun reads these from the environment: TCP over lo, for ranks and for its own daemons.
export OMPI_MCA_btl=tcp,self OMPI_MCA_btl_tcp_if_include=lo OMPI_MCA_oob_tcp_if_include=lo
export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_pml=ob1
# The bucket bounds a burst. It holds one packet of the loopback (64 KiB): what fills
# up while the link is idle makes the next message faster than the rate.
exec unshare --net bash -c '
  set -e
  ip link set lo up
  if ! tc qdisc add dev lo root tbf rate "$0" burst 70kb latency 400ms; then
    echo "this kernel has no token bucket (module sch_tbf): the rate cannot be limited" >&2
    exit 1
  fi
  exec "$@"' "$rate" "$@"
