# Every grid of a point in the order of its estimate: estimated and simulated seconds; the grid that is
# the fastest simulated, and the first one by the paper's own model. A panel for each point. Reads
# nothing but ranks.csv. Called with style.gp's three and the heading.
plots = ARG1; csv = ARG2; output = ARG3
heading = ARG4
load plots.'/style.gp'

stats csv using (names = with_text(names, strcol('series')), 0) nooutput
stats csv using (column('simulated_s')) nooutput name 'SECONDS'
set yrange [SECONDS_min / 1.5 : SECONDS_max * 1.5]
set xrange [-2 : *]
wide = 760 * words(names)
high = 700
set xlabel 'grids, in the order of the estimate'
set ylabel 'seconds per batch'
set logscale y
set format y '%g'
set key outside bottom center horizontal noenhanced
set bmargin 10
# In a column of a paper the panels stand one below the other.
entries = 0.01; tall = 0.75 * words(names); upper = 2.5
set for [power=-2:5] for [digit in '1 2 5'] ytics add (digit * 10.0 ** power)

# The seconds of a panel's row in which the column is 1.
where(name, mark) = strcol(mark) eq '1' ? of(name, number('simulated_s')) : NaN
# Its grid; no row has it where that grid was not simulated.
array fastest[words(names)]
array paper[words(names)]
do for [i=1:words(names)] {
  fastest[i] = ''
  paper[i] = ''
  stats csv using (strcol('series') eq word(names, i) ? ( \
    fastest[i] = strcol('chosen') eq '1' ? ': '.grid(strcol('grid')) : fastest[i], \
    paper[i] = strcol('paper_first') eq '1' ? ': '.grid(strcol('grid')) : paper[i], 0) : 0) nooutput
}

# Long names on two lines.
comma(text) = strstrt(text, ', ')
broken(text) = strlen(text) < 45 || comma(text) == 0 ? text \
  : text[:comma(text)]."\n".text[comma(text) + 2:]

do for [picture in pictures] {
  load canvas
  if (paper_width > 0) {
    set key inside top left vertical Left reverse samplen 1 spacing 1
    set lmargin 8; set rmargin 2; set tmargin 3.2; set bmargin 3.4
    set yrange [SECONDS_min / 1.3 : SECONDS_max * 3]
    set multiplot layout words(names),1
  } else {
    set multiplot layout 1,words(names) title heading font ',15' noenhanced
  }
  do for [i=1:words(names)] {
    set title paper_width > 0 ? broken(word(names, i)) : word(names, i) noenhanced
    plot csv using (number('rank')):(of(word(names, i), number('simulated_s'))) with points \
      pt 7 ps 0.8 lc rgb colour(2) title 'simulated', \
      csv using (number('rank')):(of(word(names, i), number('estimated_s'))) with lines lw 2 \
      lc rgb colour(1) title 'estimated', \
      csv using (number('rank')):(where(word(names, i), 'chosen')) with points pt 6 ps 2.4 lw 2 \
      lc rgb dark title 'fastest simulated'.fastest[i], \
      csv using (number('rank')):(where(word(names, i), 'paper_first')) with points pt 4 ps 2.4 \
      lw 2 lc rgb colour(3) title "first by the paper's model".paper[i]
  }
  unset multiplot
}
