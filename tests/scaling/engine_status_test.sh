#!/usr/bin/env bash
# How fourfold ends when what it started beside it ends so or so: only what measures may say no (1),
# or that it could not judge (3).
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp "${FOURFOLD_BIN_DIR:?}/fourfold" "$folder"
for name in fourfold-engine fourfold-bench; do
  cat >"$folder/$name" <<'STAND_IN'
#!/usr/bin/env bash
[[ "$*" != *--plan* ]] || { echo "{\"ranks\": ${RANKS:-1}, \"arguments\": [\"go\"], \"folder\": \"there\", \"log\": \"there/log.jsonl\"}"; exit 0; }
exit "$STATUS"
STAND_IN
  chmod +x "$folder/$name"
done

# expect STATUS, of a job that ends with so much, of a verb.
expect() {
  local status=0
  STATUS=$2 "$folder/fourfold" "${@:3}" >/dev/null 2>"$folder/said" || status=$?
  [ "$status" = "$1" ] || { echo "FAILED: ${*:3} that ended with $2: $status: $(cat "$folder/said")" >&2; exit 1; }
}

for verb in "train --quick" "sample --checkpoint somewhere" "bench gemm"; do
  for status in 2 7; do
    # shellcheck disable=SC2086
    expect 2 $status $verb
  done
  # shellcheck disable=SC2086
  expect 130 130 $verb
done
expect 0 0 sample --checkpoint somewhere
expect 0 0 bench gemm
expect 1 1 bench gemm
expect 3 3 bench gemm
expect 2 1 train --quick
expect 2 3 train --quick
expect 2 1 sample --checkpoint somewhere

# On several ranks mpirun stands between them; one that says nothing of its end has failed all the
# same: nobody has stopped it.
printf '#!/usr/bin/env bash\necho "$SAID" >&2\nexit "$STATUS"\n' >"$folder/mpirun"
chmod +x "$folder/mpirun"
export PATH=$folder:$PATH RANKS=2 SAID=""
expect 0 0 bench gemm
expect 3 3 bench gemm
expect 2 7 train --quick
expect 130 130 train --quick
expect 2 1 train --quick
grep -q "^fourfold: mpirun ended with status 1 and has not said why" "$folder/said" || exit 1
