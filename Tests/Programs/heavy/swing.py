#!/usr/bin/python3
"""A small Swing program, SwingText.java: copies and pastes text, formatted text and pictures by Swing's own means.

Compiled first: run from its source it would have the compiler's window class.
"""

import os
import subprocess

from desktop import Driver, answer, picture_form, read_bytes, run, wait_until


class Swing(Driver):
    wm_class = "SwingText"
    copies = ["text", "rich", "image"]
    pastes = ["text", "rich", "image"]

    def open(self):
        here = os.path.dirname(os.path.abspath(__file__))
        built = run("javac", "-encoding", "UTF-8", "-d", self.folder, here + "/SwingText.java", seconds=120)
        if built.returncode:
            raise RuntimeError(f"swing: expected SwingText.java to compile, found {built.stderr.strip()}")
        self.process = self.start(
            "java", "-Dfile.encoding=UTF-8", "-cp", self.folder, "SwingText",
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        line = self.process.stdout.readline().decode().strip()
        if line != "ready":
            raise RuntimeError(f"swing: expected `ready`, found `{line}`")
        self.window = self.own_window("--name", "^SwingText$")

    def ask(self, line):
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        reply = self.process.stdout.readline().decode().strip()
        if reply != "done":
            raise RuntimeError(f"swing: {line.split()[0]}: {reply}")

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


Swing().serve()
