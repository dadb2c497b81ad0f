# Where a picture goes, as `picture` says: png, svg or pdf of wide x high pixels, at most what Cairo
# draws; or characters, on standard output.
wide = wide > 30000 ? 30000 : wide
high = high > 30000 ? 30000 : high
# In a column of a paper: letters of 7 points, the legend above, and neither title nor words below,
# which a caption and a table are, but those that a script keeps (paper_words). A script may set upper
# and lower, lines above and below the axes, and tall, their height as a part of the width.
if (paper_width > 0) {
  wide = 143 * paper_width
  lines = entries > 0 ? entries : 2 * words(names) + 2
  upper = upper > 0 ? upper : 1
  lower = lower > 0 ? lower : 3.4
  foot = unfit ne '' ? 1.3 : 0
  high = tall * wide + 17 * (upper + lower + foot + 1.2 * lines)
  unset title
  if (exists('below_last') && !exists('paper_words')) { do for [i=500:below_last] { unset label i } }
  set key at screen 0.5, screen 0.99 top center vertical maxcols 1 Left reverse samplen 2 spacing 1.1
  set tmargin 1.2 * lines + upper
  set bmargin lower + foot
  set lmargin 8
  set rmargin 2.5
  # Long words of the legend in smaller letters, so that none is cut off.
  words_fit = key_letters > 36 ? 36.0 / key_letters : 1.0
  set key font face.sprintf(',%.1f', 13 * words_fit)
}
if (picture eq 'characters') {
  set terminal dumb noenhanced size 118, 40
}
if (picture eq 'png') {
  set terminal pngcairo noenhanced size wide, high font face.',13' background 'white'
}
if (picture eq 'svg') {
  set terminal svg noenhanced size wide, high font face.',13' background 'white'
}
if (picture eq 'pdf') {
  # Letters of 13 pixels are 7 points of a paper, and all others in proportion.
  set terminal pdfcairo noenhanced background 'white' font face.',13' \
    fontscale (paper_width > 0 ? 7.0 / 13 : 0.72) size (paper_width > 0 ? paper_width : wide / 100.0), \
    high / (paper_width > 0 ? wide / paper_width : 100.0)
}
if (picture ne 'characters') { set output output.'.'.picture }
if (unfit ne '') {
  set label 900 'fits nowhere: '.unfit at screen 0.01, screen (exists('source') && source ne '' ? 0.05 : 0.02) \
    noenhanced font ',10' tc rgb dark
}
