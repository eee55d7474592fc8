#!/usr/bin/python3
"""Runs inside a terminal: shows a text there, and writes what is typed or pasted to a file as it comes.

terminal_reader.py FOLDER: obeys the named pipe FOLDER/commands (show FILE, clear, reset, quit), answers in FOLDER/answers.
"""

import os
import re
import select
import sys
import termios
import tty

from program import read_bytes

POSITION = re.compile(rb"\x1b\[[0-9]+;[0-9]+R")


def show(text):
    """Shows text on a clear terminal; returns when it is there, with what was typed meanwhile."""
    # Home and clear first: the harness clicks on the first line. Last the question for the cursor's position, which a
    # terminal answers when it has dealt with all before it.
    os.write(1, b"\x1b[H\x1b[2J" + text + b"\x1b[6n")
    got = b""
    while not POSITION.search(got):
        piece = os.read(0, 1 << 16)
        if not piece:
            break
        got += piece
    return POSITION.sub(b"", got)


def main():
    folder = sys.argv[1]
    saved = termios.tcgetattr(0)
    tty.setraw(0)
    # Opened for writing too, so that no end of file comes between two writers.
    commands = os.open(folder + "/commands", os.O_RDWR)
    answers = os.open(folder + "/answers", os.O_WRONLY)
    typed = os.open(folder + "/typed", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.write(answers, b'{"event":"ready"}\n')
    rest = b""
    try:
        while True:
            readable, _, _ = select.select([0, commands], [], [])
            if 0 in readable:
                piece = os.read(0, 1 << 16)
                if not piece:
                    return
                os.write(typed, piece)
            if commands in readable:
                *lines, rest = (rest + os.read(commands, 65536)).split(b"\n")
                for line in lines:
                    name, *words = line.decode().split()
                    if name == "quit":
                        return
                    if name == "reset":
                        os.ftruncate(typed, 0)
                        os.lseek(typed, 0, os.SEEK_SET)
                    if name in ("show", "clear"):
                        os.write(typed, show(read_bytes(words[0]) if words else b""))
                    os.write(answers, b'{"event":"done","command":"%s"}\n' % name.encode())
    finally:
        termios.tcsetattr(0, termios.TCSANOW, saved)


main()
