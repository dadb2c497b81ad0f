# Documents that a model completes word for word against how often it has read them, a line a model,
# dashed with Goldfish loss; bars from the seed with least to the one with most. Reads nothing but
# the CSV of a memorisation study. Called with style.gp's three and the heading.
plots = ARG1; csv = ARG2; output = ARG3
heading = ARG4
load plots.'/style.gp'
wide = 900
high = 560

fish = ''
times = ''
stats csv using (names = with_text(names, strcol('series')), \
  letters = more(letters, strlen(strcol('series'))), \
  fish = column('goldfish') == 1 ? with_text(fish, strcol('series')) : fish, \
  times = with_text(times, strcol('repetitions')), 0) nooutput
goldfish(i) = is_in(fish, word(names, i))
dashes(i) = goldfish(i) ? 2 : 1
# Lines of one model have one colour.
plain = words(names) - words(fish)
plainly(i) = colour((i - 1) % more(plain, 1) + 1)
beside(i) = column('place') + 0.06 * (i - (words(names) + 1) / 2.0)

set title heading font ',15' noenhanced
set xlabel 'times that a document was read'
set ylabel 'documents completed word for word, %'
set xtics ()
do for [k=1:words(times)] { set xtics add (word(times, k) (k - 1)) }
set offsets 0.3, 0.3, 0, 0
set yrange [-2:102]
set grid noxtics ytics
set key inside top left Left reverse
entries = words(names); key_letters = letters

do for [picture in pictures] {
  load canvas
  plot for [i=1:words(names)] csv using (beside(i)):(of(word(names, i), column('percent'))): \
    (number('low')):(number('high')) with yerrorlines lw 2 pt (goldfish(i) ? 6 : 7) ps 1.1 \
    dashtype dashes(i) lc rgb plainly(i) title word(names, i)
}
