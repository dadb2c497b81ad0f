# Projected against published seconds of the runs of a validation, both logarithmic, with bands of
# 10 and 20 %; one colour per study that has a projected row. Reads nothing but the CSV of a validation.
# Called with style.gp's three and the fidelity.
plots = ARG1; csv = ARG2; output = ARG3
fidelity = ARG4
load plots.'/style.gp'
high = 750

# Open shapes, since runs of one study lie close together; filled ones after six studies.
shape(i) = i > 6 ? filled(i) : open(i)

# Collectives are no steps: where there are both, they are left out.
steps = 0
stats csv using (steps = steps + (given('projected_s') && column('memory_B') > 0), 0) nooutput
drawn(x) = given('projected_s') && given('published_s') && (steps == 0 || column('memory_B') > 0)

stats csv using (names = drawn(0) \
  ? with_text(names, strcol('study')) : names, letters = more(letters, strlen(strcol('study'))), 0) nooutput
wide = 800 + 9 * letters
entries = words(names) + 3; key_letters = letters; tall = 0.85
stats csv using (drawn(0) ? column('published_s') : NaN) nooutput name 'PUBLISHED'
stats csv using (drawn(0) ? column('projected_s') : NaN) nooutput name 'PROJECTED'
least = (PUBLISHED_min < PROJECTED_min ? PUBLISHED_min : PROJECTED_min) / 1.3
most = more(PUBLISHED_max, PROJECTED_max) * 1.3

set title sprintf('Seconds of a %s, %s against published', steps == 0 ? 'collective' : 'step', fidelity)
set xlabel 'published, s'
set ylabel 'projected, s'
set logscale xy
set xrange [least:most]
set yrange [least:most]
set size square
set for [power=-2:5] for [digit in '1 2 5'] xtics add (digit * 10.0 ** power)
set for [power=-2:5] for [digit in '1 2 5'] ytics add (digit * 10.0 ** power)
set format '%g'
set grid xtics ytics back lc rgb '#b8b8b8' lw 1 dashtype 1
set key outside right center Left reverse samplen 2 spacing 1.3 noenhanced
set style fill solid noborder

projected(study) = strcol('study') eq study && drawn(0) ? column('projected_s') : NaN
do for [picture in pictures] {
  load canvas
  plot '+' using 1:($1 * 0.8):($1 * 1.2) with filledcurves lc rgb '#e4e4e4' title 'within 20 %', \
    '+' using 1:($1 * 0.9):($1 * 1.1) with filledcurves lc rgb '#c4c4c4' title 'within 10 %', \
    x with lines lw 1 lc rgb '#555555' title 'as published', \
    for [i=1:words(names)] csv using (column('published_s')):(projected(word(names, i))) with points \
    pt shape(i) ps 1.1 lw 1.5 lc rgb colour(i) title word(names, i)
}
