# What a change costs: per cent of the unchanged point's seconds against devices, or against the
# numbers of a sweep; a line for each kind of change, bars from the least to the most of repetitions,
# and the grids below. Reads nothing but lines.csv. Set before: style, csv, output, heading, fidelity, axis (what x is),
# reference (the label of the unchanged points).
load style
names = values_of('series')
of(name, value) = strcol('series') eq name ? value : NaN
number(name) = strcol(name) ne '' ? column(name) : NaN
stats csv using (column('x')) nooutput name 'X'
stats csv using (column('percent')) nooutput name 'PERCENT'
top = PERCENT_max > 0 ? PERCENT_max : 0
bottom = PERCENT_min < 0 ? PERCENT_min : 0
if (any('high')) {
  stats csv using (number('high')) nooutput name 'HIGH'
  stats csv using (number('low')) nooutput name 'LOW'
  top = HIGH_max > top ? HIGH_max : top
  bottom = LOW_min < bottom ? LOW_min : bottom
}
room = top > bottom ? 0.08 * (top - bottom) : 1
words_of_reference = 'reference: '.reference
letters = longest('series') > strlen(words_of_reference) ? longest('series') : strlen(words_of_reference)
wide = 1000 + 9 * letters
set title heading.', '.fidelity noenhanced
set xlabel axis offset 0, -2.2
set bmargin 6.5
set ylabel 'more seconds than the reference, %'
if (X_max > 3 * X_min) { set logscale x 2; set xrange [X_min / 1.15 : X_max * 1.15] }
set yrange [bottom - room : top + room]
places = system(sprintf("awk -F, 'NR > 1 {print $2}' '%s' | sort -gu", csv))
set xtics ()
eval words_below('', 'x', 'grid', '', 'x.y.z.data')
do for [place in places] { set xtics add (place place + 0) }
draw = "plot 0 with lines lw 1.2 dashtype 2 lc rgb dark title words_of_reference, \
  for [i=1:words(names)] csv using (column('x')):(of(word(names, i), number('low'))):(0): \
  (number('high') - number('low')) with vectors heads size screen 0.004,90 lw 1.2 lc rgb colour(i) \
  title (i == 1 && any('high') ? 'least to most, other seeds' : ''), \
  for [i=1:words(names)] csv using (column('x')):(of(word(names, i), column('percent'))) \
  with linespoints lw 2.5 pt filled(i) ps 1.3 lc rgb colour(i) title word(names, i)"
eval render
