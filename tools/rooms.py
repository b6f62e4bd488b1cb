# SPDX-License-Identifier: BSD-3-Clause
"""The rooms of the library, as the build knows them, and what the documents say of them.

A folder of src/ is a room.  Its CMakeLists.txt names the rooms that it may include.  This program
draws the picture in docs/architecture.md from these lines.  It checks that each room has a
README.md whose line "May include:" says the same, that files which these pages name exist, and that
each hop of a call, `file`: `function`, names a function of that file.

    python3 tools/rooms.py            # rewrites the picture
    python3 tools/rooms.py --check    # prints what does not agree; the exit status is 1 then
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- rooms: drawn by tools/rooms.py -->", "<!-- end of rooms -->"
# What stands on the C API or links single rooms, beside src/ or above it.
OUTSIDE = {"mpi": ["api"], "python": ["api", "simulate"]}
BESIDE = ("mpi", "python", "lab", "bench")


def rooms() -> dict[str, list[str]]:
    """Each room with those that it may include, as its CMakeLists.txt says."""
    found = {}
    order = re.findall(r"add_subdirectory\((\w+)\)", (ROOT / "src/CMakeLists.txt").read_text())
    for name in order:
        text = (ROOT / "src" / name / "CMakeLists.txt").read_text()
        layer = re.search(r"stretto_layer\(\s*\w+([^)]*?)SOURCES", text)
        uses = re.search(r"USES([^)]*)", layer[1]) if layer else None
        found[name] = uses[1].split() if uses else []
    found["api"] = ["comm"]  # and by it all that comm may include
    return found


def direct(name: str, uses: dict[str, list[str]]) -> list[str]:
    """Those of the rooms below that are not also below another one: the arrows of the picture."""

    def below(room: str) -> set[str]:
        return set(uses[room]).union(*(below(each) for each in uses[room]))

    return [each for each in uses[name] if not any(each in below(o) for o in uses[name])]


def picture() -> str:
    uses = rooms() | OUTSIDE
    arrows = [f"    {name} --> {each}" for name in uses for each in direct(name, uses)]
    return "\n".join([BEGIN, "```mermaid", "flowchart TD", *arrows, "```", END])


def files_of(page: Path) -> Iterator[str]:
    """What is wrong with the files that a page names, from its folder, src/ or the root on."""
    shown = page.relative_to(ROOT)
    anywhere = {each.name for each in (ROOT / "src").rglob("*.?pp")} if page == PAGE else set()
    text = page.read_text()
    for name in re.findall(r"`([\w./]+\.(?:hpp|cpp|inl|py|map))`", text):
        places = (page.parent, page.parent.parent, ROOT / "src", ROOT)
        if name not in anywhere and not any((place / name).exists() for place in places):
            yield f"{shown}: there is no {name}"
    for name, functions in re.findall(
        r"`([\w./]+\.(?:hpp|cpp|inl))`: ((?:`[\w:]+`(?:, )?)+)", text
    ):
        source = next((p / name for p in (ROOT, ROOT / "src") if (p / name).exists()), None)
        for function in re.findall(r"(\w+)`", functions) if source else []:
            if not re.search(rf"\b{function}\b", source.read_text()):
                yield f"{shown}: {name} has no {function}"


def named(readme: Path) -> list[str] | None:
    line = re.search(r"^\*\*May include:\*\* (.*)$", readme.read_text(), re.MULTILINE)
    return re.findall(r"`(\w+)`", line[1]) if line else None


def main() -> int:
    text = PAGE.read_text()
    drawn = re.sub(re.escape(BEGIN) + ".*" + re.escape(END), lambda _: picture(), text, flags=re.S)
    if "--check" not in sys.argv:
        PAGE.write_text(drawn)
        return 0
    problems = [] if drawn == text else [f"{PAGE}: old picture; run tools/rooms.py"]
    for name, uses in rooms().items():
        readme = ROOT / "src" / name / "README.md"
        if not readme.exists():
            problems.append(f"{readme}: missing; it says what the room holds and may include")
        elif sorted(named(readme) or []) != sorted(uses):
            problems.append(f"{readme}: 'May include' should name {', '.join(uses) or 'nothing'}")
    pages = [
        PAGE,
        *(ROOT / "src").glob("*/README.md"),
        *(ROOT / name / "README.md" for name in BESIDE),
    ]
    problems += [each for page in pages for each in files_of(page)]
    print("\n".join(problems) if problems else "rooms: fine")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
