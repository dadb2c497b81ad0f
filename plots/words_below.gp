# Words below the x axis, which is logarithmic unless linear_room says how far apart words on it must
# be: a line for each series, in its colour, or one for all rows; a word at each of a line's places,
# but for those that would write over their neighbour. Set before: csv; place, the column of x;
# below_column, that of the words; below_title, at the left end; below_lines, the series, or nothing.
# They are labels from 500 to below_last, which a further call replaces.
below(name) = name eq 'model' ? short(strcol(name)) : name ne 'grid' ? sprintf('%.3gx', column(name)) \
  : (exists('grows') && grows ? strcol('model').' ' : '').grid(strcol(name))
# With models a word is twice as long: smaller letters, and more room.
long_words = exists('grows') && grows && below_column eq 'grid'
times_apart = long_words ? 1.6 : 1.5
if (!exists('linear_room')) { linear_room = 0 }
close(a, b) = linear_room > 0 ? abs(a - b) < linear_room : a < times_apart * b && b < times_apart * a
near(list, x) = sum [k=1:words(list)] close(x, word(list, k) + 0) > 0
if (exists('below_last')) { do for [i=500:below_last] { unset label i } }
set label 500 below_title at graph 0, graph 0 offset -1, character (long_words ? -1.75 : -2.75) right \
  font ',9' tc rgb dark noenhanced
below_last = 500
do for [i=1:(below_lines eq '' ? 1 : words(below_lines))] {
  shown = ''
  said = ''
  stats csv using ((below_lines eq '' || strcol('series') eq word(below_lines, i)) \
    && !near(shown, column(place)) ? (shown = shown.' '.strcol(place), \
    said = said.'"'.below(below_column).'" ', 0) : 0) nooutput
  do for [k=1:words(shown)] {
    below_last = below_last + 1
    set label below_last word(said, k) at first (word(shown, k) + 0), graph 0 \
      offset 0, character (-1.75 - i) center font (long_words ? ',7' : ',9') \
      tc rgb (below_lines eq '' ? dark : colour(i)) noenhanced
  }
}
