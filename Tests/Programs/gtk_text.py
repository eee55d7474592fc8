#!/usr/bin/python3
"""A GTK 3 text view, and by command an owner and reader of any targets.

Carries in the text view: valid UTF-8 without NUL, characters beyond the BMP included, 5 MB; GTK copies no empty
selection and ends a pasted text at a NUL. By `offer` and `fetch`: any bytes under any target, empty ones too.
"""

import os
import subprocess

import gi

gi.require_version("Gtk", "3.0")
gi.require_version("Gdk", "3.0")
gi.require_version("GdkX11", "3.0")
from gi.repository import Gdk, Gio, GLib, Gtk  # noqa: E402

from program import LATER, Commands, options, read_bytes, tell, write_bytes  # noqa: E402

# A paste asks up to this many times in a row (target list, then one text target after another). As many requests of
# ours, one after another to the same owner, are answered after those of the paste, since an owner answers in order.
FENCE_STEPS = 8

# What TARGETS lists beside content.
METADATA = {"TARGETS", "TIMESTAMP", "MULTIPLE", "SAVE_TARGETS"}


class Program:
    def __init__(self, wm_class):
        GLib.set_prgname(wm_class.lower())
        Gdk.set_program_class(wm_class)
        self.window = Gtk.Window(title=wm_class)
        self.window.set_default_size(420, 160)
        self.view = Gtk.TextView()
        self.buffer = self.view.get_buffer()
        scrolled = Gtk.ScrolledWindow()
        scrolled.add(self.view)
        self.window.add(scrolled)
        self.window.connect("destroy", lambda _: Gtk.main_quit())
        self.view.connect("key-press-event", self.key)
        self.buffer.connect("paste-done", lambda *_: tell("paste-done", length=self.buffer.get_char_count()))
        self.clipboard = Gtk.Clipboard.get(Gdk.SELECTION_CLIPBOARD)
        self.offered = {}
        self.pastes = 0
        self.folder = None
        self.window.connect("selection-get", self.give)

    def key(self, _, event):
        pastes = event.state & Gdk.ModifierType.CONTROL_MASK and event.keyval in (Gdk.KEY_v, Gdk.KEY_V)
        if pastes:
            self.pastes += 1
            # After the view's own handler, so that the paste has sent its first request; not as idle work, which would
            # wait until the view has laid out all of a large text.
            GLib.timeout_add(0, self.fence, self.pastes, FENCE_STEPS)
            if self.folder:
                self.clipboard.request_targets(self.listed)
        return False

    def rich(self, folder):
        """rich FOLDER: the next Ctrl+V takes everything that is on offer, each form into a file"""
        self.folder = folder

    def listed(self, _, atoms, *__):
        self.take([atom.name() for atom in atoms or [] if atom.name() not in METADATA], {})

    def take(self, names, taken):
        if not names:
            self.folder = None
            tell("taken", files=taken)
            return

        def received(_, selection):
            content = selection.get_data() if selection and selection.get_length() >= 0 else None
            if content is not None:
                taken[names[0]] = f"{self.folder}/{len(taken)}"
                write_bytes(taken[names[0]], content)
            self.take(names[1:], taken)

        self.clipboard.request_contents(Gdk.Atom.intern(names[0], False), received)

    def fence(self, number, left):
        if not left:
            tell("pasted", number=number)
            return False
        self.clipboard.request_contents(Gdk.Atom.intern("TARGETS", False), lambda *_: self.fence(number, left - 1))
        return False

    def load(self, path):
        text = read_bytes(path).decode()
        self.buffer.set_text(text)
        return {"length": self.buffer.get_char_count()}

    def text(self):
        start, end = self.buffer.get_bounds()
        return self.buffer.get_text(start, end, True).encode()

    def dump(self, path):
        write_bytes(path, self.text())
        return {"bytes": len(self.text())}

    def clear(self):
        self.buffer.set_text("")

    def length(self):
        return {"length": self.buffer.get_char_count(), "bytes": len(self.text())}

    def bounds(self):
        marked = self.buffer.get_selection_bounds()
        return {"marked": bool(marked), "text": self.buffer.get_text(*marked, True) if marked else ""}

    def show(self):
        self.window.show_all()
        self.view.grab_focus()
        return {"window": self.window.get_window().get_xid(), "pid": os.getpid()}

    def offer(self, *pairs):
        """offer [on:SELECTION] TARGET=FILE..."""
        self.offered = {}
        selection = Gdk.SELECTION_CLIPBOARD
        if pairs[0].startswith("on:"):
            selection, pairs = Gdk.Atom.intern(pairs[0][3:], False), pairs[1:]
        for pair in pairs:
            target, _, path = pair.rpartition("=")
            self.offered[target] = read_bytes(path)
        # PyGObject has no set_with_data; a widget's selection handlers do the same.
        Gtk.selection_clear_targets(self.window, selection)
        for number, target in enumerate(self.offered):
            Gtk.selection_add_target(self.window, selection, Gdk.Atom.intern(target, False), number)
        if not Gtk.selection_owner_set(self.window, selection, Gtk.get_current_event_time()):
            raise RuntimeError("the selection was not taken")

    def give(self, _, selection, *__):
        name = selection.get_target().name()
        if name in self.offered:
            selection.set(selection.get_target(), 8, self.offered[name])

    def fetch(self, target, path, selection=None):
        """fetch TARGET FILE [SELECTION]"""

        def received(_, selection):
            content = selection.get_data() if selection and selection.get_length() >= 0 else None
            if content is not None:
                write_bytes(path, content)
            tell("done", command="fetch", refused=content is None, bytes=len(content or b""))

        clipboard = Gtk.Clipboard.get(Gdk.Atom.intern(selection, False)) if selection else self.clipboard
        clipboard.request_contents(Gdk.Atom.intern(target, False), received)
        return LATER

    def board(self, socket, name, target, path):
        """board SOCKET NAME TARGET FILE: reads a board by D-Bus, as this process"""
        bus = Gio.DBusConnection.new_for_address_sync(
            f"unix:path={socket}", Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT, None, None)
        try:
            answer, descriptors = bus.call_with_unix_fd_list_sync(
                None, "/org/xpastebridge/Bridge", "org.xpastebridge.Boards1", "ReadBoard",
                GLib.Variant("(sts)", (name, 0, target)), GLib.VariantType("(h)"), Gio.DBusCallFlags.NONE, 10000, None,
                None)
        except GLib.Error as error:
            return {"refused": True, "error": Gio.DBusError.get_remote_error(error) or str(error)}
        finally:
            bus.close_sync(None)
        with os.fdopen(descriptors.get(answer.unpack()[0]), "rb") as content:
            content.seek(0)
            write_bytes(path, content.read())
        return {"refused": False}

    def spawn(self, *words):
        """spawn PROGRAM...: runs it as a child of this process"""
        done = subprocess.run(words, capture_output=True, timeout=20)
        return {"status": done.returncode, "output": done.stdout.decode(errors="replace")}

    def targets(self):
        def received(_, atoms, *__):
            tell("done", command="targets", targets=[a.name() for a in atoms or []])

        self.clipboard.request_targets(received)
        return LATER


def main():
    program = Program(options(__doc__.splitlines()[0]).wm_class)
    names = ["load", "dump", "clear", "length", "show", "bounds", "offer", "fetch", "targets", "board", "spawn", "rich"]
    commands = Commands({name: getattr(program, name) for name in names}, Gtk.main_quit)
    GLib.io_add_watch(0, GLib.IO_IN | GLib.IO_HUP, lambda *_: commands.ready())
    tell("ready", pid=os.getpid())
    Gtk.main()


main()
