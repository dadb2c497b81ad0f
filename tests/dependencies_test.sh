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

# room <folder> <regex of its files> <rooms and headers it may include> <what that says in words>
room() {
  includes "$1" "$2" | allow_only "$standard|^$1/[a-z0-9_]+[.]hpp$|$3" "$4"
}
below() { echo "^$1/[a-z0-9_]+[.]hpp$"; }  # the files of a room itself, not of the rooms in it

# support: knows nothing of training; some of its headers belong to a library each.
room support '/(toml_table)[.]' '^toml[+][+]/' "only toml_table.hpp brings toml++"
room support '/(json_object|json_text|plain_sentence|field_json|help_format|field_flags|flag_checks|counts_of_1024|refused_words|chrome_trace)[.]' \
  '^nlohmann/|^CLI/|^fmt/' "only readers of JSON and of command lines add a library"
includes support . \
  '/(toml_table|json_object|json_text|plain_sentence|field_json|help_format|field_flags|flag_checks|counts_of_1024|refused_words|chrome_trace|foreign_load)[.]' |
  allow_only "$standard|^support/|^(fcntl|unistd|signal|sys/(file|resource|stat))[.]h$" \
    "support/ uses only itself, the standard library and POSIX"

# schedule: collectives -> program -> models -> order -> fold; the standard library, but for models.
room schedule/collectives . '^support/' "collectives/ stands below all other rooms of schedule/"
room schedule/program . '^support/|^schedule/collectives/' \
  "program/ uses only collectives/ and support/"
includes schedule/models . '/(launch_words|foreign_(config|families|keys)|model_file)[.]' |
  allow_only "$standard|^support/|^schedule/(collectives|program|models)/" \
    "models/ uses only program/ and what is below"
includes schedule/models '/(launch_words|foreign_(config|families|keys)|model_file)[.]' |
  allow_only "$standard|^support/|^schedule/models/|^nlohmann/" \
    "only readers of others' models add JSON"
room schedule/order . '^support/|^schedule/(collectives|program|models|order/kinds)/' \
  "order/ uses only models/, program/ and what is below"
room schedule/fold . '^support/|^schedule/(collectives|program|models|order)/' \
  "fold/ stands above the rooms of schedule/ and uses nothing else"

# engine: no machine, no simulation; libraries only in cpu/ (BLAS) and mpi/ (MPI).
steps='^support/|^schedule/'
includes engine . '^engine/(cpu|mpi|train)/' |
  allow_only "$standard|$(below engine)|^engine/(plan|reference)/|$steps" \
    "engine/ itself uses only itself, plan/, reference/, schedule/ and support/"
room engine/cpu . \
  "$(below engine)|^engine/(plan|reference)/|$steps|^cblas[.]h$|^dnnl|^oneapi/|^immintrin[.]h$|^cpuid[.]h$|^malloc[.]h$|^unistd[.]h$" \
  "engine/cpu/ uses only itself, engine/, schedule/, BLAS and POSIX"
room engine/mpi . "$(below engine)|^engine/plan/|$steps|^mpi[.]h$|^unistd[.]h$|^sys/prctl[.]h$" \
  "engine/mpi/ uses only itself, engine/, schedule/, MPI and POSIX"
includes engine/train |
  refuse '^(scaling|sim|platforms)/|^simgrid|^smpi/|^xbt/|^toml[+][+]/' \
    "engine/train/ stays apart from what projects and starts"

# platforms: machines know no model.
includes platforms |
  allow_only "$standard|^platforms/|^support/|^schedule/(collectives|program/(process_grid|channel|function))|^toml[+][+]/|^fmt/" \
    "platforms/ uses only itself, support/, axes, collectives, functions of the step, toml++ and fmt"

# sim: the closed form without SimGrid; replay/ with it; witness/ shares nothing.
includes sim . '^sim/(replay|witness)/' |
  refuse '^(scaling|engine|sim/replay)/|^simgrid|^smpi/|^xbt/|^toml[+][+]/|^CLI/' \
    "sim/ outside sim/replay/ stays below scaling/, free of engine/, SimGrid, toml++ and CLI11"
includes sim/replay |
  refuse '^(scaling|engine)/' "sim/replay/ stays below scaling/ and apart from engine/"
includes sim/witness |
  allow_only "$standard|^sim/witness/|^mpi[.]h$|^simgrid/s4u[.]hpp$" \
    "sim/witness/ shares no code with what it is a witness of"

# scaling: words, processes and systems; bars and records; answers; what is held against others; studies;
# texts; verbs. Each line names a layer and the rooms of scaling/ that it may include beside itself.
scaling_layer() { includes "scaling/$1" | { grep ':scaling/' || true; } | allow_only "^scaling/($1${2:+|$2})/" "$3"; }
scaling_layer words "" "scaling/words/ knows no answer"
scaling_layer jobs "" "scaling/jobs/ starts processes, whatever they answer"
scaling_layer systems "" "scaling/systems/ knows axes and options of the step, not what is done with them"
includes scaling/systems | refuse '^(platforms|sim)/' "scaling/systems/ knows no machine"
lowest='words|jobs|systems'
scaling_layer bars "words" "scaling/bars/ stands below all answers"
scaling_layer records "$lowest|bars" "scaling/records/ says what an answer is, not how it is found"
scaling_layer find "$lowest|bars|records" "scaling/find/ answers questions, and knows no study"
answers="$lowest|bars|records|find"
scaling_layer validation "$answers" "scaling/validation/ stands above answers and below studies"
scaling_layer calibrate "$answers" "scaling/calibrate/ stands above answers and below studies"
scaling_layer study "$answers|validation|calibrate" "scaling/study/ prints nothing but its own tables"
scaling_layer text "$answers|validation|calibrate|study" "only verbs stand above scaling/text/"
includes scaling |
  refuse '^(sim/(replay|witness)|engine)/|^simgrid|^smpi/|^xbt/' \
    "scaling/ starts fourfold-replay and includes nothing of what it is made of"

# bench: stands above all but the verbs; what measures and judges is apart from what prints.
includes bench/measure |
  refuse '^(scaling|bench/(doctor|regress|cli))/|^simgrid|^CLI/|^toml[+][+]/' \
    "bench/measure/ measures, and says nothing to anybody"
includes bench |
  refuse '^scaling/(find|study/[^p]|validation|systems|records/[^p])/|^sim/(replay|witness)/|^simgrid|^smpi/|^xbt/' \
    "bench/ measures this machine; of scaling/ it uses words, jobs, plots and provenance"
for folder in support schedule platforms sim scaling engine; do
  includes "$folder" | refuse '^bench/|^benchmark/' "only bench/ and microbench/ measure"
done

includes tests . '^tests/(replay|ladder)/' |
  refuse '^sim/replay/|^simgrid|^smpi/|^xbt/' "only tests/replay/ and tests/ladder/ may use what links SimGrid"
includes tests . '^tests/(mpi|train|kernels|bench)/|^tests/(mpi_main|pmpi_counter)[.]cpp$' |
  refuse '^mpi[.]h$|^cblas|^dnnl|^oneapi/' "only tests of the engine may use MPI and BLAS"
for folder in support schedule platforms sim scaling; do
  includes "$folder" . '^sim/witness/' |
    refuse '^mpi[.]h$|^cblas|^dnnl|^oneapi/' "only engine/ and microbench/ may use MPI and BLAS"
done
for folder in support schedule platforms sim scaling engine bench microbench; do
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
