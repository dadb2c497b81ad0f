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

# follows FIGURE OTHER: in each row of what was said last, within rounding; Python of its `row`, `name`,
# `seconds` (p50), and the rows by `name` without what follows a comma.
follows() {
  python3 - "$folder/said" "$@" <<'PYTHON' || fail "$1 is not $2"
import json, sys
rows = json.load(open(sys.argv[1]))["rows"]
named = {row["name"].split(",")[0]: row for row in rows}
for row in rows:
    name, seconds = row["name"], row["p50_s"]
    is_, wanted = (eval(" ".join(text.split())) for text in sys.argv[2:])
    assert abs(is_ - wanted) <= 1e-6 * abs(wanted), (name, is_, wanted)
PYTHON
}

[ "$("$fourfold" bench | grep -c '^  ')" -eq 8 ] || fail "bench does not list what it measures"
measures gemm 6 --shapes nn:64x64x64,NT:32x128x64,tn:64x32x64
follows 'row["Gflop/s p50"]' '2e-9 * int(name.split()[1]) * int(name.split()[3]) * int(name.split()[5]) / seconds'
# OpenBLAS and oneDNN in fp32, and oneDNN in bf16 where the processor can.
measures gemm 2 --shapes 64x64x64 --precision bf16
follows '"bf16" in name' 1
follows 'row["% of FMA peak"] / row["Gflop/s p50"]' 'rows[0]["% of FMA peak"] / rows[0]["Gflop/s p50"]'
measures maps 10 --sequences 1
# An element of STREAM is a double: copy and scale move two, add and triad three.
follows '{"copy": 16, "scale": 16, "add": 24, "triad": 24}[name.split()[1].rstrip(",")] if "STREAM" in name else
  row["GB/s p50"] * row["ns per element"]' 'row["GB/s p50"] * row["ns per element"]'
follows 'row["% of triad"]' '100 * row["GB/s p50"] / named["STREAM triad"]["GB/s p50"]'
measures attention 2 --sizes 128
printf '%s\n' 'layers = 1' 'hidden = 64' 'heads = 4' 'head_size = 64' 'sequence_tokens = 128' \
  'vocabulary = 128' >"$folder/wide.toml"
measures attention 2 --sizes 128 --model "$folder/wide.toml"
follows 'row["Gflop/s p50"]' '1e-9 * (2 if "forward" in name else 5) * 128 * 128 * 256 / seconds'
grep -q 'forward 128 x 4 x 64' "$folder/said" || fail "attention ignores head_size"
measures p2p 4 --sizes 8,64KiB
follows 'row["GB/s p50"] if "latency" in name else 1' \
  '(65536 if "64" in name else 8) / seconds / 1e9 if "latency" in name else 1'
measures collectives 42 --ranks 4 --grid 2x1x2x1 --sizes 1KiB
follows 'row["algbw GB/s"]' '1024 / seconds / 1e9'
follows 'row["busbw GB/s"]' 'row["algbw GB/s"] * (1 if "all-reduce" in name or "broadcast" in name else 0.5)'
measures checkpoint 4 --folder "$folder"
follows 'row["% of plain"]' '100 * row["MB/s p50"] / named[name.split()[0] + " a plain file"]["MB/s p50"]'
measures estimate 3
follows 'row["points per s"]' '1 / seconds'
measures simulate 3
follows 'row["us of CPU each"]' '1e3 * seconds / row["collectives 1000"]'
[ ! -e "$folder/fourfold-bench-checkpoint" ] || fail "a checkpoint is left behind"

"$fourfold" bench gemm --rounds 3 --shapes 64x64x64 >"$folder/text" 2>/dev/null
grep -q '% of' "$folder/text" || fail "no share of the peak"
if grep -E '.{121}' "$folder/text"; then fail "a line of more than 120 characters"; fi
"$fourfold" bench gemm --rounds 3 --shapes 64x64x64 --csv 2>/dev/null | heard '^gemm,"NN 64' ||
  fail "no CSV"

# What words_test.cpp hears of wrong words is not heard once more.
refused() {
  local sentence=$1 status=0
  shift
  "$fourfold" bench "$@" >"$folder/said" 2>"$folder/complaint" || status=$?
  [ "$status" -eq 2 ] && [ ! -s "$folder/said" ] &&
    [[ $(cat "$folder/complaint") == *"$sentence"* ]] ||
    fail "fourfold bench $*: status $status, $(cat "$folder/complaint"); expected: $sentence"
}
refused 'did you mean "gemm"?' gem
refused "is no folder; make it first" checkpoint --folder "$folder/nowhere"
refused "is no folder; make it first" checkpoint --folder "$folder/said"
[ ! -e "$folder/nowhere" ] || fail "a folder is left behind"
echo "bench measures and refuses"
