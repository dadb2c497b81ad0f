#!/usr/bin/env bash
# Plants forbidden includes in an otherwise allowed tree: dependencies_test.sh must refuse each, naming
# file and line, and must accept the tree without them.
set -euo pipefail
check=$(dirname "${BASH_SOURCE[0]}")/dependencies_test.sh
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT

# Writes the include lines that follow below what file $1 has, or below a comment line.
plant() {
  local file=$tree/$1
  shift
  mkdir -p "$(dirname "$file")"
  [ -f "$file" ] || echo "// Planted." >"$file"
  printf '#include %s\n' "$@" >>"$file"
}

run_check() { FOURFOLD_SOURCE_DIR=$tree FOURFOLD_BIN_DIR=$tree bash "$check" 2>&1; }

plant support/quantity.hpp '<compare>'
plant support/toml_table.cpp '"support/toml_table.hpp"' '<toml++/toml.h>'
plant support/json_object.cpp '"support/json_object.hpp"' '<nlohmann/json.hpp>'
plant schedule/program/program.cpp '"schedule/collectives/collective.hpp"' '<vector>'
plant schedule/models/model_file.cpp '"schedule/models/model_file.hpp"' '"support/toml_table.hpp"'
plant schedule/order/issue.cpp '"schedule/models/model.hpp"' '"schedule/program/program.hpp"'
plant schedule/fold/fold.cpp '"schedule/order/issue.hpp"' '<vector>'
plant engine/executor.cpp '"engine/plan/arena.hpp"' '"schedule/order/issue.hpp"' '<vector>'
plant engine/cpu/sgemm.cpp '"engine/backend.hpp"' '<cblas.h>'
plant engine/mpi/library.hpp '"engine/communicator.hpp"' '<mpi.h>'
plant platforms/platform.cpp '"support/quantity.hpp"' '<toml++/toml.h>' '<fmt/format.h>'
plant sim/estimate/estimate.cpp '"platforms/platform.hpp"' '<nlohmann/json.hpp>' '<vector>'
plant sim/replay/machine.cpp '"sim/estimate/estimate.hpp"' '<simgrid/s4u.hpp>'
plant scaling/cli/main.cpp '"sim/estimate/estimate.hpp"' '<CLI/CLI.hpp>' '<unistd.h>'
plant bench/measure/turns.cpp '"engine/mpi/handles.hpp"' '<benchmark/benchmark.h>'
plant bench/cli/main.cpp '"bench/measure/turns.hpp"' '"scaling/words/text_table.hpp"'
plant tests/replay/machine_test.cpp '"sim/replay/machine.hpp"' '<gtest/gtest.h>'
plant microbench/gemm.cpp '<mpi.h>' '<benchmark/benchmark.h>'

fail() { echo "$1" >&2; exit 1; }

run_check || fail "dependencies_test.sh refuses a tree whose dependencies are right."

expected=()
while read -r file header; do
  plant "$file" "$header"
  expected+=("$file:$(wc -l <"$tree/$file") includes ${header:1:-1}, ")
done <<'FORBIDDEN'
bench/measure/turns.cpp "scaling/words/text_table.hpp"
bench/cli/main.cpp <simgrid/s4u.hpp>
engine/cpu/sgemm.cpp <benchmark/benchmark.h>
support/quantity.cpp <fmt/format.h>
support/random.hpp "schedule/program/program.hpp"
schedule/collectives/rounds.cpp "schedule/program/program.hpp"
schedule/program/program.hpp "platforms/platform.hpp"
schedule/program/recorder.cpp "schedule/models/linear.hpp"
schedule/program/recorder.cpp <fmt/format.h>
schedule/models/linear.cpp "schedule/order/issue.hpp"
schedule/models/linear.cpp <toml++/toml.h>
schedule/models/model_file.cpp <fmt/format.h>
schedule/order/issue.cpp "schedule/fold/fold.hpp"
schedule/fold/count.cpp "sim/estimate/estimate.hpp"
engine/executor.cpp "engine/mpi/channels.hpp"
engine/plan/arena.cpp <mpi.h>
engine/reference/lockstep.cpp "platforms/platform.hpp"
engine/reference/lockstep.cpp <fmt/format.h>
engine/cpu/sgemm.cpp "engine/mpi/library.hpp"
engine/mpi/session.cpp <cblas.h>
engine/train/main.cpp "scaling/records/record.hpp"
platforms/network/topology.hpp "schedule/program/program.hpp"
platforms/network/topology.cpp "sim/estimate/estimate.hpp"
sim/estimate/search.cpp "scaling/study/campaign.hpp"
sim/estimate/search.cpp "engine/reference/lockstep.hpp"
sim/estimate/search.cpp <simgrid/s4u.hpp>
sim/estimate/search.cpp "sim/replay/machine.hpp"
sim/replay/solver.cpp "scaling/records/record.hpp"
sim/replay/solver.cpp <mpi.h>
sim/witness/main.cpp "support/quantity.hpp"
scaling/systems/system.cpp "platforms/platform.hpp"
scaling/validation/cases.cpp "scaling/study/study.hpp"
scaling/calibrate/here.cpp "scaling/text/memory_text.hpp"
tests/sim/step_test.cpp <mpi.h>
scaling/words/amounts.cpp "scaling/jobs/launch.hpp"
scaling/bars/error_bar.cpp "scaling/records/record.hpp"
scaling/records/record.cpp "scaling/find/find_answer.hpp"
scaling/find/advice.cpp "scaling/study/study.hpp"
scaling/study/study.cpp "scaling/text/point_text.hpp"
scaling/text/point_text.cpp "scaling/cli/commands.hpp"
scaling/jobs/launch.cpp "sim/replay/machine.hpp"
scaling/jobs/launch.cpp <simgrid/s4u.hpp>
scaling/jobs/launch.cpp "../sim/replay/machine.hpp"
tests/sim/search_test.cpp <simgrid/s4u.hpp>
sim/estimate/search.hpp "tests/sim/example.hpp"
FORBIDDEN

output=$(run_check) && fail "dependencies_test.sh accepts a tree of forbidden includes."
for refusal in "${expected[@]}"; do
  grep -qF "$refusal" <<<"$output" || fail "No refusal says '$refusal'; they say: $output"
done
