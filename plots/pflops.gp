# Model Pflop/s against devices, both logarithmic, one colour per series of points: projection, ideal line
# through its smallest point, published points, grids below. Reads nothing but the CSV of a study.
# Set before: style, csv (path), output (path without ending), source (of what was
# published; empty if nothing is compared), heading, fidelity.
load style
wide = 1150 + 9 * longest('series')
names = values_of('series')
high = 720 + 20 * words(names)

of(name, value) = strcol('series') eq name ? value : NaN
# published flop/s, or those that the published seconds give
published(x) = strcol('published_flop_per_s') ne '' ? column('published_flop_per_s') \
             : strcol('published_batch_s') ne '' ? column('model_flop') / column('published_batch_s') \
             : NaN

convention = system(sprintf("sed -n '2s/.*\"\\(.*\\)\"$/\\1/p' '%s'", csv))

# Device counts of the study, but for those that would write over their neighbour.
counts = system(sprintf("tail -n +2 '%s' | cut -d, -f2 | sort -nu | awk '$1 >= 1.3 * last {print last = $1}'", csv))
compared = series_with('published_batch_s')
is_compared(name) = sum [i=1:words(compared)] (word(compared, i) eq name) > 0

set title heading.sprintf("\nTraining throughput, %s%s\nmodel flops: %s", fidelity, \
                          words(compared) > 0 ? ', against published' : '', convention) noenhanced
if (source ne '') {
  set label 1 'published: '.source at screen 0.01, screen 0.025 noenhanced font ',10'
}
eval words_below('series', 'devices', 'grid', '', 'x.y.z.data')
set lmargin 13
set bmargin 5.2 + 1.1 * words(names) + (source eq '' ? 0 : 1.5)
set xlabel 'devices (GPUs; GCDs on MI250X)' offset 0, -1.3 - 1.05 * words(names)
set ylabel 'model Pflop/s'
set logscale xy
set xtics ()
do for [devices in counts] { set xtics add (devices devices + 0) }
set format y '%g'
set for [power=-2:5] for [digit in '1 2 5'] ytics add (digit * 10.0 ** power)
set grid xtics ytics lc rgb '#b8b8b8' lw 1 dashtype 1
set key outside right center Left reverse samplen 3 spacing 1.3 noenhanced

# A margin around the points: automatic ranges would go on to whole decades.
stats csv using 'devices' nooutput name 'DEVICES'
stats csv using (column('flop_per_s') / 1e15) nooutput name 'RATE'
stats csv using (column('ideal_flop_per_s') / 1e15) nooutput name 'IDEAL'
stats csv using (published(0) / 1e15) nooutput name 'PUBLISHED'
lowest = exists('PUBLISHED_min') && PUBLISHED_min < RATE_min ? PUBLISHED_min : RATE_min
set xrange [DEVICES_min / 1.4 : DEVICES_max * 1.4]
set yrange [lowest / 2.2 : IDEAL_max * 1.5]

# Flop/s of the slow and of the fast end of the error bar.
bar(seconds) = strcol(seconds) ne '' ? column('model_flop') / column(seconds) / 1e15 : NaN
any_bar = system(sprintf("awk -F, 'NR == 1 {for (i = 1; i <= NF; ++i) c[$i] = i; next} \
  $c[\"bar_low_s\"] != \"\" {n = 1} END {print n + 0}' '%s'", csv)) + 0

draw = "plot for [i=1:words(names)] rows_of(word(names, i)) using (column('devices')): \
  (column('ideal_flop_per_s') / 1e15) with lines dashtype 2 lw 1.5 \
  lc rgb colour(i) title word(names, i).': ideal', \
  for [i=1:words(names)] rows_of(word(names, i)) using (column('devices')): \
  (column('flop_per_s') / 1e15) with linespoints lw 2.5 pt filled(i) \
  ps 1.4 lc rgb colour(i) title word(names, i).': '.fidelity, \
  for [i=1:words(names)] csv using (column('devices')): \
  (of(word(names, i), bar('bar_high_s'))):(0):(bar('bar_low_s') - bar('bar_high_s')) \
  with vectors heads size screen 0.004,90 lw 1.2 lc rgb colour(i) \
  title (any_bar && i == words(names) ? '80 % bars' : ''), \
  for [i=1:words(names)] csv using (column('devices')): \
  (of(word(names, i), published(0) / 1e15)) with points pt open(i) ps 2.2 lw 2 \
  lc rgb colour(i) title (is_compared(word(names, i)) ? word(names, i).': published' : '')"

eval render
