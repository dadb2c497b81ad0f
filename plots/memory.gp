# Memory of a device over one step, stacked by role. Reads nothing but the CSV of `fourfold project
# --memory-figure`. Called with style.gp's three and the heading.
plots = ARG1; csv = ARG2; output = ARG3
heading = ARG4
load plots.'/style.gp'
wide = 1100
high = 560

roles = '"weights|#0072B2" "optimizer|#56B4E9" "gradients|#009E73" "communication|#E69F00" \
  "saved activations|#D55E00" "temporaries|#CC79A7"'
role(i) = word(roles, i)[:strstrt(word(roles, i), '|') - 1]
shade(i) = word(roles, i)[strstrt(word(roles, i), '|') + 1:]
upto(k) = sum [i=1:k] column(role(i))

set title heading noenhanced offset 0, 0.5
set xlabel 'seconds since the step began'
set ylabel 'GB in use, by role'
set yrange [0:*]
stats csv using (column('time_s')) nooutput name 'TIME'
set xrange [0:TIME_max]
set grid noxtics
set key outside right center Left reverse invert samplen 1.5 spacing 1.4
set style fill solid 0.95 noborder
entries = words(roles) + 1

# The tallest sum is drawn first, so that each lower one covers it from below.
do for [picture in pictures] {
  load canvas
  plot for [j=0:5] csv using (column('time_s')):(upto(6 - j)) with fillsteps \
    lc rgb shade(6 - j) title role(6 - j)
}
