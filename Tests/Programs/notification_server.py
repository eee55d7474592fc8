"""A notification server that does as it is told: prints each call as a line of JSON and shows nothing.

Options: without=CAPABILITY (several), silent (answers no Notify), deaf (answers nothing), click (chooses the first button of
each notice at once), quit-after=N (ends after N notices).
"""

import json
import sys

import gi

gi.require_version("Gio", "2.0")
from gi.repository import Gio, GLib  # noqa: E402

NAME = "org.freedesktop.Notifications"
PATH = "/org/freedesktop/Notifications"
INTERFACE = """<node><interface name="org.freedesktop.Notifications">
<method name="GetCapabilities"><arg type="as" direction="out"/></method>
<method name="Notify"><arg type="s" direction="in"/><arg type="u" direction="in"/><arg type="s" direction="in"/>
<arg type="s" direction="in"/><arg type="s" direction="in"/><arg type="as" direction="in"/>
<arg type="a{sv}" direction="in"/><arg type="i" direction="in"/><arg type="u" direction="out"/></method>
<method name="CloseNotification"><arg type="u" direction="in"/></method>
<signal name="NotificationClosed"><arg type="u"/><arg type="u"/></signal>
<signal name="ActionInvoked"><arg type="u"/><arg type="s"/></signal>
</interface></node>"""

words = sys.argv[1:]
capabilities = ["actions", "body", "body-markup"]
for word in words:
    if word.startswith("without="):
        capabilities.remove(word.split("=", 1)[1])
limit = next((int(w.split("=", 1)[1]) for w in words if w.startswith("quit-after=")), 0)
loop = GLib.MainLoop()
count = 0


def tell(**event):
    print(json.dumps(event), flush=True)


def called(connection, sender, path, interface, method, arguments, invocation):
    global count
    values = arguments.unpack()
    if "deaf" in words:
        return tell(call=method)
    if method == "GetCapabilities":
        tell(call=method)
        return invocation.return_value(GLib.Variant("(as)", (capabilities,)))
    if method == "CloseNotification":
        tell(call=method, id=values[0])
        return invocation.return_value(None)
    count += 1
    app, replaces, icon, summary, body, actions, hints, timeout = values
    tell(call=method, app=app, replaces=replaces, summary=summary, body=body, actions=actions, hints=hints,
         timeout=timeout)
    if "silent" in words:
        return None
    number = replaces or count
    invocation.return_value(GLib.Variant("(u)", (number,)))
    if "click" in words and actions:
        connection.emit_signal(None, PATH, NAME, "ActionInvoked", GLib.Variant("(us)", (number, actions[0])))
        connection.emit_signal(None, PATH, NAME, "NotificationClosed", GLib.Variant("(uu)", (number, 2)))
    if count == limit:
        connection.flush_sync(None)
        loop.quit()
    return None


bus = Gio.bus_get_sync(Gio.BusType.SESSION, None)
bus.register_object(PATH, Gio.DBusNodeInfo.new_for_xml(INTERFACE).interfaces[0], called, None, None)
Gio.bus_own_name_on_connection(
    bus, NAME, Gio.BusNameOwnerFlags.REPLACE, lambda *_: tell(call="ready"), lambda *_: loop.quit())
loop.run()
