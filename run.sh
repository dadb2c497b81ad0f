#!/usr/bin/env bash
# Sets Fourfold up (packages, configure, build) and runs the main job: the campaign sc24_weak.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
source ./set_up.sh

campaign=scaling/campaigns/sc24_weak.toml

if [ "${1:-}" = --help ] || [ "${1:-}" = -h ]; then
  cat <<TEXT
Usage: ./run.sh [OPTION]...
Installs the missing packages of packages.txt (as root or through sudo), configures, builds the
programs in build/, then runs: build/bin/fourfold campaign run $campaign [OPTION]...
May be run again: what is done is kept, and a campaign that was interrupted resumes.
./test.sh runs the tests.
TEXT
  exit 0
fi

set_up fourfold fourfold-replay fourfold-engine fourfold-bench
[ -x build/bin/fourfold ] || stop "the build left no build/bin/fourfold; is scaling/cli/main.cpp there?"
[ -r "$campaign" ] || stop "$campaign is missing; restore it with: git checkout -- $campaign"

say "running build/bin/fourfold campaign run $campaign $*"
status=0
build/bin/fourfold campaign run "$campaign" "$@" || status=$?
if [ "$status" -ne 0 ]; then
  say "the campaign ended with status $status; its last line says why. ./run.sh resumes it." >&2
fi
exit "$status"
