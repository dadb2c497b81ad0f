# Seconds of one batch of training systems, stacked into compute, exposed communication, messages
# between stages, the bubble and the rest, one bar a system with its grid, points side by side; what was
# published as points. Reads nothing but the CSV of a study. Called with style.gp's three, the heading,
# the fidelity and the source of what was published.
plots = ARG1; csv = ARG2; output = ARG3
heading = ARG4; fidelity = ARG5; source = ARG6
unfit = ARG7
load plots.'/style.gp'
load plots.'/parts.gp'

count = words(parts)
upto(k) = sum [i=1:k] column(word(parts, i))
stats csv using 0 nooutput
rows = int(STATS_records)
any_given = 0
any_bar = 0
any_published = 0
stats csv using (any_given = any_given || strcol('given') eq '1', \
  any_bar = any_bar || given('bar_low_s'), \
  any_published = any_published || given('published_batch_s'), 0) nooutput

# Bars stand one beside the other, with a gap before each further point: the places of all rows,
# then those of the first and the last, and the name, of each group.
array places[rows]
array first[rows]
array last[rows]
array about[rows]
groups = 0
bars = -1
before = ''
key(_) = strcol('model').'|'.strcol('devices').'|'.strcol('machine').'|'.strcol('given')
title(_) = strcol('model')."\n".strcol('devices').' of '.strcol('machine'). \
  (any_given ? (strcol('given') eq '1' ? "\ngiven" : "\nbest") : '')
about_bar(_) = strcol('model').' '.strcol('devices').' of '.strcol('machine'). \
  (any_given ? (strcol('given') eq '1' ? ' given' : ' best') : '').'  '
bar_words(_) = (above ? '' : about_bar(0)).(strcol('system') eq '-' ? '' : strcol('system').'  '). \
  grid(strcol('grid'))
opens(_) = groups == 0 || key(0) ne before
stats csv using (bars = bars + (opens(0) && groups > 0 ? 2.4 : 1), places[int($0) + 1] = bars, \
  opens(0) ? (groups = groups + 1, first[groups] = bars, about[groups] = title(0)) : 0, \
  last[groups] = bars, before = key(0), 0) nooutput
bars = bars + 1
# What the points are stands above them; in a column of a paper, where there are several, with the bars.
above = paper_width == 0 || groups == 1
nearest = bars
do for [i=2:groups] {
  apart = (first[i] + last[i] - first[i - 1] - last[i - 1]) / 2.0
  nearest = apart < nearest ? apart : nearest
}
letters = 0
longest = 0
stats csv using (letters = more(letters, strlen(strcol('devices').' of '.strcol('machine'))), \
  letters = more(letters, strlen(strcol('model'))), longest = more(longest, strlen(bar_words(0))), 0) \
  nooutput
do for [i=1:above ? groups : 0] {
  set label i about[i] at first (first[i] + last[i]) / 2.0, graph 1.09 center font ',11' noenhanced
}
set label groups + 1 heading.', '.fidelity at screen 0.5, screen 0.97 center font ',15' noenhanced

set tmargin 6
set ylabel 'seconds per batch'
set yrange [0:*]
set xrange [-0.8:bars - 0.2]
set style fill solid border rgb 'white'
set boxwidth 0.8
set xtics scale 0 rotate by -40 left font ',10' noenhanced
set grid noxtics
set grid back
set border 2
set tics nomirror
set bmargin 11
set key outside right center Left reverse invert samplen 1.5 spacing 1.4
if (any_published) {
  set label groups + 2 'published: '.source at screen 0.01, screen 0.025 noenhanced font ',10'
}
if (paper_width > 0) { unset label groups + 1; set xtics rotate by 90 right }
upper = 3
lower = 3 + 0.47 * longest
high = 700
wide = more(bars * more(60, 9.2 * letters / nearest) + 100 + legend, 800)

# The tallest sum is drawn first, so that each shorter one covers it from below.
do for [picture in pictures] {
  load canvas
  plot for [j=0:count-1] csv using (places[int($0) + 1]):(upto(count - j)): \
    xtic(bar_words(0)) \
    with boxes lc rgb word(shades, count - j) title word(titles, count - j), \
    csv using (places[int($0) + 1]):(number('bar_low_s')):(0): \
    (number('bar_high_s') - number('bar_low_s')) with vectors \
    heads size screen 0.004,90 lw 1.2 lc rgb dark title (any_bar ? '80 % bar' : ''), \
    csv using (places[int($0) + 1]):(number('published_batch_s')) with points pt 7 ps 1.6 \
    lc rgb 'white' notitle, \
    csv using (places[int($0) + 1]):(number('published_batch_s')) with points pt 7 ps 1.1 \
    lc rgb 'black' title (any_published ? 'published' : '')
}
