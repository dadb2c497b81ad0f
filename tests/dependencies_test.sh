#!/usr/bin/env bash
# Fails when a dependency points the wrong way: reads the includes of every source file below
# FOURFOLD_SOURCE_DIR and, where FOURFOLD_BIN_DIR has them, the libraries the executables load.
set -euo pipefail
cd "${FOURFOLD_SOURCE_DIR:?must name the root of the sources to check}"
failures=$(mktemp)
trap 'rm -f "$failures"' EXIT

# Prints file:line:header of each include in the .hpp and .cpp below folder $1, for files whose
# path matches $2 (default: all) and does not match $3 (default: none).
includes() {
  [ -d "$1" ] || return 0
  local only=${2:-.} not=${3:-^$}
  find "$1" -type f -name '*.[hc]pp' -exec awk -v only="$only" -v not="$not" '
    FILENAME !~ only || FILENAME ~ not { next }
    match($0, /^[ \t]*#[ \t]*include[ \t]*[<"][^>"]*/) {
      header = substr($0, RSTART, RLENGTH)
      sub(/^[^<"]*[<"]/, "", header)
      print FILENAME ":" FNR ":" header
    }' {} +
}

# Of the includes on standard input, those that match $1 break the rule in words $2.
refuse() {
  local file line header
  while IFS=: read -r file line header; do
    if [[ $header =~ $1 ]]; then
      echo "$file:$line includes $header, but $2." | tee -a "$failures"
    fi
  done
}

# Of the includes on standard input, those that do not match $1 break the rule in words $2.
allow_only() {
  local file line header
  while IFS=: read -r file line header; do
    if ! [[ $header =~ $1 ]]; then
      echo "$file:$line includes $header, but $2." | tee -a "$failures"
    fi
  done
}

standard='^[a-z0-9_]+$'  # <vector>, <cstdint>: no folder and no extension
model_file='^schedule/model_file[.]cpp$'

includes schedule . "$model_file" |
  allow_only "$standard|^schedule/" "schedule/ uses only itself and the standard library"
includes schedule "$model_file" |
  allow_only "$standard|^schedule/|^toml[+][+]/" "schedule/model_file.cpp may add only toml++"
includes engine . '^engine/(kernels|mpi|train)/' |
  allow_only "$standard|^engine/[a-z0-9_]+[.]hpp$|^schedule/" \
    "engine/ itself uses only itself, schedule/ and the standard library"
includes engine/kernels |
  allow_only "$standard|^engine/(kernels/)?[a-z0-9_]+[.]hpp$|^schedule/|^cblas[.]h$|^dnnl|^oneapi/|^immintrin[.]h$|^cpuid[.]h$|^malloc[.]h$|^unistd[.]h$" \
    "engine/kernels/ uses only itself, engine/, schedule/, BLAS and POSIX"
includes engine/mpi |
  allow_only "$standard|^engine/(mpi/)?[a-z0-9_]+[.]hpp$|^schedule/|^mpi[.]h$|^unistd[.]h$" \
    "engine/mpi/ uses only itself, engine/, schedule/, MPI and POSIX"
includes engine/train |
  refuse '^(scaling|sim|platforms)/|^simgrid|^smpi/|^xbt/|^toml[+][+]/' \
    "engine/train/ stays apart from what projects and starts"
includes command_line |
  allow_only "$standard|^command_line/|^CLI/" "command_line/ uses only itself and CLI11"
includes platforms |
  allow_only "$standard|^platforms/|^schedule/(quantity|lane|nearest_name)[.]hpp$|^toml[+][+]/|^fmt/" \
    "platforms/ uses only itself, schedule/{quantity,lane,nearest_name}.hpp, toml++ and fmt"
includes sim . '^sim/(replay|witness)/' |
  refuse '^(scaling|engine|sim/replay)/|^simgrid|^smpi/|^xbt/|^toml[+][+]/|^CLI/' \
    "sim/ outside sim/replay/ stays below scaling/, free of engine/, SimGrid, toml++ and CLI11"
includes sim/replay |
  refuse '^(scaling|engine)/' "sim/replay/ stays below scaling/ and apart from engine/"
includes sim/witness |
  allow_only "$standard|^sim/witness/|^mpi[.]h$|^simgrid/s4u[.]hpp$" \
    "sim/witness/ shares no code with what it is a witness of"
includes scaling |
  refuse '^(sim/(replay|witness)|engine)/|^simgrid|^smpi/|^xbt/' \
    "scaling/ starts fourfold-replay and includes nothing of what it is made of"
includes tests . '^tests/(replay|ladder)/' |
  refuse '^sim/replay/|^simgrid|^smpi/|^xbt/' "only tests/replay/ and tests/ladder/ may use what links SimGrid"
includes tests . '^tests/(mpi|train|kernels)/|^tests/(mpi_main|pmpi_counter)[.]cpp$' |
  refuse '^mpi[.]h$|^cblas|^dnnl|^oneapi/' "only tests of the engine may use MPI and BLAS"
for folder in schedule platforms sim scaling; do
  includes "$folder" . '^sim/witness/' |
    refuse '^mpi[.]h$|^cblas|^dnnl|^oneapi/' "only engine/ and microbench/ may use MPI and BLAS"
done
for folder in schedule command_line platforms sim scaling engine microbench; do
  includes "$folder" |
    refuse '^tests/|^[.][.]?/|/[.][.]/' "an include is a path from the root, and never of a test"
done

# An executable must not load a library whose file name matches $2, for the reason $3.
must_not_load() {
  local executable=${FOURFOLD_BIN_DIR:-}/$1 loaded
  [ -x "$executable" ] || return 0
  loaded=$(ldd "$executable" | awk -v name="$2" '$1 ~ name { print $1; exit }')
  if [ -n "$loaded" ]; then
    echo "$executable loads $loaded, but $3." | tee -a "$failures"
  fi
}

must_not_load fourfold '^libsimgrid' "libsimgrid would replace the MPI of what fourfold starts"
must_not_load fourfold '^libmpi' "only fourfold-engine runs under MPI"
must_not_load fourfold-replay '^libmpi' "libsimgrid exports MPI's names too"
must_not_load fourfold-witness '^libmpi' "its MPI is SimGrid's"

if [ -s "$failures" ]; then
  echo "$(wc -l <"$failures") dependencies point the wrong way." >&2
  exit 1
fi
echo "all dependencies point the right way"
