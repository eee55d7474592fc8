#!/usr/bin/python3
"""A GTK 3 menu that greys Copy, Cut and Paste where XPasteBridge never allows them: its window says which it does."""
import gi

gi.require_version("Gtk", "3.0")
gi.require_version("GdkX11", "3.0")
from gi.repository import Gdk, GdkX11, Gtk  # noqa: E402, F401

ALLOWED = Gdk.Atom.intern("_XPASTEBRIDGE_ALLOWED_ACTIONS", False)
window = Gtk.Window(title="Allowed actions", events=Gdk.EventMask.PROPERTY_CHANGE_MASK)
bar, menu, view, box = Gtk.MenuBar(), Gtk.Menu(), Gtk.TextView(), Gtk.Box(orientation=Gtk.Orientation.VERTICAL)
items = {name: Gtk.MenuItem(label=name.capitalize()) for name in ("copy", "cut", "paste")}


def update(*_):
    found, _, _, atoms = Gdk.property_get(
        window.get_window(), ALLOWED, Gdk.Atom.intern("ATOM", False), 0, 64, False) or (False, None, 0, b"")
    words = memoryview(bytes(atoms)).cast("L") if found else []
    names = {GdkX11.x11_get_xatom_name(word) for word in words}
    for name, item in items.items():  # Without the property nobody guards the display.
        item.set_sensitive(not found or f"_XPASTEBRIDGE_ACTION_{name.upper()}" in names)


for name, item in items.items():
    item.connect("activate", lambda _, name=name: view.emit(f"{name}-clipboard"))
    menu.append(item)
edit = Gtk.MenuItem(label="Edit", submenu=menu)
bar.append(edit)
box.add(bar)
box.pack_start(view, True, True, 0)
window.add(box)
window.connect("destroy", Gtk.main_quit)
window.connect("property-notify-event", update)
window.show_all()
update()
Gtk.main()
