#!/usr/bin/env bash
# Plants one forbidden include at a time in an otherwise allowed tree: dependencies_test.sh must
# refuse each, naming file and line, and must accept the tree without them.
set -euo pipefail
check=$(dirname "${BASH_SOURCE[0]}")/dependencies_test.sh
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT

# Writes file $1 with the include lines that follow, after one comment line.
plant() {
  local file=$tree/$1
  shift
  mkdir -p "$(dirname "$file")"
  { echo "// Planted."; printf '#include %s\n' "$@"; } >"$file"
}

run_check() { FOURFOLD_SOURCE_DIR=$tree FOURFOLD_BIN_DIR=$tree bash "$check" 2>&1; }

clean_tree() {
  rm -rf "${tree:?}"/*
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
}

# With include $2 in file $1 (its third line) the check must fail and name file and line.
expect_refused() {
  clean_tree
  plant "$1" '<vector>' "$2"
  local output
  if output=$(run_check); then
    echo "$1 may not include $2, but dependencies_test.sh accepted it." >&2
    exit 1
  fi
  if ! grep -qF "$1:3 includes " <<<"$output"; then
    echo "The refusal of $2 does not name $1:3; it says: $output" >&2
    exit 1
  fi
}

clean_tree
if ! run_check; then
  echo "dependencies_test.sh refuses a tree whose dependencies are right." >&2
  exit 1
fi

expect_refused bench/measure/turns.cpp '"scaling/words/text_table.hpp"'
expect_refused bench/cli/main.cpp '<simgrid/s4u.hpp>'
expect_refused engine/cpu/sgemm.cpp '<benchmark/benchmark.h>'
expect_refused support/quantity.cpp '<fmt/format.h>'
expect_refused support/random.hpp '"schedule/program/program.hpp"'
expect_refused schedule/collectives/rounds.cpp '"schedule/program/program.hpp"'
expect_refused schedule/program/program.hpp '"platforms/platform.hpp"'
expect_refused schedule/program/recorder.cpp '"schedule/models/linear.hpp"'
expect_refused schedule/program/recorder.cpp '<fmt/format.h>'
expect_refused schedule/models/linear.cpp '"schedule/order/issue.hpp"'
expect_refused schedule/models/linear.cpp '<toml++/toml.h>'
expect_refused schedule/models/model_file.cpp '<fmt/format.h>'
expect_refused schedule/order/issue.cpp '"schedule/fold/fold.hpp"'
expect_refused schedule/fold/count.cpp '"sim/estimate/estimate.hpp"'
expect_refused engine/executor.cpp '"engine/mpi/channels.hpp"'
expect_refused engine/plan/arena.cpp '<mpi.h>'
expect_refused engine/reference/lockstep.cpp '"platforms/platform.hpp"'
expect_refused engine/reference/lockstep.cpp '<fmt/format.h>'
expect_refused engine/cpu/sgemm.cpp '"engine/mpi/library.hpp"'
expect_refused engine/mpi/session.cpp '<cblas.h>'
expect_refused engine/train/main.cpp '"scaling/records/record.hpp"'
expect_refused platforms/network/topology.hpp '"schedule/program/program.hpp"'
expect_refused platforms/network/topology.cpp '"sim/estimate/estimate.hpp"'
expect_refused sim/estimate/search.cpp '"scaling/study/campaign.hpp"'
expect_refused sim/estimate/search.cpp '"engine/reference/lockstep.hpp"'
expect_refused sim/estimate/search.cpp '<simgrid/s4u.hpp>'
expect_refused sim/estimate/search.cpp '"sim/replay/machine.hpp"'
expect_refused sim/replay/solver.cpp '"scaling/records/record.hpp"'
expect_refused sim/replay/solver.cpp '<mpi.h>'
expect_refused scaling/words/amounts.cpp '"scaling/jobs/launch.hpp"'
expect_refused scaling/bars/error_bar.cpp '"scaling/records/record.hpp"'
expect_refused scaling/records/record.cpp '"scaling/find/find_answer.hpp"'
expect_refused scaling/find/advice.cpp '"scaling/study/study.hpp"'
expect_refused scaling/study/study.cpp '"scaling/text/point_text.hpp"'
expect_refused scaling/text/point_text.cpp '"scaling/cli/commands.hpp"'
expect_refused scaling/jobs/launch.cpp '"sim/replay/machine.hpp"'
expect_refused scaling/jobs/launch.cpp '<simgrid/s4u.hpp>'
expect_refused scaling/jobs/launch.cpp '"../sim/replay/machine.hpp"'
expect_refused tests/sim/search_test.cpp '<simgrid/s4u.hpp>'
expect_refused sim/estimate/search.hpp '"tests/sim/example.hpp"'
