#!/usr/bin/python3
"""GIMP: copies and pastes pictures. Its Script-Fu server loads and saves; copy and paste are real keys.

A picture pasted while no picture is open becomes one of its own, of just that size.
"""

import os
import socket
import struct

from desktop import Driver, answer, picture_form, read_bytes, run, wait_until

PLUG_INS = "/usr/lib/gimp/2.0/plug-ins"
SCRIPTS = "/usr/share/gimp/2.0/scripts"


class Gimp(Driver):
    wm_class = "Gimp"
    copies = ["image"]
    pastes = ["image"]

    def open(self):
        self.write_profile()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        server = f'(plug-in-script-fu-server RUN-NONINTERACTIVE "127.0.0.1" {self.port} "")'
        self.process = self.start(
            "gimp", "--new-instance", "--no-splash", "--no-fonts", "--no-data", "-b", server,
            env={**os.environ, "GIMP2_DIRECTORY": self.path("profile")})
        self.window = self.own_window("--class", "^Gimp$")
        if not wait_until(60, self.listens):
            raise RuntimeError("gimp: expected its Script-Fu server to listen, found no connection")

    def write_profile(self):
        """A profile that knows just the plug-ins needed here: asking all of them takes half a minute."""
        for name in "plug-ins", "scripts":
            os.makedirs(self.path("profile/" + name))
        for name in "script-fu", "file-png":
            os.symlink(f"{PLUG_INS}/{name}", self.path(f"profile/plug-ins/{name}"))
        for name in os.listdir(SCRIPTS):
            if name.endswith(".init"):
                os.symlink(f"{SCRIPTS}/{name}", self.path(f"profile/scripts/{name}"))
        settings = {
            "plug-in-path": f'"{self.path("profile/plug-ins")}"', "script-fu-path": f'"{self.path("profile/scripts")}"',
            "check-updates": "no", "save-session-info": "no", "save-document-history": "no", "confirm-on-close": "no",
            "color-profile-policy": "keep",
        }
        with open(self.path("profile/gimprc"), "w") as file:
            file.writelines(f"({name} {value})\n" for name, value in settings.items())

    def listens(self):
        with socket.socket() as connection:
            return connection.connect_ex(("127.0.0.1", self.port)) == 0

    def evaluate(self, expression):
        """A Script-Fu expression's value, as it prints."""
        text = expression.encode()
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as connection:
            connection.sendall(b"G" + struct.pack(">H", len(text)) + text)
            replies = connection.makefile("rb")
            header = replies.read(4)
            if len(header) < 4:
                raise RuntimeError("gimp: expected an answer of the Script-Fu server, found its end")
            value = replies.read(struct.unpack(">H", header[2:])[0]).decode()
        if header[1]:
            raise RuntimeError(f"gimp: {value}")
        return value

    def has_picture(self):
        return not self.evaluate("(gimp-image-list)").startswith("(0")

    def empty(self):
        # Displays are counted from 1 on; there is no list of them. The end of its last display is a picture's end.
        self.evaluate(
            "(begin (for-each gimp-image-clean-all (vector->list (cadr (gimp-image-list))))"
            " (do ((d 1 (+ d 1))) ((> d 50)) (if (= (car (gimp-display-is-valid d)) 1) (gimp-display-delete d))))")

    def load(self, kind, path):
        self.empty()
        self.evaluate(f'(gimp-display-new (car (gimp-file-load RUN-NONINTERACTIVE "{path}" "{path}")))')
        shown = wait_until(10, lambda: "GIMP" in self.title() and "x" in self.title())
        if not shown:
            raise RuntimeError(f"gimp: expected the picture in the window, found `{self.title()}`")

    def title(self):
        return run("xdotool", "getwindowname", self.window).stdout.strip()

    def copy(self):
        self.copy_keys(self.window, "ctrl+a", "ctrl+c")

    def paste(self, kind, path, seconds="10"):
        self.empty()
        wait_until(5, lambda: self.title() == "GNU Image Manipulation Program")
        self.keys(self.window, "ctrl+v")
        if not wait_until(float(seconds), self.has_picture):
            return answer(path, b"")
        copy = self.path("pasted.png")
        self.evaluate(
            f'(let* ((i (aref (cadr (gimp-image-list)) 0))) (file-png-save-defaults RUN-NONINTERACTIVE i'
            f' (car (gimp-image-merge-visible-layers i CLIP-TO-IMAGE)) "{copy}" "{copy}"))')
        return answer(path, picture_form(read_bytes(copy)))

    def close(self):
        if self.process and self.process.poll() is None:
            # The end of GIMP ends its plug-ins; they would outlive a kill.
            try:
                self.evaluate("(gimp-quit TRUE)")
                self.process.wait(5)
            except Exception:
                pass
        super().close()


Gimp().serve()
