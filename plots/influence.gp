# Shapley shares of the variance of flop/s a device, a pair of bars for each choice: with what is out
# of memory at 0, and over what can run; what a choice explains alone is a line across its bar. Reads
# nothing but the CSV of a search. Called with style.gp's three and the heading.
plots = ARG1; csv = ARG2; output = ARG3
heading = ARG4
load plots.'/style.gp'
wide = 1000
high = 600

set title heading."\nhow much each choice matters: Shapley shares of the variance of flop/s a device" noenhanced
set ylabel 'share of the variance, %'
set style fill solid 0.9 border lc rgb '#444444'
set boxwidth 0.36
set grid noxtics
set key outside bottom center horizontal samplen 3
set xtics scale 0 noenhanced
stats csv using (column('share')) nooutput name 'SHARE'
set xrange [-0.6:SHARE_records - 0.4]
stats csv using (column('share_feasible')) nooutput name 'FEASIBLE'
stats csv using (column('alone')) nooutput name 'ALONE'
stats csv using (column('alone_feasible')) nooutput name 'FREE'
set yrange [0:1.18 * 100 * more(more(SHARE_max, FEASIBLE_max), more(ALONE_max, FREE_max))]
stats csv using (letters = more(letters, strlen(strcol('choice'))), 0) nooutput
wide = more(wide, 150 + 9.5 * letters * SHARE_records)
entries = 3; lower = 1 + 0.62 * letters
if (paper_width > 0) { set xtics rotate by 90 right }
percent(name) = 100 * column(name)
above(name, line) = more(percent(name), percent(line))
written(name) = paper_width > 0 ? '' : sprintf('%.1f', percent(name))

do for [picture in pictures] {
  load canvas
  plot csv using (column(0) - 0.19):(percent('share')):xticlabels(strcol('choice')) \
    with boxes lc rgb '#08519C' title 'out of memory is 0 flop/s', \
    csv using (column(0) + 0.19):(percent('share_feasible')) with boxes lc rgb '#E69F00' \
    title 'over what can run', \
    csv using (column(0) - 0.37):(percent('alone')):(0.36):(0) with vectors nohead lw 3 \
    lc rgb '#000000' title 'explained by the choice alone', \
    csv using (column(0) + 0.01):(percent('alone_feasible')):(0.36):(0) with vectors nohead lw 3 \
    lc rgb '#000000' notitle, \
    csv using (column(0) - 0.19):(above('share', 'alone')):(written('share')) with labels \
    offset 0,0.7 font ',10' notitle, \
    csv using (column(0) + 0.19):(above('share_feasible', 'alone_feasible')): \
    (written('share_feasible')) with labels offset 0,0.7 font ',10' notitle
}
