#!/usr/bin/env bash
# Sets Fourfold up (packages, configure, build) and runs its tests; without --all not the slow ones,
# and not the checks of tests/checks.sh.
# With --accept it takes over the recorded texts that the last run found changed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
source ./set_up.sh
source tests/checks.sh

# Shows how each recorded text differs from what the tests wrote last, and takes that over.
accept() {
  local new=build/new_texts taken=0 text
  if [ -d "$new" ]; then
    while IFS= read -r text; do
      git --no-pager diff --no-index --stat -p -- "tests/golden/$text" "$new/$text" || true
      mkdir -p "$(dirname "tests/golden/$text")"
      mv "$new/$text" "tests/golden/$text"
      taken=$((taken + 1))
    done < <(cd "$new" && find . -type f -printf '%P\n' | sort)
  fi
  say "recorded texts taken over: $taken"
}

selection=(--label-exclude '^slow$')
for argument in "$@"; do
  case "$argument" in
    --all)
      selection=()
      package_lists+=(tests/packages.txt)
      ;;
    --accept)
      accept
      exit 0
      ;;
    -h | --help)
      cat <<TEXT
Usage: ./test.sh [--all | --accept]
Installs the missing packages of packages.txt (as root or through sudo), configures and builds in
build/, then runs every test with ctest; those labelled slow only with --all, which also
runs sanitizers and clang-tidy, in builds of their own (hours on two cores). --accept runs nothing:
it shows how the recorded texts of tests/golden/ differ from what the last run found, and takes that
over.
TEXT
      exit 0
      ;;
    *) stop "test.sh does not know the argument '$argument'; it takes --all, --accept or --help" ;;
  esac
done

set_up
say "running the tests"
ctest --test-dir build --parallel 2 --output-on-failure --no-tests=error "${selection[@]}" \
  </dev/null ||
  stop "tests failed: ctest lists them above; build/Testing/Temporary/LastTest.log has the rest"
say "all tests passed"
if [ ${#selection[@]} -eq 0 ]; then
  check_without_mpi
  check_transports
  check_tidy
  say "sanitizers and clang-tidy found nothing"
fi
