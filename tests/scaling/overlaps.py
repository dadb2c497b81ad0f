"""overlaps.py [--legend-ends TEXT] SVG...: no text stands over another one, nor a legend, whose last text
is TEXT, below the top of the axes; letters count as 0.6 of their size wide."""
import re, sys

def boxes(path):
    found = []
    for x, y, turned, size, anchor, rest in re.findall(
            r'<g transform="translate\(([-\d.]+),([-\d.]+)\)(\s*rotate\([^)]*\))?"[^>]*font-size="([\d.]+)"'
            r'[^>]*text-anchor="(\w+)"[^>]*>(.*?)</g>', open(path).read(), re.S):
        text = "".join(re.findall(r">([^<>\n]+)<", rest)).strip()
        size = float(size)
        if not text or turned:
            continue
        width = 0.6 * size * len(text)
        left = float(x) - {"start": 0, "middle": width / 2, "end": width}[anchor]
        found.append((left, float(y) - size * 0.7, left + width, float(y), text))
    return found

last = sys.argv[2] if sys.argv[1] == "--legend-ends" else ""
for path in sys.argv[3 if last else 1:]:
    all_boxes = boxes(path)
    assert all_boxes, path
    for i, one in enumerate(all_boxes):
        for other in all_boxes[:i]:
            if one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]:
                sys.exit(f"{path}: '{one[4]}' stands over '{other[4]}'")
    if last:
        legend = max(bottom for _, _, _, bottom, text in all_boxes if text == last)
        top = min(upper for _, upper, _, _, text in all_boxes if re.fullmatch(r"-?[0-9.]+", text))
        if legend > top:
            sys.exit(f"{path}: the legend stands in the axes, {legend:g} below {top:g}")
