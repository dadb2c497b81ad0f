#!/usr/bin/env bash
# fourfold bench: each kind measures in a short form, in each of its formats, and refuses what it
# cannot take.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../scaling/command_line.sh"

# measures KIND ROWS WORDS...: as JSON, with at least so many rows, all right and in order.
measures() {
  local kind=$1 rows=$2
  shift 2
  "$fourfold" bench "$kind" --rounds 3 --json "$@" >"$folder/said" 2>"$folder/complaint" ||
    fail "fourfold bench $kind $*: $(cat "$folder/complaint")"
  python3 - "$folder/said" "$kind" "$rows" <<'PYTHON' || fail "fourfold bench $kind $*: wrong JSON"
import json, sys
said = json.load(open(sys.argv[1]))
assert said["kind"] == sys.argv[2] and len(said["rows"]) >= int(sys.argv[3]), len(said["rows"])
for row in said["rows"]:
    assert row["right"] and row["n"] >= 3, row
    assert 0 < row["min_s"] <= row["p50_s"] <= row["p90_s"] <= row["p99_s"] <= row["max_s"], row
header = said["header"]
assert header["fma_peak_Gflops"] > 0 and header["triad_GBps"] > 0 and header["cpu"], header
assert "OpenBLAS" in header["kernels"] and "Open MPI" in header["mpi"], header
PYTHON
}

[ "$("$fourfold" bench | grep -c '^  ')" -eq 8 ] || fail "bench does not list what it measures"
measures gemm 6 --shapes nn:64x64x64,NT:32x128x64,tn:64x32x64
measures gemm 3 --shapes 64x64x64 --precision bf16
measures maps 10 --sequences 1
# An element of STREAM is a double: copy and scale move two, add and triad three.
python3 - "$folder/said" <<'PYTHON' || fail "STREAM's elements are no doubles"
import json, sys
bytes_of = {row["name"].split()[1].rstrip(","): row["GB/s p50"] * row["ns per element"]
            for row in json.load(open(sys.argv[1]))["rows"] if row["name"].startswith("STREAM")}
for loop, wanted in {"copy": 16, "scale": 16, "add": 24, "triad": 24}.items():
    assert abs(bytes_of[loop] - wanted) < 1e-6 * wanted, bytes_of
PYTHON
measures attention 2 --sizes 128
printf '%s\n' 'layers = 1' 'hidden = 64' 'heads = 4' 'head_size = 64' 'sequence_tokens = 128' \
  'vocabulary = 128' >"$folder/wide.toml"
measures attention 2 --sizes 128 --model "$folder/wide.toml"
grep -q 'forward 128 x 4 x 64' "$folder/said" || fail "attention ignores head_size"
measures p2p 4 --sizes 8,64KiB
measures collectives 18 --ranks 4 --grid 2x1x2x1 --sizes 1KiB
measures checkpoint 4 --folder "$folder"
measures estimate 3
measures simulate 3
[ ! -e "$folder/fourfold-bench-checkpoint" ] || fail "a checkpoint is left behind"

"$fourfold" bench gemm --rounds 3 --shapes 64x64x64 >"$folder/text" 2>/dev/null
grep -q '% of' "$folder/text" || fail "no share of the peak"
if grep -E '.{121}' "$folder/text"; then fail "a line of more than 120 characters"; fi
"$fourfold" bench gemm --rounds 3 --shapes 64x64x64 --csv 2>/dev/null | grep -q '^gemm,"NN 64' ||
  fail "no CSV"

refused() {
  local sentence=$1 status=0
  shift
  "$fourfold" bench "$@" >"$folder/said" 2>"$folder/complaint" || status=$?
  [ "$status" -eq 2 ] && [ ! -s "$folder/said" ] &&
    [[ $(cat "$folder/complaint") == *"$sentence"* ]] ||
    fail "fourfold bench $*: status $status, $(cat "$folder/complaint"); expected: $sentence"
}
refused 'did you mean "gemm"?' gem
refused "is no shape" gemm --shapes 64x64
refused "from 1 to 1048576" gemm --shapes 64x0x64
refused "OpenBLAS and oneDNN" gemm --libraries mkl
refused "is no size" collectives --sizes 4MB
refused "has 4 ranks, not 2" collectives --grid 2x1x2x1 --ranks 2
refused "needs two ranks" p2p --ranks 1
refused "--shapes has no effect on bench p2p" p2p --shapes 8x8x8
refused "did you mean" gemm --model gpt2-mni
refused "is no folder; make it first" checkpoint --folder "$folder/nowhere"
[ ! -e "$folder/nowhere" ] || fail "a folder is left behind"
refused "excludes" gemm --json --csv
echo "bench measures and refuses"
