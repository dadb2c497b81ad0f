# Strong scaling: days of a run, or seconds of a batch, against devices beside the ideal line from the
# series' fewest devices, and the efficiency left; below, the grids chosen and the speed-up. Reads
# nothing but strong.csv. Set before: style, csv, output, heading, fidelity, what (the y axis), source.
load style
names = values_of('series')
of(name, value) = strcol('series') eq name ? value : NaN
number(name) = strcol(name) ne '' ? column(name) : NaN
published(i) = sum [j=1:words(compared)] (word(compared, j) eq word(names, i)) > 0
compared = series_with('published')
counts = system(sprintf("tail -n +2 '%s' | cut -d, -f2 | sort -nu | awk '$1 >= 1.5 * last {print last = $1}'", csv))
# Two panels, and a legend as wide as its words.
wide = 1350 + 10 * (longest('series') + (words(compared) > 0 ? 11 : 0))
at(x) = x * 1600.0 / wide
rows = words(names)
high = 620 + 20 * rows

stats csv using (column('devices')) nooutput name 'DEVICES'
stats csv using (column('time')) nooutput name 'TIME'
stats csv using (column('efficiency')) nooutput name 'SHARE'
set xrange [DEVICES_min / 1.3 : DEVICES_max * 1.3]
set logscale x 2
set xtics ()
do for [devices in counts] { set xtics add (devices devices + 0) }
# Of the engine itself, as points that are measured have it.
measured = strstrt(names, 'measured"') > 0
set xlabel (measured ? 'ranks' : 'devices (GPUs; GCDs on MI250X)') offset 0, -1.3 - 1.05 * rows
set bmargin 5.2 + 1.1 * rows + (any('published') ? 1.5 : 0)
# Written with the first panel only: two over one another look bold.
source_line = any('published') ? "set label 1 'published: '.source at screen 0.01, screen 0.02 noenhanced font ',10'" : ''

left = "set lmargin at screen at(0.085); set rmargin at screen at(0.4); unset key; eval source_line; \
  eval words_below('series', 'devices', 'grid', '', 'x.y.z.data'); \
  set logscale y; set format y '%g'; set ylabel what; set yrange [TIME_min / 2 : TIME_max * 2]; \
  set for [power=-2:5] for [digit in '1 2 5'] ytics add (digit * 10.0 ** power); \
  plot for [i=1:words(names)] rows_of(word(names, i)) using (column('devices')):(column('ideal')) \
  with lines dashtype 2 lw 1.5 lc rgb colour(i) notitle, \
  for [i=1:words(names)] csv using (column('devices')):(of(word(names, i), number('low'))):(0): \
  (number('high') - number('low')) with vectors heads size screen 0.004,90 lw 1.2 lc rgb colour(i) notitle, \
  for [i=1:words(names)] rows_of(word(names, i)) using (column('devices')):(column('time')) \
  with linespoints lw 2.5 pt filled(i) ps 1.3 lc rgb colour(i) notitle, \
  for [i=1:words(names)] csv using (column('devices')):(of(word(names, i), number('published'))) \
  with points pt open(i) ps 2.2 lw 2 lc rgb colour(i) notitle"
# The legend of both.
right = "unset label 1; eval no_words_below; eval words_below('series', 'devices', 'speedup', '%.3gx', 'speed-up'); \
  set lmargin at screen at(0.475); set rmargin at screen at(0.775); \
  set key at screen at(0.79), screen 0.7 left top Left reverse samplen 2.5 spacing 1.3 noenhanced; \
  unset logscale y; unset ytics; set ytics nomirror; set ylabel 'efficiency, %'; \
  set yrange [0 : 100 * (SHARE_max > 1 ? SHARE_max : 1) * 1.1]; \
  plot for [i=1:words(names)] rows_of(word(names, i)) using (column('devices')):(100 * column('efficiency')) \
  with linespoints lw 2.5 pt filled(i) ps 1.3 lc rgb colour(i) title word(names, i), \
  100 with lines dashtype 2 lw 1.5 lc rgb dark title 'ideal', \
  for [i=1:words(names)] NaN with points pt open(i) ps 2.2 lw 2 lc rgb colour(i) \
  title (published(i) ? word(names, i).', published' : ''), \
  NaN with vectors heads size screen 0.004,90 lw 1.2 lc rgb dark \
  title (any('low') ? (measured ? 'quartiles; simulated: 80 %' : '80 % bars') : '')"
draw = "set multiplot layout 1,2 title heading.', '.fidelity font ',15' noenhanced; ".left."; ".right."; unset multiplot; \
  eval no_words_below"
eval render
