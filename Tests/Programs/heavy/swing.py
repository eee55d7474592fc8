#!/usr/bin/python3
"""A small Swing program, SwingText.java: copies and pastes text, formatted text and pictures by Swing's own means, and an object that
is of use in its own virtual machine alone.

Compiled first: run from its source it would have the compiler's window class.
"""

from desktop import run
from toolkit import HERE, Toolkit


class Swing(Toolkit):
    wm_class = "SwingText"
    copies = ["text", "rich", "image", "object"]
    pastes = ["text", "rich", "image", "object"]

    def command(self):
        built = run("javac", "-encoding", "UTF-8", "-d", self.folder, HERE + "/SwingText.java", seconds=120)
        if built.returncode:
            raise RuntimeError(f"swing: expected SwingText.java to compile, found {built.stderr.strip()}")
        return ["java", "-Dfile.encoding=UTF-8", "-cp", self.folder, "SwingText"]


Swing().serve()
