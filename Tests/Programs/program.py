"""What the toolkit programs of the tests share: options, commands on standard input, one JSON line per event."""

import argparse
import json
import os
import sys


def options(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--wm-class", required=True, help="class half of WM_CLASS; its lower case is the instance")
    return parser.parse_args()


def tell(event, **fields):
    print(json.dumps({"event": event, **fields}), flush=True)


def read_bytes(path):
    with open(path, "rb") as file:
        return file.read()


def write_bytes(path, content):
    """Written beside and renamed, so that who waits for the file never sees half of it."""
    with open(path + ".part", "wb") as file:
        file.write(content)
    os.rename(path + ".part", path)


class Commands:
    """Lines of standard input, one command each; `done` or `error` answers every one. The end of input ends the program."""

    def __init__(self, table, leave):
        self.table = table
        self.leave = leave
        self.rest = b""

    def ready(self):
        piece = os.read(0, 65536)
        if not piece:
            self.leave()
            return False
        *lines, self.rest = (self.rest + piece).split(b"\n")
        for line in lines:
            self.run(line.decode().split())
        return True

    def run(self, words):
        if not words:
            return
        name, *arguments = words
        if name == "quit":
            self.leave()
            return
        if name not in self.table:
            tell("error", command=name, message=f"command: expected one of {', '.join(sorted(self.table))}, found `{name}`")
            return
        try:
            fields = self.table[name](*arguments) or {}
        except Exception as error:  # a test has to see it, whatever it is
            tell("error", command=name, message=f"{name}: expected success, found: {error}")
            print(error, file=sys.stderr)
            return
        if fields is not LATER:
            tell("done", command=name, **fields)


LATER = object()
"""Returned by a command that answers with `done` itself, when its result is there."""
