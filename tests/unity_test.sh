#!/usr/bin/env bash
# Sources are compiled together only where that changes no meaning: cmake/unity.py on small ones.
set -euo pipefail
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
cd "$root"

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

# grouped SOURCE...: "NUMBER SOURCE" of those that stand in a group.
grouped() { python3 "${FOURFOLD_SOURCE_DIR:?}/cmake/unity.py" "$root" "${@/#/$root/}"; }

# holds SOURCE TEXT: what it keeps to itself is TEXT.
holds() {
  printf '#include "%s"\n\nnamespace {\n\n%s\n\n}  // namespace\n\n%s\n' \
    "${4:-none.hpp}" "$2" "${3:-}" >"$1.cpp"
}

# pair COUNT WHY: as many of one.cpp and two.cpp stand together.
pair() {
  local found
  found=$(grouped one.cpp two.cpp | wc -l)
  [ "$found" = "$1" ] || fail "$found sources together, should be $1: $2"
}

holds one 'int half(int whole) { return whole / 2; }' && holds two 'int twice(int one) { return 2 * one; }'
pair 2 "they share no name"
holds two 'int half(double whole);'
pair 0 "both have a half()"
for own in 'constexpr int half = 2;' 'struct half {' 'using half = int;' 'std::map<int, std::string> half(int a, int b);' 'enum class half { left, right };' \
  '[[noreturn]] void half();' 'template <class T>
T half(const T& whole);' "constexpr char quote = '\"';
int half();"; do
  holds one "$own" && holds two '' 'int of(int whole) { return half(whole); }'
  pair 0 "half is another thing after: $own"
done
holds one '' 'int of(int whole) { return half(whole); }' && holds two 'int half(int whole);'
pair 0 "the first says half, of the second"
holds one 'int half();' && holds two 'int one();
int other() { return half(1); }'
pair 0 "the second says half, and keeps more to itself"
holds one 'int half();' && holds two '' '// half is a word of a comment here, and of a "string"
const char* text = "half";'
pair 2 "words of comments and strings name nothing"

holds one 'int half(int whole);'
echo 'inline int of(int whole) { return half(whole); }' >reads.hpp
holds two '' '' reads.hpp
pair 0 "a header that the second alone reads says half"
holds one 'int half(int whole);' '' reads.hpp
pair 2 "both read that header, before any name of their own"
echo '#include "reads.hpp"' >around.hpp && holds one 'int half(int whole);'
holds two '' '' around.hpp && pair 0 "it is read by way of another header"

echo 'std::string of(double whole);' >apart.hpp && holds one '' '' apart.hpp
holds two '' 'int half = of(1);' reads.hpp
pair 0 "of() of a header that the second does not read would be taken"
echo 'std::string by(double whole);' >apart.hpp && pair 2 "no word of the second is by"
echo 'std::string of(double whole);' >apart.hpp && holds two '' '' reads.hpp && pair 2 "neither says of()"

holds one 'using ::testing::Not;' && holds two 'using ::testing::Not;' 'Not no;'
pair 2 "both give one thing the same second name"
holds two 'using ::other::Not;' 'Not no;'
pair 0 "two things have one second name"

holds one 'int one();' && holds two 'int two();' '#define TWO 2'
pair 0 "a macro goes on in what follows"

for source in {a..t}; do holds "$source" "int own_$source();"; done
lines=$(grouped ?.cpp)
[ "$(cut -d ' ' -f 2- <<<"$lines" | sort)" = "$(printf '%s\n' "$root"/?.cpp)" ] ||
  fail "not every source stands in one group: $lines"
[ "$(cut -d ' ' -f 1 <<<"$lines" | uniq -c | sort -n | awk 'END { print $1 }')" -le 8 ] ||
  fail "a group is long: $lines"
