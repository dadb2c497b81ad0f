# What all plots share: fonts, colours, grid, and words about the CSV. A plot is called with its texts
# as arguments: ARG1 is the folder of these scripts, ARG2 the path of the table, ARG3 that of the
# pictures without their endings, or nothing for a drawing in characters on standard output, and what
# follows is the plot's own. All are data, as cells of the CSV are: no script starts a process,
# evaluates a text or expands a macro (tests/scaling/hostile_names_test.sh), and no text is enhanced.
# A plot sets wide and high (pixels) and draws in
#   do for [picture in pictures] { load canvas; plot ... }
set encoding utf8
set datafile separator "\t"
set datafile columnheaders
set datafile commentschars ''
# What is no number is left out, and a line goes on behind it: of other series, say.
set datafile missing NaN

canvas = plots.'/canvas.gp'
# Inches of a column of a paper that the picture is to fill; 0: as wide as it needs.
if (!exists('paper_width')) { paper_width = 0 }
# Points that nothing fits, which are in no picture: said at its foot.
if (!exists('unfit')) { unfit = '' }
entries = 0; upper = 0; lower = 0; tall = 0.6; key_letters = 0
pictures = output eq '' ? 'characters' : 'png svg pdf'
face = 'DejaVu Sans'
wide = 1200
high = 750
# Colours that differ in lightness, too: in grey and for colour-blind readers, with shapes besides.
colours = '#08519C #D55E00 #000000 #E69F00 #B8468C #3DA98B #43175A #8CC4E8'
colour(i) = word(colours, (i - 1) % words(colours) + 1)
filled(i) = word('7 5 9 13 11 15', (i - 1) % 6 + 1) + 0
open(i) = word('6 4 8 12 10 14', (i - 1) % 6 + 1) + 0
dark = '#404040'

set grid xtics ytics back lc rgb '#b8b8b8' lw 1 dashtype 1
set border 3
set tics nomirror
set key outside right center Left reverse samplen 2.5 spacing 1.3 noenhanced
set style fill solid border rgb 'white'

# Of a row: whether the column has something, and it as a number.
given(name) = strcol(name) ne ''
number(name) = given(name) ? column(name) : NaN
# The value in rows of the series, and nothing in others.
of(name, value) = strcol('series') eq name ? value : NaN
# Lists of different texts, each between double quotes, which no cell has.
is_in(list, text) = strstrt(list, '"'.text.'"') > 0
with_text(list, text) = is_in(list, text) ? list : list.'"'.text.'" '
more(a, b) = a > b ? a : b
# Room at the ends of a logarithmic axis, as a factor: words below a first point would lie on what
# says what they are.
room_at_ends(least, most) = more(1.15, (most / least) ** 0.08)
# A process grid as short as it goes: 2.1.32.1, or x2.d4.p2 of a pipeline.
replaced(text, old, new) = strstrt(text, old) == 0 ? text : \
  text[:strstrt(text, old) - 1].new.replaced(text[strstrt(text, old) + strlen(old):], old, new)
named_axes(text) = replaced(replaced(replaced(replaced(replaced(text, \
  'data=', 'd'), 'pipe=', 'p'), '=', ''), ';', '.'), ' ', '.')
short(model) = model[1:4] eq 'gpt-' ? model[5:*] : model
grid(text) = strstrt(text, '=') > 0 ? named_axes(text) : replaced(text, 'x', '.')

# The series, in their order, and the letters of the longest.
names = ''
letters = 0
