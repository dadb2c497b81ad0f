#!/usr/bin/env bash
# Some long verbs, interrupted at a drawn moment: interrupts.py says what must be true.
# interrupts_slow_test.sh does all of them.
set -euo pipefail
exec bash "$(dirname "${BASH_SOURCE[0]}")/interrupts_slow_test.sh" 1 calibrate search full campaign "bench of ranks"
