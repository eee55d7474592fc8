"""Reads the repository for the checks: which files are there, and Swift text without comments or strings."""
import pathlib
import re
import subprocess
import sys

# A comment, a string or a character of code; strings first recognised by their longest delimiter.
_PIECE = re.compile(
    r'(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<string>#*"""(?s:.*?)"""#*|#+"[^\n]*?"#+|"(?:\\.|[^"\\\n])*")', re.S
)


def _blank(text):
    return re.sub(r"[^\n]", " ", text)


def code_only(text):
    """The text with comments and strings turned into blanks, so that line numbers stay."""
    return _PIECE.sub(lambda match: _blank(match[0]), text)


def comments(text):
    """(line number, text) of each line comment, `//` and all."""
    for match in _PIECE.finditer(text):
        if match["comment"] and match["comment"].startswith("//"):
            yield text.count("\n", 0, match.start()) + 1, match["comment"]


def tracked(root, *suffixes):
    """The files of the project below `root`, relative: what git would commit, or every file where there is no git."""
    try:
        listing = subprocess.run(
            ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            check=True, capture_output=True, text=True,
        ).stdout.split("\0")
    except (OSError, subprocess.CalledProcessError):
        top = pathlib.Path(root)
        listing = [str(path.relative_to(top)) for path in top.rglob("*")
                   if not {".git", ".build", "__pycache__"} & set(path.relative_to(top).parts)]
    names = sorted(name for name in set(listing) if name and (pathlib.Path(root) / name).is_file())
    return [name for name in names if not suffixes or name.endswith(suffixes)]


def lines_matching(root, names, pattern, keep=code_only):
    """(file, line number, match) for each match of `pattern` in what `keep` leaves of each file."""
    for name in names:
        text = keep((pathlib.Path(root) / name).read_text(encoding="utf-8"))
        for match in re.finditer(pattern, text, re.M):
            yield name, text.count("\n", 0, match.start()) + 1, match


def report(check, findings):
    """Prints the findings and ends with 1 if there are any."""
    for finding in findings:
        print(finding)
    if findings:
        print(f"{check}: {len(findings)} found", file=sys.stderr)
    sys.exit(1 if findings else 0)


def root_argument():
    """The folder to check: the argument, or the project this script belongs to."""
    return sys.argv[1] if len(sys.argv) > 1 else str(pathlib.Path(__file__).resolve().parent.parent)
