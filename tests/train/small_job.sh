# What tests of jobs start with, sourced by them: a folder to work in that is gone at the end, a model
# that takes milliseconds a step, its text, and what is said where a test fails. They run $fourfold.
set -euo pipefail
fourfold=${FOURFOLD_BIN_DIR:?}/fourfold
unset OPENBLAS_CORETYPE  # whose replacement is said on standard error
work=$(mktemp -d)
disk=    # of a test that mounts one
stopped= # of one that stops processes
clean_up() {
  # shellcheck disable=SC2086
  if [ -n "$stopped" ]; then kill -KILL $stopped 2>/dev/null || true; fi
  if [ -n "$disk" ]; then umount "$disk"; fi
  rm -rf "$work"
}
trap clean_up EXIT
cd "$work"

# With the end of what jobs have said, each in a file of its own.
fail() {
  echo "FAILED: $*" >&2
  tail -n 20 ./*.out ./*.err ./out >&2 2>/dev/null
  exit 1
}

# wait_for FILE PATTERN: until a line of the file matches, at most 120 s.
wait_for() {
  local i
  for ((i = 0; i < 1200; i++)); do
    if grep -qsE "$2" "$1"; then return; fi
    sleep 0.1
  done
  fail "$1 never said $2"
}

# write_small_job FOLDER LAYERS: small.toml and text.txt there.
write_small_job() {
  cat >"$1/small.toml" <<TOML
layers = $2
hidden = 32
heads = 4
sequence_tokens = 32
vocabulary = 256
TOML
  for ((i = 0; i < 300; i++)); do echo "she sells sea shells by the sea shore"; done >"$1/text.txt"
}
