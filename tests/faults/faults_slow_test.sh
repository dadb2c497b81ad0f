#!/usr/bin/env bash
# Every fault can still be planted: its text stands exactly once in its file.
set -euo pipefail
exec python3 "${FOURFOLD_SOURCE_DIR:?}/tests/faults/plant.py" --check
