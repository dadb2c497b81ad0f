# What tests of the command line start with, sourced by them: $fourfold, a $folder that is gone at
# the end, and fail WORDS.
set -euo pipefail
fourfold=${FOURFOLD_BIN_DIR:?}/fourfold
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() {
  echo "$1" >&2
  exit 1
}
