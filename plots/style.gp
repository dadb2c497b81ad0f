# What all plots share: fonts, colours, grid, and where pictures go. Set before: output (path without
# ending); or preview, for a drawing in characters on standard output. A plot sets wide and high
# (pixels) and draw (its commands), and ends with `eval render`.
set datafile separator ','
set datafile columnheaders
set datafile missing ''

face = 'DejaVu Sans'
wide = 1200
high = 750
# Okabe and Ito's colours, told apart by colour-blind readers, too; with shapes that differ as well.
colours = '#0072B2 #D55E00 #009E73 #CC79A7 #E69F00 #56B4E9 #000000 #999999'
colour(i) = word(colours, (i - 1) % words(colours) + 1)
filled(i) = word('7 5 9 13 11 15', (i - 1) % 6 + 1) + 0
open(i) = word('6 4 8 12 10 14', (i - 1) % 6 + 1) + 0
dark = '#404040'

set grid xtics ytics back lc rgb '#b8b8b8' lw 1 dashtype 1
set border 3
set tics nomirror
set key outside right center Left reverse samplen 2.5 spacing 1.3 noenhanced
set style fill solid border rgb 'white'

# The different values of a column of the CSV, in their order, each between double quotes.
values_of(name) = system(sprintf("awk -F, 'NR == 1 {for (i = 1; i <= NF; ++i) c[$i] = i; next} \
  $c[\"%s\"] != \"\" && !seen[$c[\"%s\"]]++ {printf \"\\\"%%s\\\" \", $c[\"%s\"]}' '%s'", name, name, name, csv))
# The rows of a series as a file of their own: a line breaks where another series is between them.
rows_of(name) = sprintf("< awk -F, 'NR == 1 {for (i = 1; i <= NF; ++i) c[$i] = i} \
  NR == 1 || $c[\"series\"] == \"%s\"' '%s'", name, csv)
# The number of characters of the longest value of a column.
longest(name) = system(sprintf("awk -F, 'NR == 1 {for (i = 1; i <= NF; ++i) c[$i] = i; next} \
  length($c[\"%s\"]) > most {most = length($c[\"%s\"])} END {print most + 0}' '%s'", name, name, csv)) + 0
# The series that have something in the column, each between double quotes.
series_with(name) = system(sprintf("awk -F, 'NR == 1 {for (i = 1; i <= NF; ++i) c[$i] = i; next} \
  $c[\"%s\"] != \"\" && !seen[$c[\"series\"]]++ {printf \"\\\"%%s\\\" \", $c[\"series\"]}' '%s'", name, csv))
# Commands that write words below the x axis, a line for each value of the column series, by
# words_below.awk: of the column word, as form says, or process grids if that is empty.
words_below(series, x, word, form, title) = system(sprintf("awk -v colours='%s' -v series='%s' \
  -v x='%s' -v word='%s' -v form='%s' -v title='%s' -f '%s' '%s'", colours, series, x, word, form, \
  title, style[:strlen(style) - strlen('style.gp')].'words_below.awk', csv))
# The process grids of all rows, each between double quotes.
short_grids(_) = words_below('', '', 'grid', '', '')
# What those commands set is gone again.
no_words_below = "do for [i=500:999] { unset label i }"
# Whether any row has something in the column.
any(name) = words(values_of(name)) > 0

pictures = "set terminal pngcairo noenhanced size wide, high font face.',13' background 'white'; \
  set output output.'.png'; eval draw; \
  set terminal svg noenhanced size wide, high font face.',13' background 'white'; \
  set output output.'.svg'; eval draw; \
  set terminal pdfcairo noenhanced size wide / 100.0, high / 100.0 font face.',10' background 'white'; \
  set output output.'.pdf'; eval draw; unset output"
characters = "set terminal dumb noenhanced size 118, 40; eval draw"
render = exists('preview') ? characters : pictures

# Sets parts (columns), titles and shades (colours) of what a batch's seconds consist of: those parts
# that some row has for more than a millisecond, or a thousandth of the longest compute if that is less.
all_parts = '"compute_s|compute|#999999" "exposed_x_s|exposed, x|#0072B2" "exposed_y_s|exposed, y|#56B4E9" \
  "exposed_z_s|exposed, z|#E69F00" "exposed_data_s|exposed, data|#D55E00" "exposed_pipe_s|messages|#009E73" \
  "bubble_s|bubble|#F0E442" "other_s|other|#CC79A7"'
find_parts = "stats csv using (column('compute_s')) nooutput name 'COMPUTE'; \
  least = 1e-3 * (COMPUTE_max < 1 ? COMPUTE_max : 1); \
  parts = ''; titles = ''; shades = ''; do for [part in all_parts] { \
  first = strstrt(part, '|'); last = strstrt(part, '|#'); \
  stats csv using (column(part[:first - 1])) nooutput name 'PART'; \
  if (PART_max > least) { parts = parts.' '.part[:first - 1]; \
    titles = titles.' \"'.part[first + 1:last - 1].'\"'; shades = shades.' '.part[last + 1:] } }"
