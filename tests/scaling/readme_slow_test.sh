#!/usr/bin/env bash
# The rows of README.md's table are those that the study of ./run.sh prints.
source "$(dirname "${BASH_SOURCE[0]}")/command_line.sh"
root=${FOURFOLD_SOURCE_DIR:?}

"$fourfold" campaign run "$root/scaling/campaigns/sc24_weak.toml" --wide --output "$folder/out" >"$folder/said"
while IFS='|' read -r _ machine devices model grid seconds rate exposed published deviation _; do
  line=$(grep -E "^${machine// /} +${devices// /} +${model// /} " "$folder/said" | head -n 1)
  published=${published/ (derived)/\*}
  for cell in "$grid" "$seconds" "$rate" "$exposed" "$published" "$deviation"; do
    grep -qF -- " ${cell// /}" <<<"$line" ||
      fail "README says $cell of $machine on $devices devices; the binary: $line"
  done
done < <(grep -E '^\| (perlmutter|frontier|alps) ' "$root/README.md")
echo "README's table is what the study prints"
