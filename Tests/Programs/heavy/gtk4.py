#!/usr/bin/python3
"""A small GTK 4 program, gtk4_text.py: text, text with looks in GTK's own form, and an object of the program's own."""

from toolkit import HERE, Toolkit


class Gtk4(Toolkit):
    wm_class = "Gtk4Text"
    copies = ["text", "styled", "object"]
    pastes = ["text", "styled", "object"]

    def command(self):
        return ["/usr/bin/python3", HERE + "/gtk4_text.py"]


Gtk4().serve()
