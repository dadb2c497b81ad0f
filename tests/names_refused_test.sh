#!/usr/bin/env bash
# names_test.sh on trees with one fault each: it must refuse them and name the file.
set -euo pipefail
check="${FOURFOLD_SOURCE_DIR:?must name the root of the sources}/tests/names_test.sh"
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT

plant() {  # file, namespace, type
  mkdir -p "$tree/$(dirname "$1")"
  printf '// What it is for.\nnamespace %s {\nstruct %s {\n};\n}\n' "$2" "$3" >"$tree/$1"
}
fresh() {
  rm -rf "${tree:?}"/*
  mkdir -p "$tree"/{support,schedule,platforms,sim,scaling,engine,bench,microbench}
  plant support/field.hpp "fourfold::inline support" Field
  plant schedule/fold/fold.hpp "fourfold::inline schedule::inline fold" Folded
  plant engine/plan/work.hpp "fourfold::inline engine::inline plan::work" Item
}
expect_refused() {  # what the refusal names
  local output
  if output=$(FOURFOLD_SOURCE_DIR=$tree bash "$check"); then
    echo "a tree where $1 is wrong was accepted" >&2
    exit 1
  fi
  grep -qF "$1" <<<"$output" || { echo "the refusal does not name $1; it says: $output" >&2; exit 1; }
  fresh
}

fresh
FOURFOLD_SOURCE_DIR=$tree bash "$check" >/dev/null
plant sim/cost/cost.hpp fourfold Cost
expect_refused sim/cost/cost.hpp
plant sim/cost/cost.hpp "fourfold::inline sim" Cost
expect_refused sim/cost/cost.hpp
plant sim/cost/cost.hpp "fourfold::inline sim::inline cost" Folded
expect_refused Folded
plant scaling/find/a.cpp "fourfold::inline scaling::inline find" Walk
plant sim/cost/b.cpp "fourfold::inline sim::inline cost" Walk
expect_refused Walk
plant sim/replay/witness.hpp "fourfold::inline sim::inline replay" Observed
expect_refused sim/replay/witness.hpp
echo "trees with one fault each are refused"
