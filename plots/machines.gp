# One model on several machines, or other points side by side, with error bar and grid: a bar each, or
# where they are far apart a dot each, as a logarithmic axis has no zero for bars to stand on. Reads
# nothing but machines.csv. Set before: style, csv, output, heading, fidelity, what (the y axis).
load style
grids = short_grids(0)
set title heading.', '.fidelity noenhanced
set ylabel what
set grid noxtics
set boxwidth 0.7
set xtics scale 0 rotate by -35 left noenhanced
number(name) = strcol(name) ne '' ? column(name) : NaN
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
mark = far ? 'with points pt 7 ps 2' : 'with boxes'
set xrange [-0.6 : VALUE_records - 0.4]
unset key
# Of what stands below the bars, slanting.
letters = longest('bar') + 2 + longest('grid')
set rmargin 4 + 0.7 * letters
set bmargin 2 + 0.3 * letters
high = 550 + 5.4 * letters
wide = 90 * VALUE_records + 110 + 6.5 * letters
wide = wide < 800 ? 800 : wide
draw = "plot csv using 0:(column('value')):xtic(strcol('bar').'  '.word(grids, int($0) + 1)) ".mark." lc rgb colour(1) notitle, \
  csv using 0:(number('low')):(0):(number('high') - number('low')) with vectors heads size screen 0.004,90 \
  lw 1.5 lc rgb dark notitle, \
  csv using ($0 - 0.02):(column('value')):(sprintf('%.3g', column('value'))) with labels right offset -0.3, 0.7 font ',10' notitle"
eval render
