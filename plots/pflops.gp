# Model Pflop/s against devices, both logarithmic, one colour per series of points: projection, ideal line
# through its smallest point, published points, grids below. Reads nothing but the CSV of a study.
# Called with style.gp's three, the heading, the fidelity and the source of what was published.
plots = ARG1; csv = ARG2; output = ARG3
heading = ARG4; fidelity = ARG5; source = ARG6
unfit = ARG7
load plots.'/style.gp'

# published flop/s, or those that the published seconds give
published(x) = given('published_flop_per_s') ? column('published_flop_per_s') \
             : given('published_batch_s') ? column('model_flop') / column('published_batch_s') \
             : NaN
# Flop/s of the slow and of the fast end of the error bar.
bar(seconds) = column('model_flop') / number(seconds) / 1e15
compared = ''
any_bar = 0
convention = ''
stats csv using (names = with_text(names, strcol('series')), \
  letters = more(letters, strlen(strcol('series'))), \
  compared = given('published_batch_s') ? with_text(compared, strcol('series')) : compared, \
  any_bar = any_bar || given('bar_low_s'), \
  convention = convention eq '' ? strcol('model_flop_convention') : convention, 0) nooutput
wide = 1150 + 9 * letters
high = 720 + 20 * words(names)

set title heading.sprintf("\nTraining throughput, %s%s\nmodel flops: %s", fidelity, \
                          words(compared) > 0 ? ', against published' : '', convention) noenhanced
if (source ne '') {
  set label 1 'published: '.source at screen 0.01, screen 0.025 noenhanced font ',10'
}
set lmargin 13
set bmargin 5.2 + 1.1 * words(names) + (source eq '' ? 0 : 1.5)
set xlabel 'devices (GPUs; GCDs on MI250X)' offset 0, (paper_width > 0 ? 0 : -1.3 - 1.05 * words(names))
set ylabel 'model Pflop/s'
# A margin around the points: automatic ranges would go on to whole decades.
stats csv using 'devices' nooutput name 'DEVICES'
stats csv using (column('flop_per_s') / 1e15) nooutput name 'RATE'
stats csv using (column('ideal_flop_per_s') / 1e15) nooutput name 'IDEAL'
stats csv using (published(0) / 1e15) nooutput name 'PUBLISHED'
lowest = exists('PUBLISHED_min') && PUBLISHED_min < RATE_min ? PUBLISHED_min : RATE_min
place = 'devices'; apart = 1.3
load plots.'/tics.gp'
# Where models grow with the devices of a curve, words below say which they are.
grows = 0
stats csv using (first = $0 == 0 ? strcol('model') : first, \
  grows = grows || strcol('model') ne first, 0) nooutput
grows = grows && strstrt(names, first) == 0
below_column = 'grid'; below_title = grows ? 'model, x.y.z.data' : 'x.y.z.data'; below_lines = names
if (paper_width > 0 && grows) {
  below_column = 'model'; below_title = 'model'; paper_words = 1
  lower = 3.8 + 1.1 * words(names)
  set xlabel offset 0, -0.4 - 1.05 * words(names)
}
load plots.'/words_below.gp'
set logscale xy
set xrange [DEVICES_min / more(1.4, room_at_ends(DEVICES_min, DEVICES_max)) : \
  DEVICES_max * more(1.4, room_at_ends(DEVICES_min, DEVICES_max))]
set yrange [lowest / 2.2 : more(IDEAL_max, RATE_max) * 1.5]
set format y '%g'
set for [power=-2:5] for [digit in '1 2 5'] ytics add (digit * 10.0 ** power)
set grid xtics ytics lc rgb '#b8b8b8' lw 1 dashtype 1
set key outside right center Left reverse samplen 3 spacing 1.3 noenhanced

do for [picture in pictures] {
  load canvas
  plot for [i=1:words(names)] csv using (column('devices')): \
    (of(word(names, i), column('ideal_flop_per_s') / 1e15)) with lines dashtype 2 lw 1.5 \
    lc rgb colour(i) title word(names, i).': ideal', \
    for [i=1:words(names)] csv using (column('devices')): \
    (of(word(names, i), column('flop_per_s') / 1e15)) with linespoints lw 2.5 pt filled(i) \
    ps 1.4 lc rgb colour(i) title word(names, i).': '.fidelity, \
    for [i=1:words(names)] csv using (column('devices')): \
    (of(word(names, i), bar('bar_high_s'))):(0):(bar('bar_low_s') - bar('bar_high_s')) \
    with vectors heads size screen 0.004,90 lw 1.2 lc rgb colour(i) \
    title (any_bar && i == words(names) ? '80 % bars' : ''), \
    for [i=1:words(names)] csv using (column('devices')): \
    (of(word(names, i), published(0) / 1e15)) with points pt open(i) ps 2.2 lw 2 \
    lc rgb colour(i) title (is_in(compared, word(names, i)) ? word(names, i).': published' : '')
}
