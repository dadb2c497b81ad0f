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
# Whether any row has something in the column.
any(name) = words(values_of(name)) > 0

pictures = "set terminal pngcairo size wide, high font face.',13' background 'white'; \
  set output output.'.png'; eval draw; \
  set terminal svg size wide, high font face.',13' background 'white'; \
  set output output.'.svg'; eval draw; \
  set terminal pdfcairo size wide / 100.0, high / 100.0 font face.',10' background 'white'; \
  set output output.'.pdf'; eval draw; unset output"
characters = "set terminal dumb size 118, 40; eval draw"
render = exists('preview') ? characters : pictures
