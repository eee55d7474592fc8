#!/usr/bin/python3
"""Two GTK 4 text views, of which one has tags, and a holder of an object; one is shown, and toolkit.py tells which.

Text views copy and paste by their own keys. The holder gives the clipboard the object itself, as GTK 4 programs do with what only
they understand: nothing of it leaves the process.
"""

import os
import sys

import gi

gi.require_version("Gdk", "4.0")
gi.require_version("Gtk", "4.0")
from gi.repository import Gdk, GLib, GObject, Gtk  # noqa: E402

BOLD = 700


def read_text(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class Thing(GObject.Object):
    """What the holder holds. Its name is in no form of text on the clipboard."""

    def __init__(self, name):
        super().__init__()
        self.name = name


class Holder(Gtk.Widget):
    """Copies the thing that it was given, and takes the one that is on the clipboard."""

    def __init__(self):
        super().__init__(focusable=True)
        self.given = self.taken = None
        shortcuts = Gtk.ShortcutController()
        for keys, action in (("<Control>c", self.copy), ("<Control>v", self.paste)):
            shortcuts.add_shortcut(
                Gtk.Shortcut(trigger=Gtk.ShortcutTrigger.parse_string(keys), action=Gtk.CallbackAction.new(action)))
        self.add_controller(shortcuts)

    def copy(self, *_):
        self.get_clipboard().set_content(Gdk.ContentProvider.new_for_value(GObject.Value(Thing, self.given)))
        return True

    def paste(self, *_):
        def taken(clipboard, result):
            try:
                self.taken = clipboard.read_value_finish(result)
            except GLib.Error as error:
                print(error, file=sys.stderr)

        self.get_clipboard().read_value_async(Thing.__gtype__, GLib.PRIORITY_DEFAULT, None, taken)
        return True


class Program:
    def __init__(self, window):
        self.texts = {"text": Gtk.TextView(), "styled": Gtk.TextView()}
        self.bold = self.texts["styled"].get_buffer().create_tag("bold", weight=BOLD)
        self.holder = Holder()
        self.stack = Gtk.Stack()
        for name, child in {**self.texts, "object": self.holder}.items():
            self.stack.add_named(child, name)
        window.set_child(self.stack)
        window.set_default_size(420, 160)
        window.present()

    @property
    def view(self):
        return self.stack.get_visible_child()

    def show(self, kind):
        self.stack.set_visible_child_name(kind)
        self.view.grab_focus()

    def load(self, path):
        text = read_text(path)
        if self.view is self.holder:
            self.holder.given = Thing(text)
            return
        buffer = self.view.get_buffer()
        buffer.set_text(text)
        if self.view is self.texts["styled"]:
            # The first half, so that there is text of both looks.
            buffer.apply_tag(self.bold, buffer.get_start_iter(), buffer.get_iter_at_offset(len(text) // 2))

    def select(self):
        if self.view is not self.holder:
            buffer = self.view.get_buffer()
            buffer.select_range(*buffer.get_bounds())
        self.view.grab_focus()

    def clear(self):
        if self.view is self.holder:
            self.holder.taken = None
        else:
            self.view.get_buffer().set_text("")

    def held(self):
        if self.view is self.holder:
            taken = self.holder.taken
            return f"{'same' if taken is self.holder.given else 'another'} {taken.name}" if taken else ""
        buffer = self.view.get_buffer()
        text = buffer.get_text(*buffer.get_bounds(), True)
        if self.view is self.texts["text"]:
            return text
        looks = (buffer.get_iter_at_offset(place).has_tag(self.bold) for place in range(len(text)))
        return "".join(f"[{letter}]" if is_bold else letter for letter, is_bold in zip(text, looks))

    def dump(self, path):
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.held())


def main():
    GLib.set_prgname("gtk4text")
    Gtk.init()
    window = Gtk.Window(title="Gtk4Text")
    program = Program(window)
    loop = GLib.MainLoop()
    window.connect("close-request", lambda _: loop.quit())
    rest = b""

    def obey(*_):
        nonlocal rest
        piece = os.read(0, 65536)
        if not piece:
            loop.quit()
            return False
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            name, *words = line.decode().split()
            try:
                getattr(program, name)(*words)
                print("done", flush=True)
            except Exception as error:  # the driver has to see it, whatever it is
                print("error:", error, flush=True)
        return True

    GLib.io_add_watch(0, GLib.PRIORITY_DEFAULT, GLib.IOCondition.IN | GLib.IOCondition.HUP, obey)
    print("ready", flush=True)
    loop.run()


main()
