# Tics of the x axis at the different numbers of the column `place`, each at least `apart` times the
# one before: others would write over their neighbour. Set before: csv, place, apart.
set xtics ()
last = NaN
searching = 1
while (searching) {
  following = NaN
  # Comparisons with NaN are false.
  stats csv using (x = column(place), x <= last || x < apart * last || x >= following ? 0 \
    : (following = x), 0) nooutput
  searching = following == following
  if (searching) { set xtics add (sprintf('%.9g', following) following) }
  last = following
}
