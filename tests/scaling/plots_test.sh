#!/usr/bin/env bash
# The plots of a campaign: tics at its own device counts; what was published, and its source, only
# where there is something to compare with.
source "$(dirname "${BASH_SOURCE[0]}")/command_line.sh"

smoke=${FOURFOLD_SOURCE_DIR:?}/scaling/campaigns/smoke.toml
draw() {
  "$fourfold" campaign run "$1" --fidelity estimated --output "$folder/out" >/dev/null 2>"$folder/said"
  grep -q "time are drawn" "$folder/said" || fail "nothing is drawn: $(cat "$folder/said")"
}
# study NAME WHAT: runs $folder/NAME.toml, which draws WHAT.
study() {
  "$fourfold" campaign run "$folder/$1.toml" --output "$folder/out" >/dev/null 2>"$folder/said" || fail "$2"
}
text_of() { grep -oE '>[^<>]+<' "$folder/out/$1.svg" | tr -d '<>'; }

draw "$smoke"
for tic in 32 64; do
  text_of pflops | heard -x " *$tic *" || fail "no tic at $tic devices: $(text_of pflops)"
done
for plot in pflops time; do
  ! text_of "$plot" | heard published || fail "$plot compares with nothing: $(text_of "$plot")"
done
! text_of time | heard flops || fail "time has no flop/s to speak of"

# A batch of less than a millisecond has its parts, too.
printf '%s\n' 'layers = 2' 'hidden = 64' 'heads = 4' 'sequence_tokens = 128' 'vocabulary = 256' \
  >"$folder/tiny.toml"
cat >"$folder/short.toml" <<TOML
title = "A short batch"
[[machine]]
platform = "crossbar"
points = [{ devices = 2, model = "$folder/tiny.toml", batch_tokens = 1024 }]
TOML
draw "$folder/short.toml"
text_of time | heard "^ *compute *$" || fail "a short batch has no compute: $(text_of time)"

printf '%s\n' '# source: made up, batch_s' 'machine,devices,model,batch_s,pflops' \
  'frontier,32,gpt-5b,9,' >"$folder/rows.csv"
{ echo 'published_csv = "rows.csv"'; cat "$smoke"; } >"$folder/compared.toml"
draw "$folder/compared.toml"
for plot in pflops time; do
  text_of "$plot" | heard "published: made up, batch_s" || fail "$plot names no source"
done
text_of pflops | heard "gpt-5b on frontier: published" || fail "no key for frontier's published rows"
! text_of pflops | heard "on perlmutter: published" || fail "a key for what was not published"
text_of pflops | heard "against published" || fail "the title does not say what is compared"

# What a study has no rows for is said, not drawn.
for kind in lines ranks; do
  status=0
  said=$("$fourfold" campaign plot "$smoke" --fidelity estimated --output "$folder/out" --kind $kind 2>&1) || status=$?
  if [ "$status" -ne 2 ] || [[ $said != "fourfold: nothing to draw for $kind: "* ]]; then
    fail "$kind of a study without it: status $status, $said"
  fi
done

# Figures of sweeps, without repetitions and so without bars; grids are on all of them, and a published
# row is drawn at the label that it belongs to.
printf '%s\n' '# source: made up' 'machine,devices,model,batch_s,pflops,label' \
  'perlmutter,32,gpt-5b,9,,half' >"$folder/half.csv"
cat >"$folder/sweep.toml" <<'TOML'
title = "Half the links_of the network"
batch_tokens = 524_288
fidelity = "estimated"
published_csv = "half.csv"
axis = "times what the platform says"
figures = ["lines", "systems", "strong", "machines", "pflops", "time"]
[[sweep]]
list = [
  { label = "as it is", value = 1 },
  { label = "half", value = 0.5, scales = { nics = 0.5 } },
]
[[machine]]
platform = "perlmutter"
points = [{ devices = 32, model = "gpt-5b" }]
TOML
study sweep "figures of a sweep"
for plot in lines systems strong machines pflops time; do
  text_of "$plot" | heard "Half the links_of the network" || fail "$plot has not the campaign's title"
  text_of "$plot" | heard -E '1\.1\.32\.1|[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+' || fail "$plot shows no grid: $(text_of "$plot")"
done
grep -q '^half,1,0,' "$folder/out/lines.csv" || fail "the line misses the unchanged point: $(cat "$folder/out/lines.csv")"
text_of lines | heard "reference: as it is" || fail "lines does not say what 0 % is: $(text_of lines)"
text_of systems | heard "published: made up" || fail "systems names no source"
[ "$(awk -F, 'NR > 1 && $18 != ""' "$folder/out/systems.csv" | wc -l)" -eq 1 ] ||
  fail "the published row is not at one label: $(cat "$folder/out/systems.csv")"

# The axis of a sweep of a key is named by that key alone, also where its line has more words.
cat >"$folder/keyed.toml" <<'TOML'
title = "Sharded more and more"
batch_tokens = 524_288
fidelity = "estimated"
figures = ["lines"]
[[sweep]]
list = [{ label = "all of the way" }]
[[sweep]]
key = "options.zero"
values = [0, 1, 2]
[[machine]]
platform = "perlmutter"
points = [{ devices = 32, model = "gpt-5b" }]
TOML
study keyed "a figure of a key"
text_of lines | heard -x " *zero *" || fail "the axis is not named by its key: $(text_of lines)"

# Ranks of a point whose grids by the paper's model were not simulated.
cat >"$folder/ranks.toml" <<'TOML'
title = "A few grids"
batch_tokens = 4_194_304
figures = ["ranks"]
[simulate]
at_least_grids = 1
at_most_grids = 1
[[machine]]
platform = "frontier"
points = [{ devices = 256, model = "gpt-20b" }]
TOML
study ranks "ranks"
text_of ranks | heard "fastest simulated" || fail "ranks does not name the fastest"

# Bars stand on a zero; where machines are far apart, the axis is logarithmic and has dots.
dots() { grep -c "<use xlink:href='#gpPt6'" "$folder/out/machines.svg"; }
[ "$(dots)" -eq 0 ] || fail "machines that are near one another are dots"
cat >"$folder/far.toml" <<'TOML'
title = "Far apart"
batch_tokens = 4_194_304
fidelity = "estimated"
figures = ["machines"]
[[machine]]
platform = "alps"
points = [{ devices = [32, 4096], model = "gpt-5b" }]
TOML
study far "a figure of machines"
[ "$(dots)" -eq 2 ] || fail "machines that are far apart are $(dots) dots, not 2"

# No text over text, as wide as it needs or in a column of a paper: several machines, models with long
# names, labels, batches that are far apart.
cat >"$folder/weak.toml" <<'TOML'
title = "Weak scaling on two machines"
fidelity = "estimated"
batch_tokens = 1_048_576
[[machine]]
platform = "perlmutter"
points = [{ devices = 64, model = "gpt-5b", grid = "x=4,pipe=4,data=4" }, { devices = 256, model = "gpt-10b" }]
[[machine]]
platform = "frontier"
points = [{ devices = 64, model = "gpt-5b" }, { devices = 1024, model = "gpt-20b" }, { devices = 8, model = "gpt-640b" }]
TOML
cat >"$folder/far.toml" <<'TOML'
title = "Models of all sizes"
fidelity = "estimated"
batch_tokens = 1_048_576
[[sweep]]
list = [{ label = "as it is" }, { label = "no overlap", options = { overlap = { all_gather = false } } }]
[[machine]]
platform = "frontier"
points = [{ devices = 64, model = "gpt-5b" }, { devices = 64, model = "gpt2-124m" }, { devices = 2048, model = "gpt-20b" }]
TOML
for name in weak far; do
  "$fourfold" campaign run "$folder/$name.toml" --output "$folder/$name" >/dev/null 2>"$folder/said" || [ $name = weak ] ||
    fail "the campaign $name"
  for kind in pflops time strong systems machines; do
    for width in "" "--width=3.5in" "--width=7in"; do
      # shellcheck disable=SC2086
      "$fourfold" campaign plot "$folder/$name.toml" --output "$folder/$name" --kind $kind $width >/dev/null 2>"$folder/said" ||
        fail "$kind of $name $width"
      python3 "$FOURFOLD_SOURCE_DIR/tests/scaling/overlaps.py" "$folder/$name/$kind.svg" || fail "$kind of $name $width: text over text"
    done
  done
done

echo "plots say what they show"
