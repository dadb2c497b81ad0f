# Seconds of one batch of training systems, stacked into compute, exposed communication, messages
# between stages, the bubble and the rest, one bar a system with its grid, points side by side; what was
# published as points. Reads nothing but the CSV of a study. Set before: style, csv (path), output (path
# without ending), heading, fidelity, source.
load style

eval find_parts
count = words(parts)
upto(k) = sum [i=1:k] column(word(parts, i))

# Bars stand one beside the other, with a gap before each further point: the places of all rows,
# then the middle and the name of each group.
by_header = "awk -F, 'NR == 1 {for (i = 1; i <= NF; ++i) c[$i] = i; next} \
  {key = $c[\"model\"] \"|\" $c[\"devices\"] \"|\" $c[\"machine\"] \"|\" $c[\"given\"]; \
   if (NR > 2 && key != last) {place += 1.4; ++group}; "
places = system(by_header.sprintf("print place + 0; place += 1; last = key}' '%s'", csv))
groups = system(by_header.sprintf("sum[group + 0] += place; rows[group + 0] += 1; \
  names[group + 0] = key; place += 1; last = key} \
  END {for (i = 0; i <= group; ++i) print sum[i] / rows[i] \"|\" names[i]}' '%s'", csv))
place(row) = word(places, int(row) + 1) + 0
bars = word(places, words(places)) + 1
field(text, n) = system(sprintf("printf '%%s' '%s' | cut -d'|' -f%d", text, n))
any_given = system(sprintf("awk -F, 'NR == 1 {for (i = 1; i <= NF; ++i) c[$i] = i; next} $c[\"given\"] == 1 {n = 1} END {print n + 0}' '%s'", csv)) + 0

set label 99 heading.', '.fidelity at screen 0.5, screen 0.97 center font ',15' noenhanced
do for [i=1:words(groups)] {
  group = word(groups, i)
  set label i field(group, 2)."\n".field(group, 3).' of '.field(group, 4). \
    (any_given ? (field(group, 5) eq '1' ? "\ngiven" : "\nbest") : '') \
    at first (field(group, 1) + 0), graph 1.09 center font ',11' noenhanced
}

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

grids = short_grids(0)
if (any('published_batch_s')) {
  set label 98 'published: '.source at screen 0.01, screen 0.025 noenhanced font ',10'
}
# Ends of the error bar, in seconds.
bar(seconds) = strcol(seconds) ne '' ? column(seconds) : NaN
any_bar = system(sprintf("awk -F, 'NR == 1 {for (i = 1; i <= NF; ++i) c[$i] = i; next} \
  $c[\"bar_low_s\"] != \"\" {n = 1} END {print n + 0}' '%s'", csv)) + 0

# The tallest sum is drawn first, so that each shorter one covers it from below.
draw = "plot for [j=0:count-1] csv using (place($0)):(upto(count - j)):xtic(strcol('system').'  '.word(grids, int($0) + 1)) \
  with boxes lc rgb word(shades, count - j) title word(titles, count - j), \
  csv using (place($0)):(bar('bar_low_s')):(0):(bar('bar_high_s') - bar('bar_low_s')) with vectors \
  heads size screen 0.004,90 lw 1.2 lc rgb '#404040' title (any_bar ? '80 % bar' : ''), \
  csv using (place($0)):(bar('published_batch_s')) with points pt 7 ps 1.6 lc rgb 'white' notitle, \
  csv using (place($0)):(bar('published_batch_s')) with points pt 7 ps 1.1 lc rgb 'black' \
  title (any('published_batch_s') ? 'published' : '')"

high = 700
wide = bars * 60 + 320 < 800 ? 800 : bars * 60 + 320
eval render
