# Seconds of one batch, stacked into compute and exposed communication along each axis, one bar per
# point with its grid, machines side by side; published seconds as points. Reads nothing but the CSV of a study.
# Called with style.gp's three, the heading, the fidelity and the source of what was published.
plots = ARG1; csv = ARG2; output = ARG3
heading = ARG4; fidelity = ARG5; source = ARG6
unfit = ARG7
load plots.'/style.gp'
load plots.'/parts.gp'

machines = ''
systems = ''
rows = 0
widest = 0
longest = 0
any_bar = 0
stats csv using (machines = with_text(machines, strcol('machine')), rows = rows + 1, \
  systems = with_text(systems, strcol('system')), widest = more(widest, strlen(strcol('model'))), \
  any_bar = any_bar || given('bar_low_s'), 0) nooutput
# Systems, where there are several, and labels of sweeps slant below the grids, and need room.
called(_) = words(systems) < 2 ? strcol('label') : strcol('label') eq '' ? strcol('system') \
          : strcol('system').', '.strcol('label')
stats csv using (longest = more(longest, strlen(grid(strcol('grid')))), \
  letters = more(letters, strlen(called(0))), 0) nooutput
room = more(more(9.5 * widest, 8.2 * longest), 88)
wide = more(room * (rows + words(machines) + 1) + legend + 160, 900)
high = 750 + 4 * letters
count = words(parts)

# Bars stand at 0, 1, 2, ..., with a gap before each further machine.
index_of(machine) = int(sum [i=1:words(machines)] (word(machines, i) eq machine ? i - 1 : 0))
gap = 0.8
place(row) = row + gap * index_of(strcol('machine'))
# Where batches differ by more than a power of ten a bar is the whole batch, with its seconds above.
stats csv using (column('batch_s')) nooutput name 'BATCH'
far = BATCH_max > 10 * BATCH_min
unit(seconds) = far ? 100 * seconds / column('batch_s') : seconds
upto(k) = unit(sum [i=1:k] column(word(parts, i)))

set title heading.sprintf("\nWhere the seconds of one batch go, %s", fidelity) noenhanced offset 0, 0.8
if (source ne '') {
  set label 100 'published: '.source at screen 0.01, screen 0.025 noenhanced font ',10'
}
set bmargin (source eq '' ? 6.5 : 8) + (letters > 0 ? 1.5 + 0.2 * letters : 0)
set tmargin 6
upper = 2.4
lower = letters > 0 ? 5 + 0.25 * letters : 4.2
set ylabel (far ? 'share of the batch, %' : 'seconds per batch')
set xlabel 'devices, model, grid (x.y.z.data)'.(letters == 0 ? '' : words(systems) < 2 ? ', label' : ', system') offset 0, (letters > 0 ? -3 - 0.2 * letters : -1.6)
if (paper_width > 0) { set xlabel 'devices, model' offset 0, -0.8 }
# In a column of a paper words that would write over their neighbours stand upright, labels with them.
tic_letters = 0
stats csv using (tic_letters = more(tic_letters, strlen(short(strcol('model')))), 0) nooutput
upright = paper_width > 0 && (letters > 0 || \
  8.4 * more(tic_letters, 5) > (143 * paper_width - 110) / (rows + gap * words(machines) + 0.6))
tic(_) = strcol('devices').(upright ? ' ' : "\n").short(strcol('model')). \
  (upright && called(0) ne '' ? ', '.called(0) : '')
if (upright) {
  lower = 2 + 0.42 * (tic_letters + letters + 8)
  set xlabel ''
}
set yrange [0:*]
set offsets 0.3, 0.3, graph 0.06, 0
set style fill solid border rgb 'white'
set boxwidth 0.8
set xtics scale 0 noenhanced font ',11'
if (upright) { set xtics rotate by 90 right }
set grid noxtics
set grid back
set border 2
set tics nomirror
set key outside right center Left reverse invert samplen 1.5 spacing 1.4

array first[words(machines)]
array last[words(machines)]
do for [i=1:words(machines)] {
  stats csv using (strcol('machine') eq word(machines, i) ? $0 : NaN) nooutput
  first[i] = STATS_min + gap * (i - 1)
  last[i] = STATS_max + gap * (i - 1)
}
do for [i=1:words(machines)] {
  set label i word(machines, i) at first (first[i] + last[i]) / 2.0, graph 1.02 center \
    font ',14' noenhanced
}

# The tallest sum is drawn first, so that each shorter one covers it from below.
do for [picture in pictures] {
  load canvas
  plot for [j=0:count-1] csv using (place($0)):(upto(count - j)):xtic( \
    tic(0)) with boxes \
    lc rgb word(shades, count - j) title word(titles, count - j), \
    csv using (place($0)):(far ? NaN : number('bar_low_s')):(0): \
    (number('bar_high_s') - number('bar_low_s')) with vectors heads size screen 0.004,90 lw 1.2 \
    lc rgb dark title (any_bar && !far ? '80 % bar' : ''), \
    csv using (place($0)):(unit(column('published_batch_s'))) with points pt 7 ps 1.6 \
    lc rgb 'white' notitle, \
    csv using (place($0)):(unit(column('published_batch_s'))) with points pt 7 ps 1.1 \
    lc rgb 'black' title (source ne '' ? 'published' : ''), \
    csv using (place($0)):(far ? 100 : NaN):(sprintf('%.3g s', column('batch_s'))) with labels \
    offset 0, 0.6 font ',10' tc rgb dark notitle, \
    csv using (place($0)):(0):(paper_width > 0 ? '' : grid(strcol('grid'))) with labels noenhanced offset 0, -3.1 \
    font ',9' tc rgb dark notitle, \
    csv using (place($0)):(0):(upright ? '' : called(0)) with labels noenhanced rotate by -25 left \
    offset -2.5, -4.3 font ',9' tc rgb dark notitle
}
