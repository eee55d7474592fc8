"""What the drivers of LibreOffice's programs share: an own profile, the UNO connection by a pipe, dialogs that open."""

import argparse
import os
import time

import uno
from com.sun.star.beans import PropertyValue
from com.sun.star.connection import NoConnectException

from desktop import START_LIMIT, Driver, picture_form, run, wait_until, windows

# What a first start would show in front of the document.
SETTINGS = {
    ("/org.openoffice.Office.Common/Misc", "ShowTipOfTheDay"): ("boolean", "false"),
    ("/org.openoffice.Office.Common/Misc", "FirstRun"): ("boolean", "false"),
    ("/org.openoffice.Office.Common/Misc", "CrashReport"): ("boolean", "false"),
    ("/org.openoffice.Setup/Product", "ooSetupLastVersion"): ("string", "99.0"),
    ("/org.openoffice.Setup/Office", "LastCompatibilityCheckID"): ("string", "none"),
    ("/org.openoffice.Office.Recovery/AutoSave", "Enabled"): ("boolean", "false"),
    # A dialog that asks how to paste would wait for an answer that differs in nothing here.
    ("/org.openoffice.Office.Calc/Dialogs/CSVImport", "Language"): ("int", "0"),
}

# Longest wait for a paste of nothing. What arrives has to stay as it is for SETTLING before it counts as whole.
PASTE_LIMIT = 5
SETTLING = 0.1
# How long LibreOffice may take to learn of a new owner.
NOTICING = 3


def item(path, name, kind, value):
    return (f'<item oor:path="{path}"><prop oor:name="{name}" oor:op="fuse" oor:type="xs:{kind}"><value>{value}</value>'
            "</prop></item>")


def value(name, content):
    return PropertyValue(name, 0, content, 0)


class Office(Driver):
    """`option` opens the kind of document, `wm_class` is the class of its window."""

    option = ""

    def open(self):
        parser = argparse.ArgumentParser()
        parser.add_argument("--vcl", choices=["gtk3", "gen"], default="gtk3", help="toolkit below the user interface")
        vcl = self.vcl = parser.parse_args().vcl
        os.makedirs(self.path("profile/user"))
        with open(self.path("profile/user/registrymodifications.xcu"), "w", encoding="utf-8") as file:
            file.write('<?xml version="1.0" encoding="UTF-8"?>\n<oor:items xmlns:oor="http://openoffice.org/2001/registry" '
                       'xmlns:xs="http://www.w3.org/2001/XMLSchema">')
            file.writelines(item(*where, *what) for where, what in SETTINGS.items())
            file.write("</oor:items>\n")
        name = f"xpb{os.getpid()}"
        self.process = self.start(
            "soffice", f"--accept=pipe,name={name};urp;", "-env:UserInstallation=file://" + self.path("profile"),
            "--norestore", "--nologo", "--nolockcheck", "--nofirststartwizard", "--" + self.option,
            env=os.environ | {"SAL_USE_VCLPLUGIN": vcl, "DBUS_SESSION_BUS_ADDRESS": "disabled:"})
        here = uno.getComponentContext()
        resolver = here.ServiceManager.createInstanceWithContext("com.sun.star.bridge.UnoUrlResolver", here)

        def connect():
            try:
                return resolver.resolve(f"uno:pipe,name={name};urp;StarOffice.ComponentContext")
            except NoConnectException:
                if self.process.poll() is not None:
                    raise RuntimeError(f"soffice: expected it to run, found status {self.process.returncode}") from None
                return None

        self.context = wait_until(START_LIMIT, connect)
        if not self.context:
            raise RuntimeError(f"soffice: expected a connection within {START_LIMIT} s, found none")
        # The splash screen's process stays the parent of the office itself.
        self.pid = int(run("pgrep", "-P", str(self.process.pid), "soffice.bin").stdout.split()[0])
        self.desktop = self.service("com.sun.star.frame.Desktop")
        # The document that the office opens itself; another one, asked for while it starts, may block it for good.
        self.document = wait_until(START_LIMIT, self.opened)
        if not self.document:
            raise RuntimeError(f"soffice: expected a document within {START_LIMIT} s, found none")
        self.controller = self.document.CurrentController
        self.window = self.find_window("--all", "--pid", str(self.pid), "--class", f"^{self.wm_class}$")

        if not wait_until(START_LIMIT, self.takes_keys):
            raise RuntimeError(f"soffice: expected a document that takes keys within {START_LIMIT} s")
        self.clear()

    def opened(self):
        documents = self.desktop.getComponents().createEnumeration()
        document = documents.nextElement() if documents.hasMoreElements() else None
        return document if document and document.CurrentController else None

    def takes_keys(self):
        self.keys(self.window, "x", "Return")
        return wait_until(1, self.summary)

    def service(self, name):
        return self.context.ServiceManager.createInstanceWithContext(name, self.context)

    def copy(self):
        self.select()
        self.keys(self.window, *self.copying)

    copying = ("ctrl+c",)

    def paste(self, kind, path, seconds=PASTE_LIMIT):
        self.clear()
        if self.vcl == "gen":
            wait_until(NOTICING, self.knows_clipboard)
        before = windows()
        self.keys(self.window, "ctrl+v")
        end = time.monotonic() + float(seconds)
        last, since = b"", time.monotonic()
        dialogs = 0
        while time.monotonic() < end:
            # How to read the text, asked with an answer at hand: a person presses Return.
            held = self.summary()
            if not held and windows() - before:
                dialogs += 1
                self.answer_dialog(windows() - before)
                end = time.monotonic() + float(seconds)
            if held != last:
                last, since = held, time.monotonic()
            elif held and time.monotonic() - since > SETTLING:
                break
            time.sleep(0.02)
        content = self.form()
        with open(path, "wb") as file:
            file.write(content)
        self.clear()
        return {"bytes": len(content), "dialogs": dialogs}

    def knows_clipboard(self):
        """Whether LibreOffice's own list of formats is that of the selection's owner.

        On its gen toolkit it remembers the list for a while and learns of a new owner late: keys pressed before paste
        formats of the owner before, or nothing, which a person sees too and presses again.
        """
        listed = run("xclip", "-o", "-selection", "clipboard", "-t", "TARGETS").stdout.split("\n")
        contents = self.service("com.sun.star.datatransfer.clipboard.SystemClipboard").getContents()
        known = {flavor.MimeType.partition(";")[0] for flavor in contents.getTransferDataFlavors()}
        texts = {"UTF8_STRING", "STRING", "text/plain", "text/plain;charset=utf-8"}
        return ("text/plain" in known) == bool(texts & set(listed)) and all(
            (kind in known) == (kind in listed) for kind in ("text/html", "image/png"))

    def answer_dialog(self, new):
        opened = windows()
        run("xdotool", "key", "Return")
        wait_until(3, lambda: not new & windows() or windows() - opened)

    def pixels(self, graphic):
        """The picture's pixels as PNG, in the form of all pictures."""
        path = self.path("picture.png")
        self.service("com.sun.star.graphic.GraphicProvider").storeGraphic(
            graphic, (value("URL", "file://" + path), value("MimeType", "image/png")))
        with open(path, "rb") as file:
            return picture_form(file.read()).decode().strip()

    def graphic(self, path):
        return self.service("com.sun.star.graphic.GraphicProvider").queryGraphic((value("URL", "file://" + path),))

    def close(self):
        try:
            # Unsaved documents would ask.
            self.document.setModified(False)
            self.desktop.terminate()
            self.process.wait(5)
        except Exception:  # it may be gone already; what is left is ended below
            pass
        super().close()
