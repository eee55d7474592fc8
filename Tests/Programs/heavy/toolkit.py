"""A small program of one toolkit, written for these tests, behind the driver of all such programs.

The program shows one document of each kind, and obeys lines of standard input: show KIND, load PATH, select, clear, dump PATH;
each is answered with one line. Copy and paste are the toolkit's own, by key.
"""

import os
import subprocess

from desktop import Driver, answer, picture_form, read_bytes, wait_until

HERE = os.path.dirname(os.path.abspath(__file__))


class Toolkit(Driver):
    def command(self):
        """The words by which the program is started."""
        raise NotImplementedError

    def open(self):
        self.process = self.start(*self.command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        line = self.process.stdout.readline().decode().strip()
        if line != "ready":
            raise RuntimeError(f"{self.name}: expected `ready`, found `{line}`")
        self.window = self.own_window("--name", f"^{self.wm_class}$")

    def ask(self, line):
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        reply = self.process.stdout.readline().decode().strip()
        if reply != "done":
            raise RuntimeError(f"{self.name}: {line.split()[0]}: {reply}")

    def load(self, kind, path):
        self.ask("show " + kind)
        self.ask("load " + path)

    def copy(self):
        self.ask("select")
        # Java refuses TIMESTAMP, so its copy shows only to who watches the selection.
        self.keys(self.window, "ctrl+c")

    def paste(self, kind, path, seconds="10"):
        self.ask("show " + kind)
        self.ask("clear")
        self.keys(self.window, "ctrl+v")
        copy = self.path("pasted")

        def held():
            self.ask("dump " + copy)
            return read_bytes(copy)

        content = wait_until(float(seconds), held)
        return answer(path, picture_form(content) if content and kind == "image" else content)
