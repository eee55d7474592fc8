#!/usr/bin/python3
"""The panel's side of the tray on the session bus, without a panel: owns the watcher's name, and prints one line for each
item that registers and for each signal of such an item. It reads an item when that registers, as panels do."""

import argparse
import os

from gi.repository import Gio, GLib

from program import tell

NAME = "org.kde.StatusNotifierWatcher"
INTERFACE = f"""<node><interface name="{NAME}">
  <method name="RegisterStatusNotifierItem"><arg type="s" direction="in"/></method>
  <method name="RegisterStatusNotifierHost"><arg type="s" direction="in"/></method>
  <property name="IsStatusNotifierHostRegistered" type="b" access="read"/>
  <property name="ProtocolVersion" type="i" access="read"/>
</interface></node>"""


class Host:
    def __init__(self, bus, refuses, reads):
        self.bus = bus
        self.refuses = refuses
        self.reads = reads
        node = Gio.DBusNodeInfo.new_for_xml(INTERFACE)
        bus.register_object("/StatusNotifierWatcher", node.interfaces[0], self.called, self.property, None)

    def property(self, bus, sender, path, interface, name):
        return GLib.Variant("b", True) if name.startswith("Is") else GLib.Variant("i", 0)

    def called(self, bus, sender, path, interface, method, arguments, call):
        item = arguments.unpack()[0]
        if self.refuses:
            tell("refused", item=item)
            call.return_dbus_error("org.example.Refused", "no room")
            return
        call.return_value(None)
        name, path = (sender, item) if item.startswith("/") else (item, "/StatusNotifierItem")
        bus.signal_subscribe(sender, None, None, None, None, Gio.DBusSignalFlags.NONE, self.signalled)
        if self.reads:
            bus.call(name, path, "org.freedesktop.DBus.Properties", "GetAll",
                     GLib.Variant("(s)", ("org.kde.StatusNotifierItem",)), None, Gio.DBusCallFlags.NONE, -1, None,
                     lambda bus, result: self.read(item, name, bus.call_finish(result).unpack()[0]))
        else:
            tell("registered", item=item)

    def read(self, item, name, properties):
        pixmaps = [[width, height, len(pixels)] for width, height, pixels in properties.pop("IconPixmap")]
        properties.pop("AttentionIconPixmap")
        self.bus.call(name, properties["Menu"], "com.canonical.dbusmenu", "GetLayout",
                      GLib.Variant("(iias)", (0, -1, [])), None, Gio.DBusCallFlags.NONE, -1, None,
                      lambda bus, result: tell("registered", item=item, pixmaps=pixmaps, properties=properties,
                                               layout=bus.call_finish(result).unpack()))

    def signalled(self, bus, sender, path, interface, member, arguments):
        tell("signal", member=member, arguments=arguments.unpack())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--refuse", action="store_true", help="take no item")
    parser.add_argument("--blind", action="store_true", help="read nothing")
    options = parser.parse_args()
    bus = Gio.bus_get_sync(Gio.BusType.SESSION)
    host = Host(bus, options.refuse, not options.blind)
    Gio.bus_own_name_on_connection(
        bus, NAME, Gio.BusNameOwnerFlags.NONE, lambda bus, name: tell("ready", pid=os.getpid()), None)
    bus.connect("closed", lambda *_: os._exit(0))
    host.loop = GLib.MainLoop()
    host.loop.run()


main()
