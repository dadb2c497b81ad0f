# Documents that a model completes word for word against how often it has read them, a line a model,
# dashed with Goldfish loss; bars from the seed with least to the one with most. Reads nothing but
# the CSV of a memorisation study. Set before: style, csv (path), output (path without ending), heading.
load style
wide = 900
high = 560

set datafile nocolumnheaders
count = int(system(sprintf("tail -n +2 '%s' | sed 's/\",.*//' | sort -u | wc -l", csv)))
name(i) = system(sprintf("tail -n +2 '%s' | sed 's/\",.*//; s/^\"//' | awk '!seen[$0]++' | sed -n %dp", csv, i))
goldfish(i) = int(system(sprintf("grep -F '\"%s\",' '%s' | head -1 | sed 's/.*\",//' | cut -d, -f1", name(i), csv)))
plain = 0
do for [i=1:count] { plain = plain + (goldfish(i) == 0) }
plainly(i) = word(colours, (i - 1) % plain + 1)
dashes(i) = goldfish(i) ? 2 : 1
rows(i) = sprintf("< grep -F '\"%s\",' '%s' | sed 's/.*\",//'", name(i), csv)

set title heading font ',15' noenhanced
set xlabel 'times that a document was read'
set ylabel 'documents completed word for word, %'
set yrange [-2:102]
set offsets 0.3, 0.3, 0, 0
set grid noxtics ytics
set key inside top left Left reverse

draw = "plot rows(1) using 2:(-50):xtic(3) with points notitle, \
  for [i=1:count] rows(i) using (column(2) + 0.06 * (i - (count + 1) / 2.0)):4:5:6 \
  with yerrorlines lw 2 pt (goldfish(i) ? 6 : 7) ps 1.1 dashtype dashes(i) lc rgb plainly(i) title name(i)"

eval render
