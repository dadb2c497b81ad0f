# What tests of jobs start with, sourced by them: a folder to work in that is gone at the end, a model
# that takes milliseconds a step, its text, jobs that are started, asked and waited for, and what is
# said where a test fails. They run $fourfold.
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

# refused SENTENCE ARGUMENTS...: status 2, one sentence, and nothing new in the folder.
refused() {
  local sentence=$1 before said status=0
  shift
  before=$(ls)
  said=$("$fourfold" "$@" 2>&1 >/dev/null) || status=$?
  if [ "$status" -ne 2 ] || [ "$(wc -l <<<"$said")" -ne 1 ] || [[ $said != "fourfold: "*"$sentence"* ]]; then
    fail "$*: status $status, said: $said; expected: $sentence"
  fi
  [ "$(ls)" = "$before" ] || fail "$* left something: $(ls)"
}

# started NAME ARGUMENTS...: trains in the folder of that name, and says what it says in NAME.out and
# NAME.err, in the background. Sets job, what it has started, and ranks, which are that or below that.
started() {
  local name=$1
  "$fourfold" train "${@:2}" --folder "$name" >"$name.out" 2>"$name.err" &
  job=$!
  wait_for "$name.out" '^step  *([2-9]|[0-9]{2})'
  launcher=$(pgrep -P "$job")
  ranks=$(pgrep -P "$launcher") || ranks=$launcher
}

# ended STATUS NAME: the job does, and leaves no rank behind, stopped or not.
ended() {
  local status=0 rank i
  wait "$job" || status=$?
  [ "$status" -eq "$1" ] || fail "$2: status $status, not $1: $(cat "$2.err")"
  for rank in $ranks; do
    for ((i = 0; i < 100; i++)); do
      kill -0 "$rank" 2>/dev/null || break
      sleep 0.1
    done
    if kill -0 "$rank" 2>/dev/null; then fail "$2: rank $rank is left"; fi
  done
  stopped=
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
