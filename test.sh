#!/usr/bin/env bash
# Sets Fourfold up (packages, configure, build) and runs its tests; without --all not the slow ones.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
source ./set_up.sh

selection=(--label-exclude '^slow$')
for argument in "$@"; do
  case "$argument" in
    --all) selection=() ;;
    -h | --help)
      cat <<TEXT
Usage: ./test.sh [--all]
Installs the missing packages of packages.txt (as root or through sudo), configures and builds in
build/, then runs every test with ctest; those labelled slow only with --all.
TEXT
      exit 0
      ;;
    *) stop "test.sh does not know the argument '$argument'; it takes --all or --help" ;;
  esac
done

set_up
say "running the tests"
ctest --test-dir build --parallel 2 --output-on-failure --no-tests=error "${selection[@]}" \
  </dev/null ||
  stop "tests failed: ctest lists them above; build/Testing/Temporary/LastTest.log has the rest"
say "all tests passed"
