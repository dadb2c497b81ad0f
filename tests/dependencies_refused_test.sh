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
  plant schedule/model_file.cpp '"schedule/model_file.hpp"' '<toml++/toml.h>' '<cstdint>'
  plant engine/lockstep.cpp '"engine/lockstep.hpp"' '"schedule/schedule.hpp"' '<vector>'
  plant platforms/platform.cpp '"schedule/quantity.hpp"' '<toml++/toml.h>' '<fmt/format.h>'
  plant sim/estimate.cpp '"platforms/platform.hpp"' '<nlohmann/json.hpp>' '<vector>'
  plant sim/replay/machine.cpp '"sim/estimate.hpp"' '<simgrid/s4u.hpp>'
  plant scaling/main.cpp '"sim/estimate.hpp"' '<CLI/CLI.hpp>' '<unistd.h>'
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

expect_refused schedule/program.hpp '"platforms/platform.hpp"'
expect_refused schedule/program.cpp '<toml++/toml.h>'
expect_refused schedule/program.cpp '<fmt/format.h>'
expect_refused schedule/model_file.cpp '<fmt/format.h>'
expect_refused engine/lockstep.cpp '"platforms/platform.hpp"'
expect_refused engine/lockstep.cpp '<fmt/format.h>'
expect_refused platforms/topology.hpp '"schedule/program.hpp"'
expect_refused platforms/topology.cpp '"sim/estimate.hpp"'
expect_refused sim/search.cpp '"scaling/campaign.hpp"'
expect_refused sim/search.cpp '"engine/lockstep.hpp"'
expect_refused sim/search.cpp '<simgrid/s4u.hpp>'
expect_refused sim/search.cpp '"sim/replay/machine.hpp"'
expect_refused sim/replay/solver.cpp '"scaling/record.hpp"'
expect_refused sim/replay/solver.cpp '<mpi.h>'
expect_refused scaling/launch.cpp '"sim/replay/machine.hpp"'
expect_refused scaling/launch.cpp '<simgrid/s4u.hpp>'
expect_refused scaling/launch.cpp '"../sim/replay/machine.hpp"'
expect_refused tests/sim/search_test.cpp '<simgrid/s4u.hpp>'
expect_refused sim/search.hpp '"tests/sim/example.hpp"'
echo "every planted dependency was refused"
