# Every grid of a point in the order of its estimate: estimated and simulated seconds, and how much
# each grid waits by the paper's own model. A panel for each point. Reads nothing but ranks.csv. Set before:
# style, csv, output, heading.
load style
names = values_of('series')
of(name, value) = strcol('series') eq name ? value : NaN
number(name) = strcol(name) ne '' ? column(name) : NaN
wide = 760 * words(names)
high = 640
set xlabel 'grids, in the order of the estimate'
set ylabel 'seconds per batch'
set logscale y
set format y '%g'
set key outside bottom center horizontal
set bmargin 7
set ytics add (0.5, 1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300)

panel(i) = sprintf("set title word(names, %d) noenhanced; \
  plot csv using (number('rank')):(of(word(names, %d), number('simulated_s'))) with points pt 7 ps 0.8 lc rgb colour(2) title 'simulated', \
  csv using (number('rank')):(of(word(names, %d), number('estimated_s'))) with lines lw 2 lc rgb colour(1) title 'estimated', \
  csv using (number('rank')):(strcol('chosen') eq '1' ? of(word(names, %d), number('simulated_s')) : NaN) with points pt 6 ps 2.4 lw 2 lc rgb dark title 'fastest simulated', \
  csv using (number('rank')):(strcol('paper_first') eq '1' ? of(word(names, %d), number('simulated_s')) : NaN) with points pt 4 ps 2.4 lw 2 lc rgb colour(3) title 'first by the paper''s model'; ", i, i, i, i, i)
panels = ''
do for [i=1:words(names)] { panels = panels.panel(i) }
draw = "set multiplot layout 1,".words(names)." title heading font ',15' noenhanced; ".panels."unset multiplot"
eval render
