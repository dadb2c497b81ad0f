# What ./test.sh --all does beside the tests, sourced by it: the tests without MPI under the address and
# undefined-behaviour sanitizers, two ranks of the transports under the thread sanitizer, clang-tidy.
# Each says where its build lies and ends at the first finding.

# sanitized_build FOLDER SANITIZERS TARGETS...: without optimisation that hides, and without debug
# information, which takes the longest to write.
sanitized_build() {
  local folder=$1 kinds=$2 generator=()
  shift 2
  if [ ! -f "$folder/CMakeCache.txt" ] && command -v ninja >/dev/null; then generator=(-G Ninja); fi
  say "building $* in $folder/ with sanitizers: $kinds"
  mkdir -p "$folder"
  cmake -S . -B "$folder" "${generator[@]}" -D CMAKE_BUILD_TYPE= -D BUILD_TESTING=ON \
    -D FOURFOLD_MICROBENCH=OFF \
    -D CMAKE_CXX_FLAGS="-O1 -fsanitize=$kinds -fno-sanitize-recover=all -fno-omit-frame-pointer" \
    </dev/null >"$folder/configure.log" 2>&1 || stop "CMake could not configure; see $folder/configure.log"
  cmake --build "$folder" --parallel "$(nproc)" --target "$@" </dev/null ||
    stop "the build with sanitizers failed at the first error above"
}

# Slow ones are left out, ten times slower here, and what holds a speed or how soon an end is seen.
check_without_mpi() {
  local rooms=(schedule platforms sim replay engine kernels scaling) targets=(fourfold) room
  for room in "${rooms[@]}"; do targets+=("tests-$room"); done
  sanitized_build build-sanitize address,undefined,float-cast-overflow "${targets[@]}"
  export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1
  export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
  for room in "${rooms[@]}"; do
    say "tests-$room under sanitizers"
    "build-sanitize/bin/tests-$room" --gtest_filter='-*SLOW_*:FmaPeak.*:Attached.Ends*' --gtest_brief=1 </dev/null ||
      stop "tests-$room failed under sanitizers"
  done
}

# Open MPI's own races are left out by name (tests/mpi/open_mpi.supp); ours are not.
check_transports() {
  local as_root=()
  sanitized_build build-threads thread tests-mpi
  if [ "$(id -u)" -eq 0 ]; then as_root=(--allow-run-as-root); fi
  say "two ranks of tests-mpi under the thread sanitizer"
  TSAN_OPTIONS="suppressions=$PWD/tests/mpi/open_mpi.supp halt_on_error=1" \
    mpirun "${as_root[@]}" --oversubscribe --mca mpi_yield_when_idle 1 \
    --mca btl_vader_single_copy_mechanism none -np 2 build-threads/bin/tests-mpi \
    --gtest_filter='-*SLOW_*' </dev/null || stop "the transports failed under the thread sanitizer"
}

# The checks of .clang-tidy, of every source of the programs but SimGrid's witness, which has its own
# compiler.
check_tidy() {
  say "clang-tidy"
  # clang cannot read what g++ has precompiled, and reads each source by itself.
  cmake -S . -B build-tidy -D CMAKE_BUILD_TYPE=Release -D BUILD_TESTING=OFF \
    -D FOURFOLD_MICROBENCH=OFF -D FOURFOLD_UNITY=OFF -D CMAKE_DISABLE_PRECOMPILE_HEADERS=ON </dev/null >/dev/null
  find support schedule platforms sim engine scaling bench -name '*.cpp' -not -path 'sim/witness/*' -print0 |
    xargs -0 -n 4 -P "$(nproc)" clang-tidy-16 -p build-tidy --quiet --extra-arg=-Wno-everything \
      2>/dev/null || stop "clang-tidy found what it lists above"
}
