#!/usr/bin/env bash
# The plots of a campaign: tics at its own device counts; what was published, and its source, only
# where there is something to compare with.
source "$(dirname "${BASH_SOURCE[0]}")/command_line.sh"

smoke=${FOURFOLD_SOURCE_DIR:?}/scaling/campaigns/smoke.toml
draw() {
  "$fourfold" campaign run "$1" --fidelity estimated --output "$folder/out" >/dev/null 2>"$folder/said"
  grep -q "time are drawn" "$folder/said" || fail "nothing is drawn: $(cat "$folder/said")"
}
text_of() { grep -oE '>[^<>]+<' "$folder/out/$1.svg" | tr -d '<>'; }

draw "$smoke"
for tic in 32 64; do
  text_of pflops | grep -qx " *$tic *" || fail "no tic at $tic devices: $(text_of pflops)"
done
for plot in pflops time; do
  ! text_of "$plot" | grep -q published || fail "$plot compares with nothing: $(text_of "$plot")"
done
! text_of time | grep -q flops || fail "time has no flop/s to speak of"

printf '%s\n' '# source: made up, batch_s' 'machine,devices,model,batch_s,pflops' \
  'frontier,32,gpt-5b,9,' >"$folder/rows.csv"
{ echo 'published_csv = "rows.csv"'; cat "$smoke"; } >"$folder/compared.toml"
draw "$folder/compared.toml"
for plot in pflops time; do
  text_of "$plot" | grep -q "published: made up, batch_s" || fail "$plot names no source"
done
text_of pflops | grep -q "frontier: published" || fail "no key for frontier's published rows"
! text_of pflops | grep -q "perlmutter: published" || fail "a key for what was not published"
text_of pflops | grep -q "against published" || fail "the title does not say what is compared"

echo "plots say what they show"
