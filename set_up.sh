# Shared by run.sh and test.sh (sourced): installs missing Debian packages, configures, builds.
# Every step may be repeated; each failure ends the script with a sentence that says what to do.

say() { echo "fourfold: $*"; }

stop() {
  echo "fourfold: $*" >&2
  exit 1
}

# Lists of packages, of which test.sh --all adds one.
package_lists=(packages.txt)

# Prints the packages of the lists that dpkg does not know as installed.
missing_packages() {
  local package
  for package in $(sed -e 's/#.*//' "${package_lists[@]}"); do
    dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null |
      grep -qx installed || echo "$package"
  done
}

install_packages() {
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    say "this is no Debian system: trusting that what ${package_lists[*]} lists is installed"
    return
  fi
  local missing
  missing=$(missing_packages | tr '\n' ' ')
  if [ -z "$missing" ]; then
    say "all packages of ${package_lists[*]} are installed"
    return
  fi
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null ||
      stop "packages are missing and there is no sudo; run as root: apt-get install ${missing% }"
    as_root=(sudo)
  fi
  say "installing ${missing% }"
  local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0)
  "${apt[@]}" update </dev/null ||
    stop "apt-get update failed; check the network and /etc/apt/sources.list, then run this again"
  # shellcheck disable=SC2086  # a list of package names
  "${apt[@]}" install --yes --no-install-recommends $missing </dev/null >/dev/null ||
    stop "apt-get could not install the packages; run: apt-get install ${missing% }"
}

configure() {
  local cache=build/CMakeCache.txt
  if [ -f "$cache" ] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$(pwd -P)" "$cache"; then
    stop "build/ was made for another folder; remove it (rm -r build) and run this again"
  fi
  local generator=()
  if [ ! -f "$cache" ] && command -v ninja >/dev/null; then generator=(-G Ninja); fi
  say "configuring build/"
  mkdir -p build || stop "cannot write to $(pwd -P); clone into a folder of your own"
  cmake -S . -B build "${generator[@]}" -D CMAKE_BUILD_TYPE=Release -D BUILD_TESTING=ON \
    -D CMAKE_COMPILE_WARNING_AS_ERROR="${FOURFOLD_WARNINGS_ARE_ERRORS:-OFF}" \
    </dev/null >build/configure.log 2>&1 || {
    cat build/configure.log >&2
    stop "CMake could not configure; the lines above say why (rm -r build starts afresh)"
  }
}

# Takes targets; everything where there are none.
build() {
  local cores targets=()
  cores=$(nproc)
  if [ $# -gt 0 ]; then targets=(--target "$@"); fi
  say "building ${*:-everything} with $cores jobs"
  cmake --build build --parallel "$cores" "${targets[@]}" </dev/null ||
    stop "the build failed at the first error above; correct it and run this again"
}

set_up() {
  install_packages
  configure
  build "$@"
}
