#!/usr/bin/env bash
# Jobs that lose a rank, are asked to stop, or meet a full disk or a failing write in the middle of a
# checkpoint: finished ones stay readable, on any number of ranks, and no job hangs.
source "$(dirname "${BASH_SOURCE[0]}")/small_job.sh"
program=$FOURFOLD_BIN_DIR/tests-train
[ -x "$program" ] || { echo "tests-train is not built: nothing to test"; exit 0; }

# job RANKS FOLDER WRITES: writes so many checkpoints, then reads the newest; log in log.out.
job() {
  CHECKPOINT_FOLDER=$2 CHECKPOINT_WRITES=$3 timeout 60 mpirun --allow-run-as-root \
    --oversubscribe --mca mpi_yield_when_idle 1 --mca btl_vader_single_copy_mechanism none \
    -np "$1" ${preload:+-x LD_PRELOAD="$preload"} "$program" \
    --gtest_filter='checkpoint_jobs.*' >log.out 2>&1
}

expect_log() { grep -q -- "$1" log.out || fail "expected '$1' in the log of $2"; }

# The newest checkpoint of a folder is whole, nothing half is left once a job has been there.
expect_usable() {
  job "$2" "$1" 0 || fail "$2 ranks cannot read what is left of $3"
  expect_log "read step" "$3"
}

preload=
job 4 four 1 || fail "4 ranks cannot write a checkpoint"
for ranks in 1 2 8; do expect_usable four $ranks "a job of 4 ranks"; done

# A rank is killed, and mpirun is asked to stop, while checkpoints are being written.
for signal in KILL TERM; do
  job 4 "$signal" 100000 &
  started=$!
  until grep -q "wrote step 3" log.out 2>/dev/null; do
    kill -0 "$started" 2>/dev/null || fail "the job ended before it was stopped"
    sleep 0.1
  done
  launcher=$(pgrep -P "$(pgrep -P "$started" -x timeout)" -x mpirun)
  victim=$launcher
  if [ $signal = KILL ]; then victim=$(pgrep -P "$launcher" -x tests-train | tail -1); fi
  kill -$signal "$victim"
  if wait "$started"; then fail "a job that lost a rank reports success"; fi
  expect_usable "$signal" 2 "a job stopped by SIG$signal"
  job 2 "$signal" 1 || fail "no checkpoint can be written after SIG$signal"
  if ls "$signal"/*.fourfold-draft >/dev/null 2>&1; then fail "temporary files stay after SIG$signal"; fi
done

# A disk with room for one checkpoint and a half, where the user may mount one.
mkdir disk
if mount -t tmpfs -o size=9m fourfold-test disk 2>/dev/null; then
  disk=$work/disk
  if job 4 "$disk/run" 2; then fail "two checkpoints on a disk with room for one"; fi
  expect_log "wrote step 1" "a full disk"
  expect_log "No space left on device" "a full disk"
  expect_usable "$disk/run" 2 "a full disk"
fi

# A file system that promises space and fails in the write itself, on whichever rank does it.
# The head, at the front, still goes through: it is the collective writes that fail.
cat >fail.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>
static int refused(off_t o) {
  if (o == 0) return 0;
  fputs("a write is refused\n", stderr);
  errno = ENOSPC;
  return 1;
}
ssize_t pwritev(int f, const struct iovec* v, int n, off_t o) {
  ssize_t (*real)(int, const struct iovec*, int, off_t) = dlsym(RTLD_NEXT, "pwritev");
  return refused(o) ? -1 : real(f, v, n, o);
}
ssize_t pwrite(int f, const void* b, size_t n, off_t o) {
  ssize_t (*real)(int, const void*, size_t, off_t) = dlsym(RTLD_NEXT, "pwrite");
  return refused(o) ? -1 : real(f, b, n, o);
}
C
if command -v gcc >/dev/null && gcc -shared -fPIC -o fail.so fail.c -ldl; then
  cp -r four failing
  preload=$work/fail.so
  status=0
  job 4 failing 1 || status=$?
  preload=
  expect_log "a write is refused" "a failing write"
  [ $status -ne 0 ] || fail "a write that fails goes unnoticed"
  [ $status -ne 124 ] || fail "a write that fails hangs the job"
  expect_log "older checkpoints are as they were" "a failing write"
  expect_usable failing 2 "a failing write"
fi
echo "no finished checkpoint was lost"
