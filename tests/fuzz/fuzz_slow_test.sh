#!/usr/bin/env bash
# A minute of mutated files and command lines under ASan and UBSan (fuzz.cpp): every one ends in an
# answer or in a sentence. FOURFOLD_FUZZ_SECONDS and FOURFOLD_FUZZ_SEED say how long and where to start.
set -euo pipefail
build=$(dirname "${FOURFOLD_BIN_DIR:?}")
seed=${FOURFOLD_FUZZ_SEED:-$RANDOM}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cmake --build "$build" --target fuzz >"$folder/built" 2>&1 || { tail -n 40 "$folder/built" >&2; exit 1; }
cd "$folder"
export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=2048
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
status=0
"$FOURFOLD_BIN_DIR/fuzz" "${FOURFOLD_FUZZ_SECONDS:-60}" "$seed" "$FOURFOLD_BIN_DIR/fourfold" || status=$?
[ "$status" -eq 0 ] && exit 0
kept=$(mktemp -d "${TMPDIR:-/tmp}/fuzz-XXXXXX")
cp fuzz-* "$kept" 2>/dev/null || true
echo "the input is kept in $kept; FOURFOLD_FUZZ_SEED=$seed starts there again" >&2
exit 1
