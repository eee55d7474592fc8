#!/usr/bin/python3
"""An xterm with a reader inside, driven like the other programs; Control-Shift-C and V copy to and paste from CLIPBOARD.

Carries as a source: one line of UTF-8 without NUL that a triple click can select, not empty. As a reader: UTF-8 without
control characters, which xterm changes when it pastes (line feed becomes carriage return, NUL and others a blank).
"""

import select
import signal
import subprocess
import sys

from program import Commands, options, tell
from terminal_host import Host

TRANSLATIONS = """#override
Ctrl Shift <Key>C: copy-selection(CLIPBOARD)
Ctrl Shift <Key>V: insert-selection(CLIPBOARD)
"""


class Program(Host):
    def __init__(self, wm_class):
        super().__init__("xterm")
        self.wm_class = wm_class
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
        command += ["-e", *self.reader]
        self.xterm = subprocess.Popen(command, stdin=subprocess.DEVNULL)
        self.ask(None)

    def show(self):
        # The window manager has it by then: the reader answers only from inside a mapped terminal.
        found = subprocess.run(
            ["xdotool", "search", "--sync", "--onlyvisible", "--class", self.wm_class],
            capture_output=True, text=True, timeout=10, check=True)
        return {"window": int(found.stdout.split()[-1]), "pid": self.xterm.pid}

    def close(self):
        self.xterm.send_signal(signal.SIGTERM)
        self.xterm.wait(10)
        self.remove()


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
