#!/usr/bin/python3
"""A GTK 3 menu that greys Copy, Cut and Paste where XPasteBridge never allows them to this program."""
import gi

gi.require_version("Gtk", "3.0")
gi.require_version("GdkX11", "3.0")
from gi.repository import GdkX11, Gio, GLib, Gtk  # noqa: E402, F401

window, box = Gtk.Window(title="Allowed actions"), Gtk.Box(orientation=Gtk.Orientation.VERTICAL)
bar, menu, view = Gtk.MenuBar(), Gtk.Menu(), Gtk.TextView()
items = {name: Gtk.MenuItem(label=name.capitalize()) for name in ("copy", "cut", "paste")}


def update(*_):
    for name, item in items.items():
        question = GLib.Variant("(su)", (name, window.get_window().get_xid()))
        try:
            item.set_sensitive(Gio.bus_get_sync(Gio.BusType.SESSION).call_sync(
                "org.xpastebridge", "/org/xpastebridge/Bridge", "org.xpastebridge.Bridge1", "CanPerformAction",
                question, None, Gio.DBusCallFlags.NONE, 500, None).unpack()[0])
        except GLib.Error:  # Nobody guards the display.
            item.set_sensitive(True)


for name, item in items.items():
    item.connect("activate", lambda _, name=name: view.emit(f"{name}-clipboard"))
    menu.append(item)
bar.append(Gtk.MenuItem(label="Edit", submenu=menu))
menu.connect("show", update)  # _XPASTEBRIDGE_ALLOWED_ACTIONS on the window says the same without asking.
box.add(bar)
box.pack_start(view, True, True, 0)
window.add(box)
window.connect("destroy", Gtk.main_quit)
window.show_all()
Gtk.main()
