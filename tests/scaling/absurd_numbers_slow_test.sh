#!/usr/bin/env bash
# Numbers that no machine has, each in a platform file of its own (absurd_numbers.py). ./test.sh --all
# runs it of the program under the sanitizers as well.
source "$(dirname "${BASH_SOURCE[0]}")/command_line.sh"
TMPDIR=$folder python3 "${FOURFOLD_SOURCE_DIR:?}/tests/scaling/absurd_numbers.py" "$fourfold" \
  "$FOURFOLD_SOURCE_DIR/platforms/machines/frontier.toml"
