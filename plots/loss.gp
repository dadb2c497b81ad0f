# Training and validation loss against steps, with the loss of guessing words by their frequency.
# Reads nothing but the CSV of a training run. Set before: csv (path), output (path without ending).
set datafile separator ','
set datafile columnheaders
set datafile missing ''

# Okabe and Ito's colours, told apart by colour-blind readers, too.
set title 'Loss of a training run'
set xlabel 'step'
set ylabel 'loss, nats a word'
set y2label 'bits a word'
set grid xtics ytics lc rgb '#b8b8b8' lw 1 dashtype 1
set key top right Left reverse samplen 3 spacing 1.3
set border 11
set tics nomirror
set format y2 '%g'
set yrange [0:*]
set link y2 via y / log(2) inverse y * log(2)
set y2tics 1
set ytics 1

stats csv using (column('unigram_nats')) nooutput name 'ENTROPY'
stats csv using (column('step')) nooutput name 'STEP'

draw = "plot csv using (column('step')):(column('training_loss')) with lines lw 1 \
  lc rgb '#56B4E9' title 'training', \
  csv using (column('step')):(column('validation_loss')) with linespoints lw 2.5 pt 7 ps 0.9 \
  lc rgb '#D55E00' title 'validation', \
  [STEP_min:STEP_max] ENTROPY_mean with lines dashtype 2 lw 1.5 lc rgb '#555555' \
  title sprintf('guessing by frequency: %.2f nats', ENTROPY_mean)"

set terminal pngcairo size 1000, 600 font 'DejaVu Sans,13' background 'white'
set output output.'.png'
eval draw
set terminal svg size 1000, 600 font 'DejaVu Sans,13' background 'white'
set output output.'.svg'
eval draw
