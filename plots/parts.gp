# Sets parts (columns), titles and shades (colours) of what a batch's seconds consist of: those parts
# that some row has for more than a millisecond, or a thousandth of the longest compute if that is less.
all_parts = '"compute_s|compute|#999999" "exposed_x_s|exposed, x|#0072B2" "exposed_y_s|exposed, y|#56B4E9" \
  "exposed_z_s|exposed, z|#E69F00" "exposed_data_s|exposed, data|#D55E00" "exposed_pipe_s|messages|#009E73" \
  "bubble_s|bubble|#F0E442" "other_s|other|#CC79A7"'
stats csv using (column('compute_s')) nooutput name 'COMPUTE'
least = 1e-3 * (COMPUTE_max < 1 ? COMPUTE_max : 1)
parts = ''
titles = ''
shades = ''
do for [part in all_parts] {
  first_bar = strstrt(part, '|')
  last_bar = strstrt(part, '|#')
  stats csv using (column(part[:first_bar - 1])) nooutput name 'PART'
  if (PART_max > least) {
    parts = parts.' '.part[:first_bar - 1]
    titles = titles.' "'.part[first_bar + 1:last_bar - 1].'"'
    shades = shades.' '.part[last_bar + 1:]
  }
}
