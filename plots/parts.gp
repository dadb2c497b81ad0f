# Sets parts (columns), titles and shades (colours) of what a batch's seconds consist of: those parts
# that some row has for more than a millisecond, or a thousandth of the longest compute if that is less.
# Shades differ in lightness, most between neighbours.
all_parts = '"compute_s|compute|#ABABAB" \
  "exposed_x_s|communication along x, not hidden|#08306B" \
  "exposed_y_s|communication along y, not hidden|#4292C6" \
  "exposed_z_s|communication along z, not hidden|#FDBF7A" \
  "exposed_data_s|communication along data, not hidden|#9B1C1C" \
  "exposed_pipe_s|messages between stages, not hidden|#2F8150" \
  "bubble_s|pipeline bubble|#F5E663" "other_s|until the last device ends|#000000"'
stats csv using (column('compute_s')) nooutput name 'COMPUTE'
least = 1e-3 * (COMPUTE_max < 1 ? COMPUTE_max : 1)
parts = ''
titles = ''
legend = 220  # pixels of its longest words
shades = ''
do for [part in all_parts] {
  first_bar = strstrt(part, '|')
  last_bar = strstrt(part, '|#')
  stats csv using (column(part[:first_bar - 1])) nooutput name 'PART'
  if (PART_max > least) {
    parts = parts.' '.part[:first_bar - 1]
    titles = titles.' "'.part[first_bar + 1:last_bar - 1].'"'
    legend = more(legend, 90 + 8.6 * (last_bar - first_bar))
    shades = shades.' '.part[last_bar + 1:]
  }
}
entries = words(parts) + 2
