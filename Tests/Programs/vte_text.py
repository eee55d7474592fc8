#!/usr/bin/python3
"""A VTE terminal (the widget of xfce4-terminal, lxterminal and GNOME's) with a reader inside, driven like the others.

Carries as a source what a drag over one line marks; as a reader what xterm does.
"""

import os
import signal
import time

import gi

gi.require_version("Gtk", "3.0")
gi.require_version("Gdk", "3.0")
gi.require_version("GdkX11", "3.0")
gi.require_version("Vte", "2.91")
from gi.repository import Gdk, GLib, Gtk, Vte  # noqa: E402

from program import Commands, options, tell  # noqa: E402
from terminal_host import Host  # noqa: E402


class Program(Host):
    def __init__(self, wm_class):
        super().__init__("vte")
        GLib.set_prgname(wm_class.lower())
        Gdk.set_program_class(wm_class)
        self.window = Gtk.Window(title=wm_class)
        self.terminal = Vte.Terminal()
        self.terminal.set_size(60, 6)
        self.terminal.set_cursor_blink_mode(Vte.CursorBlinkMode.OFF)
        self.window.add(self.terminal)
        self.window.show_all()
        self.child = None
        self.terminal.spawn_async(
            Vte.PtyFlags.DEFAULT, None, self.reader, None, GLib.SpawnFlags.DEFAULT, None, None, -1, None, self.spawned)
        self.ask(None)

    def spawned(self, _, pid, error, *__):
        self.child = None if error else pid

    def wait_for_input(self, limit):
        end = time.monotonic() + limit
        while not super().wait_for_input(0):
            if time.monotonic() > end:
                return False
            if not Gtk.events_pending():
                time.sleep(0.002)
            while Gtk.events_pending():
                Gtk.main_iteration()
        return True

    def show(self):
        self.terminal.grab_focus()
        return {"window": self.window.get_window().get_xid(), "pid": os.getpid()}

    def bounds(self):
        return {"marked": self.terminal.get_has_selection()}

    def close(self):
        if self.child:
            os.kill(self.child, signal.SIGTERM)
        self.remove()


def main():
    program = Program(options(__doc__.splitlines()[0]).wm_class)
    names = ["load", "dump", "clear", "length", "show", "bounds"]
    commands = Commands({name: getattr(program, name) for name in names}, Gtk.main_quit)
    GLib.io_add_watch(0, GLib.IO_IN | GLib.IO_HUP, lambda *_: commands.ready())
    tell("ready", pid=os.getpid())
    Gtk.main()
    program.close()


main()
