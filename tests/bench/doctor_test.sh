#!/usr/bin/env bash
# fourfold doctor: its JSON and status, and that a planted trouble is found, with its cure.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../scaling/command_line.sh"

# finds SUBJECT VERDICT [NAME=VALUE...]: what doctor says under that environment.
finds() {
  local subject=$1 verdict=$2 status=0
  shift 2
  env "$@" "$fourfold" doctor --json >"$folder/said" || status=$?
  python3 - "$folder/said" "$status" "$subject" "$verdict" <<'PYTHON' ||
import json, sys
said = json.load(open(sys.argv[1]))
wrong = sum(finding["verdict"] == "wrong" for finding in said["findings"])
assert said["wrong"] == wrong and int(sys.argv[2]) == (1 if wrong else 0), said
found = {finding["subject"]: finding for finding in said["findings"]}[sys.argv[3]]
assert found["verdict"] == sys.argv[4], found
assert found["cure"] or found["verdict"] != "wrong", found
PYTHON
    fail "doctor does not find $subject $verdict under $*"
}

finds mpirun fine OMPI_MCA_rmaps_base_oversubscribe=1
finds "MPI in shared memory" wrong OMPI_MCA_btl=tcp,self
finds mpirun wrong PATH=/nowhere
(
  ulimit -S -n 200 # the hard limit stays
  finds limits wrong
)
if grep -qE '\<(avx2|avx512f)\>' /proc/cpuinfo; then
  finds "BLAS kernels" wrong OPENBLAS_CORETYPE=PRESCOTT
fi
status=0
"$fourfold" doctor >"$folder/text" || status=$?
[ "$status" -le 1 ] || fail "doctor ended with status $status"
[ "$(grep -cE '^(fine|note|wrong) ' "$folder/text")" -eq 14 ] || fail "not a line for each subject"
if grep -E '.{121}' "$folder/text"; then fail "a line of more than 120 characters"; fi
status=0
said=$("$fourfold" doctor --jsno 2>&1) || status=$?
[ "$status" -eq 2 ] && [[ $said == *'did you mean "--json"?'* ]] || fail "a wrong flag: $status $said"
echo "the doctor finds what is planted"
