#!/usr/bin/python3
"""A GTK 3 program that uses a board of XPasteBridge by X alone: a board is a selection of its own name.

board-gtk3.py copy BOARD TEXT    puts the text on the board
board-gtk3.py paste BOARD        prints the newest text of the board, and nothing where there is none for this program
"""
import sys

import gi

gi.require_version("Gtk", "3.0")
gi.require_version("Gdk", "3.0")
from gi.repository import Gdk, GLib, Gtk  # noqa: E402

GLib.set_prgname("board-example")
Gdk.set_program_class("Board-example")  # Policies know a program by this and by its executable.
verb, board, *words = sys.argv[1:]
window = Gtk.Window(title="Board")
window.realize()  # A window of this class tells the daemon who asks; it needn't be seen.
clipboard = Gtk.Clipboard.get(Gdk.Atom.intern(board, False))

if verb == "copy":
    clipboard.set_text(words[0], -1)
    # The daemon reads the text and takes the selection over; from then on the board has it.
    clipboard.connect("owner-change", lambda _, event: Gtk.main_quit() if event.owner is None else None)
    GLib.timeout_add_seconds(5, Gtk.main_quit)
    Gtk.main()
else:
    text = clipboard.wait_for_text()
    if text is not None:
        print(text)
