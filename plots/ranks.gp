# Every grid of a point in the order of its estimate: estimated and simulated seconds; the grid that is
# the fastest simulated, and the first one by the paper's own model. A panel for each point. Reads nothing but ranks.csv. Set before:
# style, csv, output, heading.
load style
names = values_of('series')
of(name, value) = strcol('series') eq name ? value : NaN
number(name) = strcol(name) ne '' ? column(name) : NaN
grids = short_grids(0)
# The grid of the row in which the column is 1; no row has it where that grid was not simulated.
row_of(name, column) = int('0'.system(sprintf("awk -F, 'NR == 1 {for (i = 1; i <= NF; ++i) c[$i] = i; next} \
  $c[\"series\"] == \"%s\" && $c[\"%s\"] == 1 {print NR - 1; exit}' '%s'", name, column, csv)))
grid_of(name, column) = row_of(name, column) > 0 ? ': '.word(grids, row_of(name, column)) : ''
stats csv using (column('simulated_s')) nooutput name 'SECONDS'
set yrange [SECONDS_min / 1.5 : SECONDS_max * 1.5]
set xrange [-2 : *]
wide = 760 * words(names)
high = 700
set xlabel 'grids, in the order of the estimate'
set ylabel 'seconds per batch'
set logscale y
set format y '%g'
set key outside bottom center horizontal
set bmargin 10
set for [power=-2:5] for [digit in '1 2 5'] ytics add (digit * 10.0 ** power)

panel(i) = sprintf("set title word(names, %d) noenhanced; \
  plot csv using (number('rank')):(of(word(names, %d), number('simulated_s'))) with points pt 7 ps 0.8 lc rgb colour(2) title 'simulated', \
  csv using (number('rank')):(of(word(names, %d), number('estimated_s'))) with lines lw 2 lc rgb colour(1) title 'estimated', \
  csv using (number('rank')):(strcol('chosen') eq '1' ? of(word(names, %d), number('simulated_s')) : NaN) with points pt 6 ps 2.4 lw 2 lc rgb dark title 'fastest simulated'.grid_of(word(names, %d), 'chosen'), \
  csv using (number('rank')):(strcol('paper_first') eq '1' ? of(word(names, %d), number('simulated_s')) : NaN) with points pt 4 ps 2.4 lw 2 lc rgb colour(3) title 'first by the paper''s model'.grid_of(word(names, %d), 'paper_first'); ", i, i, i, i, i, i, i)
panels = ''
do for [i=1:words(names)] { panels = panels.panel(i) }
draw = "set multiplot layout 1,".words(names)." title heading font ',15' noenhanced; ".panels."unset multiplot"
eval render
