# Commands of gnuplot that write words below the x axis: a line for each different value of the column
# `series`, in its colour, a word at each of its places in the column `x`, which is logarithmic. A word
# is the cell of the column `word`, as `form` says, or a process grid. One that would write over its
# neighbour is left out. `title` stands at the left end. Without `x`, no commands but the words of all
# rows between double quotes. A CSV with a heading goes in.
function grid(text) {
  if (text ~ /=/) {
    gsub(/data=/, "d", text); gsub(/pipe=/, "p", text); gsub(/=/, "", text); gsub(/[; ]/, ".", text)
  } else {
    gsub(/x/, ".", text)
  }
  return text
}
function label(number, word, place, colour) {
  printf "set label %d \"%s\" at %s font \",9\" tc rgb \"%s\" noenhanced; ", number, word, place, colour
}
BEGIN {FS = ","; colour_count = split(colours, colour, " ")}
NR == 1 {for (i = 1; i <= NF; ++i) c[$i] = i; next}
x == "" {printf "\"%s\" ", grid($c[word]); next}
{
  key = series == "" ? "" : $c[series]
  if (!(key in row)) row[key] = ++rows
  place = $c[x]
  for (i = 1; i <= shown[key]; ++i) {
    if (place < 1.5 * at[key, i] && at[key, i] < 1.5 * place) next
  }
  at[key, ++shown[key]] = place
  label(500 + NR, form == "" ? grid($c[word]) : sprintf(form, $c[word]),
        sprintf("first %s, graph 0 offset 0, character %.2f center", place, -1.75 - row[key]),
        series == "" ? "#404040" : colour[(row[key] - 1) % colour_count + 1])
}
END {if (x != "") label(500, title, "graph 0, graph 0 offset -1, character -2.75 right", "#404040")}
