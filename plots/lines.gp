# What a change costs: per cent of the unchanged point's seconds against devices, or against the
# numbers of a sweep; a line for each kind of change, bars from the least to the most of repetitions,
# and the grids below. Reads nothing but lines.csv. Called with style.gp's three, the heading, the
# fidelity, what x is and the label of the unchanged points.
plots = ARG1; csv = ARG2; output = ARG3
heading = ARG4; fidelity = ARG5; axis = ARG6; reference = 'reference: '.ARG7
unfit = ARG8
load plots.'/style.gp'

any_bar = 0
stats csv using (names = with_text(names, strcol('series')), \
  letters = more(letters, strlen(strcol('series'))), \
  any_bar = any_bar || given('high'), 0) nooutput
stats csv using (column('x')) nooutput name 'X'
stats csv using (column('percent')) nooutput name 'PERCENT'
top = PERCENT_max > 0 ? PERCENT_max : 0
bottom = PERCENT_min < 0 ? PERCENT_min : 0
if (any_bar) {
  stats csv using (number('high')) nooutput name 'HIGH'
  stats csv using (number('low')) nooutput name 'LOW'
  top = HIGH_max > top ? HIGH_max : top
  bottom = LOW_min < bottom ? LOW_min : bottom
}
room = top > bottom ? 0.08 * (top - bottom) : 1
wide = 1000 + 9 * more(letters, strlen(reference))
place = 'x'; apart = 1
load plots.'/tics.gp'
set title heading.', '.fidelity noenhanced
set xlabel axis noenhanced offset 0, (paper_width > 0 ? 0 : -2.2)
set bmargin 6.5
set ylabel 'more seconds than the reference, %'
linear_room = 0
if (X_min > 0 && X_max > 3 * X_min) {
  set logscale x 2
  set xrange [X_min / room_at_ends(X_min, X_max) : X_max * room_at_ends(X_min, X_max)]
} else {
  ends = X_max > X_min ? 0.08 * (X_max - X_min) : 1
  set xrange [X_min - ends : X_max + ends]
  linear_room = 1.2 * ends
}
below_column = 'grid'; below_title = 'x.y.z.data'; below_lines = ''
load plots.'/words_below.gp'
set yrange [bottom - room : top + room]
entries = words(names) + 1 + (any_bar > 0); key_letters = more(letters, strlen(reference))

do for [picture in pictures] {
  load canvas
  plot 0 with lines lw 1.2 dashtype 2 lc rgb dark title reference, \
    for [i=1:words(names)] csv using (column('x')):(of(word(names, i), number('low'))):(0): \
    (number('high') - number('low')) with vectors heads size screen 0.004,90 lw 1.2 lc rgb colour(i) \
    title (i == 1 && any_bar ? 'least to most, other seeds' : ''), \
    for [i=1:words(names)] csv using (column('x')):(of(word(names, i), column('percent'))) \
    with linespoints lw 2.5 pt filled(i) ps 1.3 lc rgb colour(i) title word(names, i)
}
