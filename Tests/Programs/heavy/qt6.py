#!/usr/bin/python3
"""A small Qt 6 program, qt6_text.py: text, formatted text, pictures, and an object of the program's own."""

from toolkit import HERE, Toolkit


class Qt6(Toolkit):
    wm_class = "Qt6Text"
    copies = ["text", "rich", "image", "object"]
    pastes = ["text", "rich", "image", "object"]

    def command(self):
        return ["/usr/bin/python3", HERE + "/qt6_text.py"]


Qt6().serve()
