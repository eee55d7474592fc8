#!/usr/bin/python3
"""A small GTK 3 editor that is told over standard input what its user does:

    editor.py Browser        (the argument becomes the window class)

One command a line, one answer a line. Copy and paste of text are GTK's own, the same code that Ctrl+C and Ctrl+V run.
Pictures are drawn, copied as every GTK program copies a picture, and compared by the digest of their PNG bytes.
"""
import hashlib
import random
import sys

import gi

gi.require_version("Gtk", "3.0")
gi.require_version("Gdk", "3.0")
from gi.repository import Gdk, GdkPixbuf, GLib, Gtk  # noqa: E402

# Random pixels don't compress: about 500 KB of PNG, so that it travels in chunks (ICCCM 2.7.2, INCR).
SIDE = 400


class Editor:
    def __init__(self, name):
        GLib.set_prgname(name.lower())
        Gdk.set_program_class(name)
        self.window = Gtk.Window(title=f"{name} (GTK 3)", default_width=360, default_height=120)
        self.view = Gtk.TextView(monospace=True)
        self.window.add(self.view)
        self.window.connect("destroy", Gtk.main_quit)
        self.window.show_all()
        self.text = self.view.get_buffer()
        self.text.connect("paste-done", lambda *_: self.answer_paste())
        self.clipboard = Gtk.Clipboard.get(Gdk.SELECTION_CLIPBOARD)
        self.timer = None
        GLib.io_add_watch(sys.stdin.fileno(), GLib.PRIORITY_DEFAULT, GLib.IO_IN | GLib.IO_HUP, self.obey)

    def answer(self, word):
        print(word, flush=True)

    def obey(self, *_):
        line = sys.stdin.readline()
        if not line:
            Gtk.main_quit()
            return False
        command, _, rest = line.rstrip("\n").partition(" ")
        getattr(self, "do_" + command)(rest)
        return True

    def do_type(self, words):
        self.text.set_text(words)
        self.answer("ok")

    def do_copy(self, _):
        self.text.select_range(*self.text.get_bounds())
        self.view.emit("copy-clipboard")
        self.answer("ok")

    def do_paste(self, seconds):
        """Answers with the text that arrived; after so many seconds with whatever is there then."""
        self.text.set_text("")
        self.timer = GLib.timeout_add(int(float(seconds) * 1000), self.answer_paste)
        self.view.emit("paste-clipboard")

    def answer_paste(self):
        if self.timer:
            GLib.source_remove(self.timer)
            self.timer = None
            text = self.text.get_text(*self.text.get_bounds(), False)
            self.answer(text.replace("\n", " "))
        return False

    def do_draw(self, seed):
        pixels = random.Random(seed).randbytes(SIDE * SIDE * 3)
        picture = GdkPixbuf.Pixbuf.new_from_bytes(
            GLib.Bytes.new(pixels), GdkPixbuf.Colorspace.RGB, False, 8, SIDE, SIDE, SIDE * 3)
        self.clipboard.set_image(picture)
        # The options with which GTK itself answers a request for image/png.
        _, png = picture.save_to_bufferv("png", ["compression"], ["2"])
        self.answer(f"{len(png)} bytes, SHA-256 {hashlib.sha256(png).hexdigest()}")

    def do_picture(self, _):
        """Answers with size and digest of the PNG on the clipboard."""
        self.clipboard.request_contents(Gdk.Atom.intern("image/png", False), self.picture_arrived)

    def picture_arrived(self, _, selection):
        png = selection.get_data() or b""
        self.answer(f"{len(png)} bytes, SHA-256 {hashlib.sha256(png).hexdigest()}" if png else "")


editor = Editor(sys.argv[1])
GLib.idle_add(lambda: editor.answer("ready"))
Gtk.main()
