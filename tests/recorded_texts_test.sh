#!/usr/bin/env bash
# Recorded texts stay few and readable: at most 8,000 lines, none wider than 200 columns, and no
# sentence, its place, its numbers and what it quotes aside, in more than two of them, so that one that is
# worded anew changes two at most.
set -euo pipefail
cd "${FOURFOLD_SOURCE_DIR:?must name the root of the sources}/tests/golden"
python3 - <<'PY'
import collections, os, re, sys
lines, wide, texts = 0, [], collections.defaultdict(set)
for folder, _, names in os.walk("."):
    for name in names:
        path = os.path.relpath(os.path.join(folder, name), ".")
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                lines += 1
                if len(line.rstrip("\n")) > 200:
                    wide.append(f"{path}:{number}")
                form = re.sub(r"[;?.] [Dd]id you mean \"[^\"]*\"\??", "", line.strip())
                form = re.sub(r"^(fourfold|.*refused|point|edited[^:]*): ", "", form)
                form = re.sub(r"\s+", " ", re.sub(r"'[^']*'|\"[^\"]*\"|[0-9.]+", "#", form))
                if len(form) > 25 and re.search("[a-z]{3}", form) and not form.startswith("-h,--help"):
                    texts[form].add(path)
wrong = [f"{place} is wider than 200 columns" for place in wide]
wrong += [f"'{form}' stands in {', '.join(sorted(of))}" for form, of in texts.items() if len(of) > 2]
if lines > 8000:
    wrong.append(f"recorded texts have {lines} lines")
sys.exit("\n".join(wrong) or 0)
PY
echo "recorded texts are few, and each says its own"
