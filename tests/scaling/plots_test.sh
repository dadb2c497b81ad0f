#!/usr/bin/env bash
# The plots of a campaign: tics at its own device counts; what was published, and its source, only
# where there is something to compare with.
source "$(dirname "${BASH_SOURCE[0]}")/command_line.sh"
cd "$folder"

# study NAME [WORDS...]: runs NAME.toml, which the standard input says and whose points may fit nowhere.
study() {
  cat >"$1.toml"
  "$fourfold" campaign run "$1.toml" --output out "${@:2}" >/dev/null 2>said || [ $? -eq 1 ] || fail "$1"
}
text_of() { grep -oE '>[^<>]+<' "out/$1.svg" | tr -d '<>'; }
# shows PLOT GREP_WORDS...: the plot has such a text.
shows() { text_of "$1" | heard "${@:2}" || fail "$1 does not show ${*:2}: $(text_of "$1")"; }
shows_no() { ! text_of "$1" | heard "${@:2}" || fail "$1 shows ${*:2}: $(text_of "$1")"; }

smoke=${FOURFOLD_SOURCE_DIR:?}/scaling/campaigns/smoke.toml
study smoke --fidelity estimated <"$smoke"
says "time are drawn"
for tic in 32 64; do shows pflops -x " *$tic *"; done
for plot in pflops time; do shows_no $plot published; done
shows_no time flops

# A batch of less than a millisecond has its parts, too.
printf '%s\n' 'layers = 2' 'hidden = 64' 'heads = 4' 'sequence_tokens = 128' 'vocabulary = 256' \
  >tiny.toml
study short --fidelity estimated <<'TOML'
title = "A short batch"
[[machine]]
platform = "crossbar"
points = [{ devices = 2, model = "tiny.toml", batch_tokens = 1024 }]
TOML
shows time "^ *compute *$"

printf '%s\n' '# source: made up, batch_s' 'machine,devices,model,batch_s,pflops' \
  'frontier,32,gpt-5b,9,' >rows.csv
{ echo 'published_csv = "rows.csv"'; cat "$smoke"; } | study compared --fidelity estimated
for plot in pflops time; do shows $plot "published: made up, batch_s"; done
shows pflops "gpt-5b on frontier: published"
shows_no pflops "on perlmutter: published"
shows pflops "against published"

# What a study has no rows for is said, not drawn.
for kind in lines ranks; do
  run 2 campaign plot "$smoke" --fidelity estimated --output out --kind $kind
  says "fourfold: nothing to draw for $kind: "
done

# Figures of sweeps, without repetitions and so without bars; grids are on all of them, and a published
# row is drawn at the label that it belongs to. The axis of a sweep of a key is named by that key alone,
# also where its line has more words.
printf '%s\n' '# source: made up' 'machine,devices,model,batch_s,pflops,label' \
  'perlmutter,32,gpt-5b,9,,half' >half.csv
study sweep <<'TOML'
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
for plot in lines systems strong machines pflops time; do
  shows $plot "Half the links_of the network"
  shows $plot -E '[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+'  # a grid
done
grep -q '^half,1,0,' out/lines.csv || fail "the line misses the unchanged point: $(cat out/lines.csv)"
# Bars stand on a zero; where machines are far apart, the axis is logarithmic and has dots.
dots() { grep -c "<use xlink:href='#gpPt6'" "out/machines.svg"; }
[ "$(dots)" -eq 0 ] || fail "machines that are near one another are dots"
shows lines "reference: as it is"
shows systems "published: made up"
[ "$(awk -F, 'NR > 1 && $18 != ""' out/systems.csv | wc -l)" -eq 1 ] ||
  fail "the published row is not at one label: $(cat out/systems.csv)"
study keyed <<'TOML'
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
shows lines -x " *zero *"

# Memory over the step: what is drawn, of which stage, and each role. In a column of a paper the legend
# stands above the axes.
memory=(project --platform frontier --model gpt-5b --grid "pipe=4,data=2" --micro-batches 8
  --batch-tokens 65536 --fidelity estimated --memory-figure out/course.png)
run 0 "${memory[@]}"
says "out/course.png, .svg and .pdf are drawn"
shows course -x " *gpt-5b on frontier, grid data=2,pipe=4, stage [0-3] *"
for width in "" 3.5in 7in; do
  [ -z "$width" ] || run 0 "${memory[@]}" --width $width
  for role in weights gradients optimizer communication "saved activations" temporaries; do
    shows course "$role"
  done
  python3 "$FOURFOLD_SOURCE_DIR/tests/scaling/overlaps.py" ${width:+--legend-ends temporaries} out/course.svg ||
    fail "memory, $width"
done

# Ranks of a point whose grids by the paper's model were not simulated.
study ranks <<'TOML'
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
shows ranks "fastest simulated"

study far <<'TOML'
title = "Far apart"
batch_tokens = 4_194_304
fidelity = "estimated"
figures = ["machines"]
[[machine]]
platform = "alps"
points = [{ devices = [32, 4096], model = "gpt-5b" }]
TOML
[ "$(dots)" -eq 2 ] || fail "machines that are far apart are $(dots) dots, not 2"

# No text over text, as wide as it needs or in a column of a paper: several machines, models with long
# names, labels, batches that are far apart.
overlaps() {
  for kind in pflops time strong systems machines; do
    for width in "" "--width=3.5in" "--width=7in"; do
      # shellcheck disable=SC2086
      run 0 campaign plot "$1.toml" --output out --kind $kind $width
      python3 "$FOURFOLD_SOURCE_DIR/tests/scaling/overlaps.py" "out/$kind.svg" || fail "$1, $kind $width: text over text"
    done
  done
}
study weak <<'TOML'
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
overlaps weak
study sizes <<'TOML'
title = "Models of all sizes"
fidelity = "estimated"
batch_tokens = 1_048_576
[[sweep]]
list = [{ label = "as it is" }, { label = "no overlap", options = { overlap = { all_gather = false } } }]
[[machine]]
platform = "frontier"
points = [{ devices = 64, model = "gpt-5b" }, { devices = 64, model = "gpt2-124m" }, { devices = 2048, model = "gpt-20b" }]
TOML
overlaps sizes

echo "plots say what they show"
