# Training and validation loss against steps, with the loss of guessing words by their frequency.
# Reads nothing but the CSV of a training run. Called with style.gp's three, the model and the data
# (what the title says), and what a loss is of: byte or token.
plots = ARG1; csv = ARG2; output = ARG3
model = ARG4; data = ARG5; unit = ARG6
load plots.'/style.gp'
wide = 1000
high = 600

stats csv using (column('unigram_nats')) nooutput name 'ENTROPY'
stats csv using (column('step')) nooutput name 'STEP'
stats csv using (column('training_loss')) nooutput name 'LOSS'

set title 'Loss of '.model."\n".data noenhanced
set xlabel 'step'
set ylabel 'loss, nats a '.unit noenhanced
set y2label 'bits a '.unit noenhanced
set grid xtics ytics lc rgb '#b8b8b8' lw 1 dashtype 1
set key outside bottom center horizontal samplen 3
set border 11
set tics nomirror
set format x '%.0f'
set format y2 '%g'
# Room for the dashed line and its label, which are not to lie on the frame.
top = more(LOSS_max, ENTROPY_max)
set yrange [0:1.08 * top]
set link y2 via y / log(2) inverse y * log(2)
set y2tics 1
set ytics 1
# Steps are whole numbers, in the shortest of runs, too.
if (STEP_max - STEP_min < 10) { set xtics 1 }
if (STEP_max == STEP_min) { set xrange [STEP_min - 1:STEP_max + 1] }
# A run that went on with other data has another entropy: the label is that of the last.
last = 0
stats csv using (last = column('unigram_nats'), 0) nooutput
set label 1 sprintf('guessing by frequency: %.2f nats', last) \
  at graph 0.985, first last right offset 0, 0.6 tc rgb '#555555'

# Where runs went on from a checkpoint.
resumes = 0
stats csv using (resumes = resumes + column('resumed'), 0) nooutput

do for [picture in pictures] {
  load canvas
  plot csv using (column('resumed') == 1 ? column('step') : NaN):(0):(0):(top) with vectors nohead \
    lw 1.2 dashtype 3 lc rgb dark title (resumes > 0 ? 'resumed' : ''), \
    csv using (column('step')):(column('training_loss')) with lines lw 1 \
    lc rgb '#8CC4E8' title 'training', \
    csv using (column('step')):(column('validation_loss')) with linespoints lw 2.5 pt 7 ps 0.9 \
    lc rgb '#000000' title 'validation', \
    csv using (column('step')):(column('unigram_nats')) with lines dashtype 2 lw 1.5 lc rgb '#555555' notitle
}
