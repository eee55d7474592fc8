#!/usr/bin/python3
"""Inkscape: copies what is in a drawing and pastes pictures and drawings into a new one.

`load image` takes a PNG, which becomes a picture in the drawing, or a drawing (SVG). `state` tells what the window is
called: an export by one of Inkscape's extensions gives the person's drawing another name.
"""

import base64
import os
import re
import struct
import urllib.parse
import xml.etree.ElementTree as ElementTree

from gi.repository import Gio, GLib

from desktop import Driver, answer, picture_form, read_bytes, run, wait_until

SVG = "http://www.w3.org/2000/svg"
XLINK = "http://www.w3.org/1999/xlink"
# Where pasted things lie depends on the pointer; what they are doesn't.
SHAPES = {"rect": ["width", "height"], "circle": ["r"], "path": [], "text": []}

PREFERENCES = """<inkscape version="1"><group id="options">
<group id="boot" enabled="0"/><group id="svgoutput" check_on_editing="0"/></group>
<group id="dialogs"><group id="import" ask="0" ask_svg="0" link="embed"/></group></inkscape>
"""


class Inkscape(Driver):
    wm_class = "Inkscape"
    copies = ["image"]
    pastes = ["image"]

    def open(self):
        # Drawings are opened in the running program by the bus.
        self.start_bus()
        self.bus = Gio.bus_get_sync(Gio.BusType.SESSION)
        os.mkdir(self.path("profile"))
        with open(self.path("profile/preferences.xml"), "w") as file:
            file.write(PREFERENCES)
        os.environ["INKSCAPE_PROFILE_DIR"] = self.path("profile")
        self.drawings = 0
        self.drawing = self.new_drawing("")
        self.process = self.start("inkscape", self.drawing)
        self.wait_for_window()

    def new_drawing(self, content):
        self.drawings += 1
        path = self.path(f"drawing{self.drawings}.svg")
        with open(path, "w") as file:
            file.write(
                f'<svg xmlns="{SVG}" xmlns:xlink="{XLINK}" width="200" height="150" viewBox="0 0 200 150">{content}</svg>')
        return path

    def wait_for_window(self):
        name = "^" + re.escape(os.path.basename(self.drawing)) + " - Inkscape$"
        self.window = self.own_window("--name", name)

    def open_drawing(self, path):
        # The window before stays: closing it may ask whether to save.
        self.drawing = path
        uri = "file://" + urllib.parse.quote(path)
        self.bus.call_sync(
            "org.inkscape.Inkscape", "/org/inkscape/Inkscape", "org.freedesktop.Application", "Open",
            GLib.Variant("(asa{sv})", ([uri], {})), None, Gio.DBusCallFlags.NONE, 60_000, None)
        self.wait_for_window()

    def load(self, kind, path):
        content = read_bytes(path)
        if content.startswith(b"\x89PNG"):
            width, height = struct.unpack(">II", content[16:24])
            content = (
                f'<image x="0" y="0" width="{width}" height="{height}" preserveAspectRatio="none"'
                f' xlink:href="data:image/png;base64,{base64.b64encode(content).decode()}"/>')
        else:
            content = re.search(r"<svg[^>]*>(.*)</svg>", content.decode(), re.DOTALL).group(1)
        self.open_drawing(self.new_drawing(content))

    def copy(self):
        self.copy_keys(self.window, "Escape", "ctrl+a", "ctrl+c")

    def paste(self, kind, path, seconds="10"):
        self.open_drawing(self.new_drawing(""))
        self.keys(self.window, "Escape", "ctrl+v")
        # An unchanged drawing isn't saved: the star in the title says that something came.
        if not wait_until(float(seconds), lambda: self.title().startswith("*")):
            return answer(path, b"")
        before = os.stat(self.drawing).st_mtime_ns
        self.keys(self.window, "ctrl+s")
        if not wait_until(10, lambda: os.stat(self.drawing).st_mtime_ns != before and not self.title().startswith("*")):
            raise RuntimeError(f"inkscape: expected the drawing to be saved, found the title `{self.title()}`")
        return answer(path, self.form())

    def form(self):
        """The pixels of each picture in the drawing, the kind, size and style of each shape."""
        lines = []
        for element in ElementTree.parse(self.drawing).iter():
            name = element.tag.removeprefix("{" + SVG + "}")
            if name == "image":
                data = element.get("{" + XLINK + "}href") or element.get("href") or ""
                lines.append(picture_form(base64.b64decode(data.partition("base64,")[2])))
            if name in SHAPES:
                values = [name] + [f"{key}={element.get(key)}" for key in SHAPES[name] + ["style"]]
                lines.append((" ".join(values) + "\n").encode())
        return b"".join(sorted(lines))

    def title(self):
        return run("xdotool", "getwindowname", self.window).stdout.strip()

    def command_names(self):
        return super().command_names() + ["state"]

    def state(self):
        return {"title": self.title(), "drawing": os.path.basename(self.drawing)}


Inkscape().serve()
