#!/usr/bin/env python3
"""Groups sources that can be compiled as one unit, which saves what each reads of the same headers.

Usage: unity.py ROOT SOURCE...   (paths below ROOT; headers are included as "path/below/root.hpp")
Prints "NUMBER SOURCE" for each source of a group of two or more.

Sources stand together only where that changes no meaning:
- What one keeps to itself (in an unnamed namespace) is a word that no other of the group uses, nor a
  header that the other reads and it does not.
- What a header declares that one does not read is no second thing to a name that it uses; but for
  names of many headers (name, json_of), which are functions of a type each, told apart by it.
- A source with macros of its own stands alone.
"""
import collections
import functools
import re
import sys
from pathlib import Path

MOST = 8  # sources in a group: more would leave cores idle while the last ones compile
MANY = 4  # headers that declare a name of many

APART = re.compile(  # comments, characters and strings
    r"//[^\n]*|/\*.*?\*/"
    r"|'(?:\\.|[^'\\])'"
    r'|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"',
    re.DOTALL,
)
UNNAMED = re.compile(r"^namespace \{$(.*?)(?:^\}  // namespace$|\Z)", re.DOTALL | re.MULTILINE)


@functools.cache
def text(file):
    return file.read_text()


@functools.cache
def words(file):
    return frozenset(re.findall(r"[A-Za-z_]\w*", APART.sub(" ", text(file))))


def declarations(code):
    """The names declared at the left margin, each with its line."""
    found = {}
    for line in APART.sub(" ", code).splitlines():
        line = re.sub(r"^(\[\[[^\]]*\]\] *)+", "", line)  # attributes, such as [[noreturn]]
        if not re.match(r"[A-Za-z_]", line) or re.match(r"TEST|template\b|static_assert", line):
            continue
        plain = line
        while (shorter := re.sub(r"<[^<>]*>", "", plain)) != plain:
            plain = shorter  # template arguments are no names of its own
        name = (
            re.match(r"using (?:\w*::)*(\w+);", plain)
            or re.match(r"(?:using|namespace|struct|class|enum class|enum) (\w+)", plain)
            or re.search(r"\b([A-Za-z_]\w*)\s*(?:[(={;\[]|$)", plain)
        )
        if name:
            found[name[1]] = line
    return found


@functools.cache
def own(source):
    """The names that a source keeps to itself, each with the line that declares it."""
    return declarations("".join(UNNAMED.findall(text(source))))


@functools.cache
def shown(header):
    """The names that a header declares."""
    return frozenset(declarations(text(header)))


@functools.cache
def included(root, file):
    """The headers below the root that a file names."""
    names = re.findall(r'^#include "([^"]+)"', text(file), re.MULTILINE)
    return [root / name for name in names if (root / name).exists()]


@functools.cache
def headers(root, source):
    """All headers below the root that a source reads, by whatever way."""
    found, ahead = set(), [source]
    while ahead:
        new = set(included(root, ahead.pop())) - found
        found |= new
        ahead += new
    return frozenset(found)


@functools.cache
def meant(root, source, families):
    """The words of a source that name what it, or a header that it reads, declares."""
    known = set(own(source)).union(*map(shown, headers(root, source)))
    return frozenset(known & words(source) - families)


def shadows(root, one, other, families):
    """Whether a name of `one` would be seen where `other` or its headers mean something else; a second
    name for a thing, given by both in the same words, is no other."""
    given = {
        name
        for name, line in own(one).items()
        if not (re.match("using|namespace", line) and own(other).get(name) == line)
    }
    ours, theirs = headers(root, one), headers(root, other)
    return any(not given.isdisjoint(words(file)) for file in {other, *(theirs - ours)}) or any(
        not shown(header).isdisjoint(meant(root, other, families)) for header in ours - theirs
    )


def groups(root, sources):
    plain = [source for source in sources if "#define" not in text(source)]
    read = set().union(*(headers(root, source) for source in plain))
    counts = collections.Counter(name for header in read for name in shown(header))
    families = frozenset(name for name, count in counts.items() if count >= MANY)
    found = []
    for source in sorted(plain, key=lambda source: (-len(own(source)), source)):
        for group in found:
            if len(group) < MOST and not any(
                shadows(root, source, other, families) or shadows(root, other, source, families)
                for other in group
            ):
                group.append(source)
                break
        else:
            found.append([source])
    return [sorted(group) for group in found if len(group) > 1]


def main():
    root, *sources = map(Path, sys.argv[1:])
    for number, group in enumerate(groups(root, sources), 1):
        for source in group:
            print(number, source)


if __name__ == "__main__":
    main()
