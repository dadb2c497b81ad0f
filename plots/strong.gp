# Strong scaling: days of a run, or seconds of a batch, against devices beside the ideal line from the
# series' fewest devices, and the efficiency left; below, the grids chosen and the speed-up. Reads
# nothing but strong.csv. Called with style.gp's three, the heading, the fidelity, the source of what
# was published and what the y axis is.
plots = ARG1; csv = ARG2; output = ARG3
heading = ARG4; fidelity = ARG5; source = ARG6; what = ARG7
unfit = ARG8
load plots.'/style.gp'

compared = ''
any_bar = 0
# Whether models grow with the devices of a curve: then words below say which they are.
stats csv using (strstrt(strcol('series'), strcol('model')) == 0) nooutput name 'GROWS'
grows = GROWS_max > 0
stats csv using (names = with_text(names, strcol('series')), \
  letters = more(letters, strlen(strcol('series'))), \
  compared = given('published') ? with_text(compared, strcol('series')) : compared, \
  any_bar = any_bar || given('low'), 0) nooutput
# Two panels, and a legend as wide as its words.
wide = 1350 + 10 * (letters + (words(compared) > 0 ? 11 : 0))
at(x) = x * 1600.0 / wide
rows = words(names)
high = 620 + 20 * rows

stats csv using (column('devices')) nooutput name 'DEVICES'
stats csv using (column('time')) nooutput name 'TIME'
stats csv using (column('efficiency')) nooutput name 'SHARE'
top_share = more(SHARE_max, 1)
stats csv using (given('low') ? (top_share = more(top_share, column('ideal') / number('low'))) : 0) \
  nooutput
place = 'devices'; apart = 1.5
load plots.'/tics.gp'
set xrange [DEVICES_min / more(1.3, room_at_ends(DEVICES_min, DEVICES_max)) : \
  DEVICES_max * more(1.3, room_at_ends(DEVICES_min, DEVICES_max))]
set logscale x 2
# Of the engine itself, as points that are measured have it.
measured = strstrt(names, 'measured"') > 0
set xlabel (measured ? 'ranks' : 'devices (GPUs; GCDs on MI250X)') offset 0, -1.3 - 1.05 * rows
set bmargin 5.2 + 1.1 * rows + (words(compared) > 0 ? 1.5 : 0)
below_lines = names
tall = 1.15

do for [picture in pictures] {
  load canvas
  # Side by side, or in a column of a paper one below the other, with the legend above.
  if (paper_width > 0) {
    set multiplot
    set lmargin at screen 0.17
    set rmargin at screen 0.97
    set tmargin at screen (1 - 22.0 * (words(names) + 2.5) / high)
    set bmargin at screen 0.52
    set xlabel ''
  } else {
    set multiplot layout 1,2 title heading.', '.fidelity font ',15' noenhanced
    set lmargin at screen at(0.085)
    set rmargin at screen at(0.4)
  }
  unset key
  # Written with the first panel only: two over one another look bold.
  if (words(compared) > 0) {
    set label 1 'published: '.source at screen 0.01, screen 0.02 noenhanced font ',10'
  }
  below_column = 'grid'; below_title = grows ? 'model, x.y.z.data' : 'x.y.z.data'
  if (paper_width == 0) { load plots.'/words_below.gp' }
  set logscale y
  set format y '%g'
  set ylabel what noenhanced
  set yrange [TIME_min / 2 : TIME_max * 2]
  set for [power=-2:5] for [digit in '1 2 5'] ytics add (digit * 10.0 ** power)
  plot for [i=1:words(names)] csv using (column('devices')):(of(word(names, i), column('ideal'))) \
    with lines dashtype 2 lw 1.5 lc rgb colour(i) notitle, \
    for [i=1:words(names)] csv using (column('devices')):(of(word(names, i), number('low'))):(0): \
    (number('high') - number('low')) with vectors heads size screen 0.004,90 lw 1.2 lc rgb colour(i) notitle, \
    for [i=1:words(names)] csv using (column('devices')):(of(word(names, i), column('time'))) \
    with linespoints lw 2.5 pt filled(i) ps 1.3 lc rgb colour(i) notitle, \
    for [i=1:words(names)] csv using (column('devices')):(of(word(names, i), number('published'))) \
    with points pt open(i) ps 2.2 lw 2 lc rgb colour(i) notitle
  # The legend of both.
  unset label 1
  unset label 900
  below_column = 'speedup'; below_title = 'speed-up'
  if (paper_width > 0) {
    set tmargin at screen 0.42
    set bmargin at screen (grows ? 0.12 + 0.02 * rows : 0.12)
    set xlabel (measured ? 'ranks' : 'devices (GPUs; GCDs on MI250X)') \
      offset 0, (grows ? -0.4 - 1.05 * rows : 0)
    if (grows) {
      below_column = 'model'; below_title = 'model'
      load plots.'/words_below.gp'
    }
    set key at screen 0.5, screen 0.99 top center Left reverse samplen 2 spacing 1.1 noenhanced
  } else {
    load plots.'/words_below.gp'
    set lmargin at screen at(0.475)
    set rmargin at screen at(0.775)
    set key at screen at(0.79), screen 0.7 left top Left reverse samplen 2.5 spacing 1.3 noenhanced
  }
  unset logscale y
  unset ytics
  set ytics nomirror
  set ylabel 'efficiency, %'
  set yrange [0 : 105 * top_share]
  # Seconds of the slow and of the fast end of a bar, as shares of the ideal ones.
  plot for [i=1:words(names)] csv using (column('devices')): \
    (of(word(names, i), 100 * column('ideal') / number('high'))):(0): \
    (100 * column('ideal') / number('low') - 100 * column('ideal') / number('high')) \
    with vectors heads size screen 0.004,90 lw 1.2 lc rgb colour(i) notitle, \
    for [i=1:words(names)] csv using (column('devices')): \
    (of(word(names, i), 100 * column('efficiency'))) \
    with linespoints lw 2.5 pt filled(i) ps 1.3 lc rgb colour(i) title word(names, i), \
    100 with lines dashtype 2 lw 1.5 lc rgb dark title 'ideal', \
    for [i=1:words(names)] NaN with points pt open(i) ps 2.2 lw 2 lc rgb colour(i) \
    title (is_in(compared, word(names, i)) ? word(names, i).', published' : ''), \
    NaN with vectors heads size screen 0.004,90 lw 1.2 lc rgb dark \
    title (any_bar ? (measured ? 'quartiles; simulated: 80 %' : '80 % bars') : '')
  unset multiplot
}
