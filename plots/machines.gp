# One model on several machines, or other points side by side, with error bar and grid: a bar each, or
# where they are far apart a dot each, as a logarithmic axis has no zero for bars to stand on. Reads
# nothing but machines.csv. Called with style.gp's three, the heading, the fidelity and what the y axis is.
plots = ARG1; csv = ARG2; output = ARG3
heading = ARG4; fidelity = ARG5; what = ARG6
unfit = ARG7
load plots.'/style.gp'

grids = 0
stats csv using (letters = more(letters, strlen(strcol('bar'))), \
  grids = more(grids, strlen(strcol('grid'))), 0) nooutput
set title heading.', '.fidelity noenhanced
set ylabel what noenhanced
set grid noxtics
set boxwidth 0.7
set xtics scale 0 rotate by -35 left noenhanced
stats csv using (column('value')) nooutput name 'VALUE'
stats csv using (number('high')) nooutput name 'HIGH'
top = HIGH_max > VALUE_max ? HIGH_max : VALUE_max
far = VALUE_max > 20 * VALUE_min
if (far) {
  set logscale y
  set yrange [VALUE_min / 2 : top * 1.5]
  set format y '%g'
  set for [power=-2:5] for [digit in '1 2 5'] ytics add (digit * 10.0 ** power)
} else {
  set yrange [0 : top * 1.1]
}
set xrange [-0.6 : VALUE_records - 0.4]
unset key
# Of what stands below the bars, slanting.
letters = letters + 2 + grids
set rmargin 4 + 0.7 * letters
set bmargin 2 + 0.3 * letters
high = 550 + 5.4 * letters
wide = more(90 * VALUE_records + 110 + 6.5 * letters, 800)

entries = 0.5; upper = 1; lower = 2 + 0.47 * letters
if (paper_width > 0) { set xtics rotate by 90 right }
bar(_) = strcol('bar').'  '.grid(strcol('grid'))
do for [picture in pictures] {
  load canvas
  # Boxes or points, whose tics these are.
  plot csv using 0:(far ? NaN : column('value')):xtic(bar(0)) with boxes lc rgb colour(1) notitle, \
    csv using 0:(far ? column('value') : NaN) with points pt 7 ps 2 lc rgb colour(1) notitle, \
    csv using 0:(number('low')):(0):(number('high') - number('low')) with vectors heads \
    size screen 0.004,90 lw 1.5 lc rgb dark notitle, \
    csv using ($0 - 0.02):(column('value')):(sprintf('%.3g', column('value'))) with labels right \
    offset -0.3, 0.7 font ',10' notitle
}
