# Where a picture goes, as `picture` says: png, svg or pdf of wide x high pixels, at most what Cairo
# draws; or characters, on standard output.
wide = wide > 30000 ? 30000 : wide
high = high > 30000 ? 30000 : high
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
  set terminal pdfcairo noenhanced size wide / 100.0, high / 100.0 font face.',10' background 'white'
}
if (picture ne 'characters') { set output output.'.'.picture }
