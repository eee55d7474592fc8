#!/usr/bin/python3
"""An xterm with a reader inside, driven like the other programs; Control-Shift-C and V copy to and paste from CLIPBOARD.

Carries as a source: one line of UTF-8 without NUL that a triple click can select, not empty. As a reader: UTF-8 without
control characters, which xterm changes when it pastes (line feed becomes carriage return, NUL and others a blank).
"""

import os
import select
import signal
import subprocess
import sys
import tempfile

from program import Commands, options, tell, write_bytes

TRANSLATIONS = """#override
Ctrl Shift <Key>C: copy-selection(CLIPBOARD)
Ctrl Shift <Key>V: insert-selection(CLIPBOARD)
"""


class Program:
    def __init__(self, wm_class):
        self.wm_class = wm_class
        self.folder = tempfile.mkdtemp(prefix="xpb-xterm-")
        for name in ("commands", "answers"):
            os.mkfifo(f"{self.folder}/{name}", 0o600)
        self.answers = os.open(self.folder + "/answers", os.O_RDONLY | os.O_NONBLOCK)
        self.commands = os.open(self.folder + "/commands", os.O_RDWR)
        here = os.path.dirname(os.path.abspath(__file__))
        resources = {
            "translations": TRANSLATIONS.replace("\n", "\\n"),
            "allowPasteControls": "true",
            "cutNewline": "false",
            "selectToClipboard": "false",
            "utf8": "1",
            "trimSelection": "false",
        }
        arguments = [f"-xrm=*vt100*{k}: {v}" for k, v in resources.items()]
        command = ["xterm", "-class", wm_class, "-name", wm_class.lower(), "-geometry", "100x8+0+0", "-bc", "-u8"]
        for argument in arguments:
            command += ["-xrm", argument.removeprefix("-xrm=")]
        command += ["-e", "/usr/bin/python3", here + "/terminal_reader.py", self.folder]
        self.xterm = subprocess.Popen(command, stdin=subprocess.DEVNULL)
        self.ask(None)

    def ask(self, line, limit=10):
        """Sends a command to the reader and waits for its answer."""
        if line:
            os.write(self.commands, line.encode() + b"\n")
        got = b""
        while b"\n" not in got:
            if not select.select([self.answers], [], [], limit)[0]:
                raise RuntimeError(f"no answer to `{line}` within {limit} s")
            got += os.read(self.answers, 4096)

    def show(self):
        # The window manager has it by then: the reader answers only from inside a mapped terminal.
        found = subprocess.run(
            ["xdotool", "search", "--sync", "--onlyvisible", "--class", self.wm_class],
            capture_output=True, text=True, timeout=10, check=True)
        return {"window": int(found.stdout.split()[-1]), "pid": self.xterm.pid}

    def load(self, path):
        self.ask("show " + path)

    def clear(self):
        self.ask("reset")

    def typed(self):
        with open(self.folder + "/typed", "rb") as file:
            return file.read()

    def length(self):
        return {"bytes": len(self.typed())}

    def dump(self, path):
        write_bytes(path, self.typed())
        return {"bytes": len(self.typed())}

    def close(self):
        self.xterm.send_signal(signal.SIGTERM)
        self.xterm.wait(10)
        for name in os.listdir(self.folder):
            os.unlink(f"{self.folder}/{name}")
        os.rmdir(self.folder)


def main():
    program = Program(options(__doc__.splitlines()[0]).wm_class)
    stopped = []
    names = ["load", "dump", "clear", "length", "show"]
    commands = Commands({name: getattr(program, name) for name in names}, lambda: stopped.append(True))
    tell("ready", pid=program.xterm.pid)
    while not stopped and program.xterm.poll() is None:
        if select.select([0], [], [], 1)[0]:
            commands.ready()
    program.close()
    sys.exit(0)


main()
