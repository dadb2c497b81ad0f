# Strong scaling: days of a run, or seconds of a batch, against devices beside the ideal line from the
# series' fewest devices, and the efficiency left, with the speed-up written at each point. Reads
# nothing but strong.csv. Set before: style, csv, output, heading, what (the y axis), source.
load style
names = values_of('series')
of(name, value) = strcol('series') eq name ? value : NaN
number(name) = strcol(name) ne '' ? column(name) : NaN
counts = system(sprintf("tail -n +2 '%s' | cut -d, -f2 | sort -nu | awk '$1 >= 1.5 * last {print last = $1}'", csv))
wide = 1500
high = 720

stats csv using (column('devices')) nooutput name 'DEVICES'
stats csv using (column('time')) nooutput name 'TIME'
stats csv using (column('efficiency')) nooutput name 'SHARE'
set xrange [DEVICES_min / 1.3 : DEVICES_max * 1.3]
set logscale x 2
set xtics ()
do for [devices in counts] { set xtics add (devices devices + 0) }
set xtics rotate by -35 left
set xlabel 'devices (GPUs; GCDs on MI250X)'
set bmargin (source eq '' ? 9 : 11)
set key outside bottom center horizontal maxrows 4 samplen 2.5
if (source ne '') { set label 1 'published: '.source at screen 0.01, screen 0.02 noenhanced font ',10' }

left = "set logscale y; set format y '%g'; set ylabel what; set yrange [TIME_min / 2 : TIME_max * 2]; \
  plot for [i=1:words(names)] csv using (column('devices')):(of(word(names, i), column('ideal'))) \
  with lines dashtype 2 lw 1.5 lc rgb colour(i) title word(names, i).', ideal', \
  for [i=1:words(names)] csv using (column('devices')):(of(word(names, i), number('low'))):(0): \
  (number('high') - number('low')) with vectors heads size screen 0.004,90 lw 1.2 lc rgb colour(i) \
  title (i == 1 && any('low') ? '80 % bars' : ''), \
  for [i=1:words(names)] csv using (column('devices')):(of(word(names, i), column('time'))) \
  with linespoints lw 2.5 pt filled(i) ps 1.3 lc rgb colour(i) title word(names, i), \
  for [i=1:words(names)] csv using (column('devices')):(of(word(names, i), number('published'))) \
  with points pt open(i) ps 2.2 lw 2 lc rgb colour(i) title (any('published') ? word(names, i).', published' : '')"
right = "unset logscale y; set ylabel 'efficiency, %'; set yrange [0 : 100 * (SHARE_max > 1 ? SHARE_max : 1) * 1.18]; \
  plot 100 with lines dashtype 2 lw 1.5 lc rgb dark title 'ideal', \
  for [i=1:words(names)] csv using (column('devices')):(of(word(names, i), 100 * column('efficiency'))) \
  with linespoints lw 2.5 pt filled(i) ps 1.3 lc rgb colour(i) title word(names, i), \
  for [i=1:words(names)] csv using (column('devices')): \
  (of(word(names, i), 100 * column('efficiency'))):(sprintf('%.3gx', column('speedup'))) with labels \
  offset 0, (i % 2 == 1 ? 0.9 : -0.9) font ',9' tc rgb colour(i) notitle"
draw = "set multiplot layout 1,2 title heading font ',15' noenhanced; ".left."; ".right."; unset multiplot"
eval render
