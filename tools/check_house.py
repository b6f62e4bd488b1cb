# SPDX-License-Identifier: BSD-3-Clause
"""Checks the house rules that no other tool checks; prints what breaks them.

Every source file says its licence, is no longer than 400 lines (tests may be), includes nothing by
way of "../", and has no copy of what has one place in the library; each public header compiles
alone as C99.  The communicator's header is no longer than 150 lines, and the page on architecture
no longer than 400.  Sources and docs have no word
that docs/glossary.md has another one for.  Numeric constants of the library end in their unit.
No call moves a value into one argument and reads it in another.
One file asks for variables of the environment, and only what runs without a communicator, or makes
the first one of a job, reads settings from it.
"""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = (
    "src",
    "include",
    "mpi",
    "python",
    "lab",
    "tests",
    "bench",
    "examples",
    "cmake",
    "tools",
    "docs",
)
SOURCES = {".c", ".h", ".cpp", ".hpp", ".inl", ".py", ".pyi", ".cmake", ".sh", ".in"}
CODE = SOURCES - {".cmake", ".in"}
CXX = {".c", ".h", ".cpp", ".hpp", ".inl"}
NOT_OURS = {".venv", ".build", "build", "__pycache__", "results"}
LONGEST = 400
# A page that a newcomer reads in two minutes.
COMMUNICATOR, LONGEST_COMMUNICATOR = Path("src/comm/communicator.hpp"), 150
ARCHITECTURE, LONGEST_ARCHITECTURE = Path("docs/architecture.md"), 400
# What has one place in the library, or none.
NOT_IN_SRC = (
    ("std::" + "hash", "its values differ between C++ libraries, ranks compare them; use mix"),
    ("__builtin_ia32" + "_pause();", "knows one processor; use cpu_pause"),
    ("__rd" + "tsc();", "may be no clock on this machine; use now_ticks"),
)
# The one file of the library, and of the preload, that asks for variables of the environment.
ENVIRONMENT = {
    "src": Path("src/base/settings.cpp"),
    "mpi": Path("mpi/launcher.cpp"),
    "python": Path("src/base/settings.cpp"),
}
# What reads the environment; all others are given a Config, or what they need of it.
READING = re.compile(r"\b(from_process|settings_in_force|read_settings|read_config)\b")
READERS = {
    "src/base/config.cpp": "fills a Config",
    "src/base/config.hpp": "fills a Config",
    "src/base/settings.cpp": "reads the table",
    "src/base/settings.hpp": "reads the table",
    "src/api/life.cpp": "stretto_init: the Config of a job",
    "src/api/machine.cpp": "stretto_examine: the kernels that this process would use",
    "src/api/settings.cpp": "stretto_settings without a communicator; the preload's settings",
    "src/bootstrap/environment.hpp": "the variables of launchers",
    "src/net/secret.hpp": "the secret, of which no copy is kept",
    "python/src/network.cpp": "the command: what it finds of the network",
}
# Words that were ours alone, and what users of other libraries say.
WORDS = {
    "attendant": "progress thread",
    "contender": "tuning candidate",
    "courier": "transmit thread",
    "dialer": "connector",
    "lesson": "cost sample, cost feedback",
    "lobby": "connection acceptor",
    "lookout": "progress wakeup",
    "muster": "late-rank detector",
    "parcel": "packet",
    "pastime": "idle callback",
    "roll[ _]call": "shrink agreement",
    "shipment": "cell send",
    "spokesman": "node leader",
    "turnout": "arrival counter",
    "vigil": "wait policy",
    "whereabouts": "stall report",
    "STRETTO_ALARM": "STRETTO_STALL_WARNING",
    "STRETTO_HOSTS": "STRETTO_FAKE_HOSTS",
    "STRETTO_PROFILE": "STRETTO_TUNING_FILE",
    "STRETTO_STRING_COPIES": "STRETTO_REP_MOVSB",
    "STRETTO_TRIALS": "STRETTO_AUTOTUNE",
}
# Words of the library's sources alone; elsewhere they have their plain meaning.
WORDS_OF_SRC = {
    "bridge": "remote peers",
    "lend": "zero-copy read",
    "lent": "read in place",
    "ladder": "wait policy",
}
OLD_WORD_OF_SRC = re.compile(rf"\b({'|'.join(WORDS_OF_SRC)})s?\b", re.IGNORECASE)
# What Clang 15 cannot compile with the library of GCC 12: views, and what returns a subrange.
SUBRANGES = "subrange|equal_range|unique|remove|remove_if|partition|stable_partition|rotate|search"
VIEW = re.compile(rf"\bstd::(views::|ranges::({SUBRANGES})\b)")
# Words that hide the actor, in the rooms whose sentences all name it.
NO_ACTOR = re.compile(r"\b(nobody|somebody|whoever|whom)\b", re.IGNORECASE)
NAMES_THE_ACTOR = {
    "algorithms", "api", "base", "bootstrap", "calls", "comm", "cost", "engine",
    "membership", "net", "p2p", "reduce", "schedule", "select", "simulate", "trace", "transport",
}  # fmt: skip
OLD_WORD = re.compile(rf"\b({'|'.join(WORDS)})s?\b", re.IGNORECASE)
# The last word of a numeric constant of the library, and what it says.  A word has one meaning.
TIMES = {"Ns": "nanoseconds", "Us": "microseconds", "Ms": "milliseconds", "Seconds": "seconds"} | {
    "Ticks": "ticks of the fast clock or of the simulator",
    "Cycles": "cycles of a processor",
}
SIZES = {
    "Bytes": "bytes",
    "Bits": "how many bits",
    "Elements": "elements of a vector",
    "Words": "words of 64 bits",
}
RATIOS = {
    "Factor": "a value is multiplied by it, or compared with a multiple of another",
    "Divisor": "a value is divided by it",
    "Share": "a part of a whole, from 0 to 1",
    "Tolerance": "a difference that counts as none",
}
# Counts end in the plural of what is counted; a name that says "Per" has its unit before it.
COUNTS = """Allocations Blocks Caches Calls Candidates Cells Chunks Communicators
    Connections Copies Costs Descriptors Devices Doublings Dtypes Entries Failures Folds
    Frames Generations Groups Hosts Inputs Invitations Kinds Lanes Layers Levels Links Locks
    Looks Mappings Marks Messages Operands Ops Pairs Parts Passes Pieces Places Pointers
    Positions Processors Ranks Refusals Reviews Rings Rounds Samples Slices Slots Sockets
    Steps Surveys Syscalls Threads Timings Transports Trials Values Vectors Views Waits
    Yields"""
NOT_QUANTITIES = {
    "Base": "the first of a range of numbers",
    "Bias": "what an exponent is stored with",
    "Flag": "one bit of a packed word",
    "Id": "a number given by the system",
    "Increment": "adds one to a field of a packed word",
    "Int32": "a value of 32 bits",
    "Magic": "marks a format",
    "Mask": "the bits of a field of a packed word",
    "Option": "a number that the system calls an option by",
    "Advice": "a number that madvise takes",
    "Pattern": "a value by its bits",
    "Pid": "a process",
    "Port": "a TCP port",
    "Rank": "a number that stands for a rank",
    "Shift": "where a field of a packed word begins",
    "Version": "of a format or protocol",
}
SUFFIXES = (*TIMES, *SIZES, *RATIOS, *COUNTS.split(), *NOT_QUANTITIES)
HAS_UNIT = re.compile(
    rf"k\w*?({'|'.join(SUFFIXES)})(Per[A-Z]\w*)?$|k(No|Any|Unknown|Never)(?![a-z])|kNone$"
)
# Numbers of 8 and 16 bits are fields of formats.
NUMERIC = (
    r"(?:(?:std::)?(?:size_t|u?int(?:32|64)_t)|int|unsigned|double|float|Ticks|std::chrono::\w+)"
)
CONSTANT = re.compile(
    rf"^\s*(?:(?:inline|static|extern|constexpr|const)\s+)*(?:constexpr|const)\s+{NUMERIC}\s+(k[A-Z].*)"
)
LICENCE = "SPDX-License-Identifier: BSD-3-Clause"


def sources() -> Iterator[Path]:
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            ours = not NOT_OURS & set(path.relative_to(ROOT).parts)
            source = path.suffix in SOURCES or path.name == "CMakeLists.txt"
            if ours and source and path.is_file():
                yield path


def problems(path: Path) -> Iterator[str]:
    lines = path.read_text().splitlines()
    if lines and not any(LICENCE in line for line in lines[:3]):
        yield f"no licence: the first line should hold '{LICENCE}'"
    folder = path.relative_to(ROOT).parts[0]
    if path.suffix in CODE and len(lines) > LONGEST and folder != "tests":
        yield f"{len(lines)} lines; above {LONGEST} it is asking to be two files"
    if path.relative_to(ROOT) == COMMUNICATOR and len(lines) > LONGEST_COMMUNICATOR:
        yield f"{len(lines)} lines; above {LONGEST_COMMUNICATOR} some belong to other classes"
    for number, line in enumerate(lines, 1):
        if re.match(r'\s*#\s*include\s*["<]\.\./', line):
            yield f"line {number}: includes by way of ../; name the layer instead"
        if path.suffix in CXX and VIEW.search(line.partition("//")[0]):
            yield f"line {number}: Clang 15 cannot compile it; base/reversed.hpp, or iterators"
        if folder == "src" and path.parent.name != "base":
            yield from (f"line {number}: {why}" for what, why in NOT_IN_SRC if what in line)
    if path.suffix in {".cpp", ".hpp", ".inl"}:
        yield from read_when_moved(path.read_text())
    if path.suffix in CXX:
        yield from environment_reads(path.relative_to(ROOT), lines)


def environment_reads(path: Path, lines: list[str]) -> Iterator[str]:
    """Variables that this file asks for, and settings that it reads, though others do."""
    asks = ENVIRONMENT.get(path.parts[0])
    for number, line in enumerate(lines, 1) if asks else ():
        if "getenv(" in line and path != asks:
            yield f"line {number}: asks for a variable; only {asks} does"
        if path.as_posix() not in READERS:
            for found in READING.finditer(line):
                yield f"line {number}: {found[0]} reads the environment; take a Config instead"


def unitless(path: Path) -> Iterator[str]:
    """Numeric constants of the library whose names do not say what they count."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if found := CONSTANT.match(line.split("//")[0]):
            names = re.findall(r"\b(k[A-Z]\w*)\s*(?:=|\{|;|,|$)", re.sub(r"=[^,;]*", "=", found[1]))
            for name in (each for each in names if not HAS_UNIT.match(each)):
                yield f"line {number}: {name} does not say its unit; CONTRIBUTING.md lists them"


def arguments(text: str) -> Iterator[tuple[int, list[str]]]:
    """The arguments of each call, and the line that it ends in.  Lists in braces have an order."""
    opened: list[list[int]] = []  # the places of a bracket and of the commas in it
    for place, letter in enumerate(text):
        if letter in "([{":
            opened.append([place])
        elif letter == "," and opened:
            opened[-1].append(place)
        elif letter in ")]}" and opened:
            marks = [*opened.pop(), place]
            if letter == ")":
                each = [text[a + 1 : b] for a, b in itertools.pairwise(marks)]
                yield text.count("\n", 0, place) + 1, each


def read_when_moved(text: str) -> Iterator[str]:
    """Calls that move a value into one argument and read it in another.

    Compilers evaluate arguments in different orders: GCC for x86 from the last to the first where
    they are objects, Clang and GCC for Arm from the first to the last.
    """
    text = re.sub(r"""//.*|"(\\.|[^"\\\n])*"|'(\\.|[^'\\])'""", "", text).replace("->", ".")
    for line, each in arguments(text):
        for argument, other in itertools.permutations(each, 2):
            for moved in re.findall(r"std::move\(\s*\*?([\w.]+)\s*\)", argument):
                names = moved.split(".")
                # All of it, a part of it, or what it is a part of; another part is as it was.
                wholes = [rf"{'.'.join(names[:n])}\b(?!\.)" for n in range(1, len(names))]
                reads = "|".join([rf"{moved}\b", *wholes])
                if re.search(rf"(?<![\w.:])({reads})", other):
                    yield f"line {line}: moves {moved} into an argument and reads it in another"


def old_words(path: Path) -> Iterator[str]:
    if path == Path(__file__).resolve():
        return
    for number, line in enumerate(path.read_text().splitlines(), 1):
        for found in OLD_WORD.finditer(line):
            better = next(new for old, new in WORDS.items() if re.match(old, found[0], re.I))
            yield f"line {number}: '{found[0]}'; the glossary's word is {better}"


def unclear_words(path: Path) -> Iterator[str]:
    """Of the library's sources: words that have a plainer one, or that name no actor."""
    room = path.relative_to(ROOT / "src").parts[0]
    for number, line in enumerate(path.read_text().splitlines(), 1):
        for found in OLD_WORD_OF_SRC.finditer(line):
            better = next(new for old, new in WORDS_OF_SRC.items() if re.match(old, found[0], re.I))
            yield f"line {number}: '{found[0]}'; the glossary's word is {better}"
        if room in NAMES_THE_ACTOR and (found := NO_ACTOR.search(line)):
            yield f"line {number}: '{found[0]}'; name the rank, the sender or the caller"


def pages() -> Iterator[Path]:
    yield from (ROOT / name for name in ("README.md", "CONTRIBUTING.md"))
    yield from sorted((ROOT / "docs").glob("*.md"))  # not docs/papers, which tell a history
    yield from sorted((ROOT / "src").rglob("README.md"))


def header_problem(header: Path) -> str | None:
    compiler = os.environ.get("CC", "cc").split()
    flags = ["-std=c99", "-pedantic-errors", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
    command = [*compiler, *flags, "-x", "c", str(header)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else f"{header}: not C99 by itself:\n{done.stderr}"


def main() -> int:
    found = [f"{path.relative_to(ROOT)}: {each}" for path in sources() for each in problems(path)]
    library = [path for path in sources() if path.relative_to(ROOT).parts[0] == "src"]
    found += [f"{path.relative_to(ROOT)}: {each}" for path in library for each in unitless(path)]
    found += [
        f"{path.relative_to(ROOT)}: {each}" for path in library for each in unclear_words(path)
    ]
    both = [*sources(), *pages()]
    found += [f"{path.relative_to(ROOT)}: {each}" for path in both for each in old_words(path)]
    if (lines := len((ROOT / ARCHITECTURE).read_text().splitlines())) > LONGEST_ARCHITECTURE:
        found.append(f"{ARCHITECTURE}: {lines} lines; what a room's README.md says goes there")
    headers = sorted((ROOT / "include").rglob("*.h"))
    found += filter(None, [header_problem(each) for each in headers])
    print("\n".join(found) if found else "house rules: fine")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
