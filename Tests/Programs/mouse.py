#!/usr/bin/python3
"""A hand at the mouse: moves, presses and drags by XTEST, at places inside windows, and looks at pixels."""

import argparse
import ctypes
import hashlib
import os
import select
import time

from program import Commands, tell

ALL_PLANES = ctypes.c_ulong(-1).value
Z_PIXMAP = 2


class Image(ctypes.Structure):
    """The beginning of XImage."""

    _fields_ = [(name, ctypes.c_int) for name in ("width", "height", "xoffset", "format")] + [
        ("data", ctypes.c_void_p)
    ] + [(name, ctypes.c_int) for name in ("byte_order", "unit", "bit_order", "pad", "depth", "bytes_per_line")]


class Mouse:
    def __init__(self):
        self.x11 = ctypes.CDLL("libX11.so.6")
        self.xtst = ctypes.CDLL("libXtst.so.6")
        self.x11.XOpenDisplay.restype = ctypes.c_void_p
        self.x11.XDefaultRootWindow.restype = ctypes.c_ulong
        self.x11.XGetImage.restype = ctypes.POINTER(Image)
        opened = self.x11.XOpenDisplay(None)
        if not opened:
            raise RuntimeError("no display")
        self.display = ctypes.c_void_p(opened)
        self.root = ctypes.c_ulong(self.x11.XDefaultRootWindow(self.display))

    def sync(self):
        self.x11.XSync(self.display, 0)

    def place(self, window, x, y):
        """Where a place inside a window is on the screen."""
        at_x, at_y, child = ctypes.c_int(), ctypes.c_int(), ctypes.c_ulong()
        self.x11.XTranslateCoordinates(
            self.display, ctypes.c_ulong(int(window)), self.root, int(x), int(y), ctypes.byref(at_x),
            ctypes.byref(at_y), ctypes.byref(child))
        return at_x.value, at_y.value

    def go(self, x, y):
        self.xtst.XTestFakeMotionEvent(self.display, -1, x, y, 0)
        self.sync()

    def button(self, number, is_down):
        self.xtst.XTestFakeButtonEvent(self.display, int(number), int(is_down), 0)
        self.sync()

    def move(self, window, x, y):
        """move WINDOW X Y"""
        self.go(*self.place(window, x, y))

    def down(self, number):
        self.button(number, True)

    def up(self, number):
        self.button(number, False)

    def hold(self, window, x, y, to_x, to_y, steps, milliseconds):
        """hold WINDOW X Y TO_X TO_Y STEPS MILLISECONDS: drags with button 1 and keeps it down."""
        x, y = self.place(window, x, y)
        to_x, to_y = self.place(window, to_x, to_y)
        self.go(x, y)
        self.button(1, True)
        for step in range(1, int(steps) + 1):
            part = step / int(steps)
            self.go(round(x + (to_x - x) * part), round(y + (to_y - y) * part))
            time.sleep(int(milliseconds) / 1000)

    def drag(self, *words):
        """As hold, and lets go."""
        self.hold(*words)
        self.button(1, False)

    def click(self, number, window, x, y):
        """click BUTTON WINDOW X Y"""
        self.move(window, x, y)
        self.button(number, True)
        self.button(number, False)

    def grab(self):
        """grab: keeps keyboard and pointer to itself, as a screen locker does; 0 is success, 1 that somebody has it."""
        now = ctypes.c_ulong(0)
        keyboard = self.x11.XGrabKeyboard(self.display, self.root, 0, 1, 1, now)
        pointer = self.x11.XGrabPointer(
            self.display, self.root, 0, 0, 1, 1, ctypes.c_ulong(0), ctypes.c_ulong(0), now)
        return {"keyboard": keyboard, "pointer": pointer}

    def ungrab(self):
        now = ctypes.c_ulong(0)
        self.x11.XUngrabKeyboard(self.display, now)
        self.x11.XUngrabPointer(self.display, now)
        self.sync()

    def where(self, window):
        """where WINDOW: its corner on the screen."""
        x, y = self.place(window, 0, 0)
        return {"x": x, "y": y}

    def pixels(self, window, x, y, width, height):
        """pixels WINDOW X Y WIDTH HEIGHT: a digest of what is shown there."""
        image = self.x11.XGetImage(
            self.display, ctypes.c_ulong(int(window)), int(x), int(y), int(width), int(height),
            ctypes.c_ulong(ALL_PLANES), Z_PIXMAP)
        if not image:
            raise RuntimeError("no picture of the window")
        shown = ctypes.string_at(image.contents.data, image.contents.bytes_per_line * image.contents.height)
        self.x11.XFree(ctypes.c_void_p(image.contents.data))
        self.x11.XFree(image)
        return {"digest": hashlib.sha256(shown).hexdigest()}

    def find(self, red, green, blue):
        """find RED GREEN BLUE: how many pixels of the screen have that colour, and the middle of them."""
        screen = ctypes.c_int(self.x11.XDefaultScreen(self.display))
        width, height = self.x11.XDisplayWidth(self.display, screen), self.x11.XDisplayHeight(self.display, screen)
        image = self.x11.XGetImage(
            self.display, self.root, 0, 0, width, height, ctypes.c_ulong(ALL_PLANES), Z_PIXMAP)
        if not image:
            raise RuntimeError("no picture of the screen")
        shown = ctypes.string_at(image.contents.data, image.contents.bytes_per_line * height)
        self.x11.XFree(ctypes.c_void_p(image.contents.data))
        self.x11.XFree(image)
        # A pixel of depth 24 has four bytes, the last unused.
        wanted = bytes([int(blue), int(green), int(red)])
        places = []
        at = shown.find(wanted)
        while at >= 0:
            if at % 4 == 0:
                places.append(divmod(at // 4, width))
            at = shown.find(wanted, at + 1)
        count = max(1, len(places))
        return {"count": len(places), "x": sum(place[1] for place in places) // count,
                "y": sum(place[0] for place in places) // count, "root": self.root.value}


def main():
    argparse.ArgumentParser(description=__doc__).parse_args()
    mouse = Mouse()
    stopped = []
    names = ["move", "down", "up", "hold", "drag", "click", "where", "pixels", "grab", "ungrab", "find"]
    commands = Commands({name: getattr(mouse, name) for name in names}, lambda: stopped.append(True))
    tell("ready", pid=os.getpid())
    while not stopped:
        select.select([0], [], [])
        commands.ready()


main()
