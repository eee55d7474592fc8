#!/usr/bin/python3
"""A Qt 5 text edit, and by command an owner and reader of any MIME type.

Carries in the text edit: valid UTF-8, characters beyond the BMP included, 5 MB; a NUL is no character of a document,
and an empty selection isn't copied. By `offer` and `fetch`: any bytes under any MIME type.
"""

import os
import sys

from PyQt5 import QtCore, QtGui, QtWidgets

from program import Commands, options, read_bytes, tell, write_bytes


class Edit(QtWidgets.QPlainTextEdit):
    """Tells when a paste by key is over; Qt waits for the owner inside it."""

    def keyPressEvent(self, event):
        super().keyPressEvent(event)
        if event.matches(QtGui.QKeySequence.Paste):
            tell("pasted")


class Program:
    def __init__(self, application, wm_class):
        self.application = application
        self.edit = Edit()
        self.edit.setWindowTitle(wm_class)
        self.edit.resize(420, 160)

    def show(self):
        self.edit.show()
        self.edit.setFocus()
        return {"window": int(self.edit.winId()), "pid": os.getpid()}

    def load(self, path):
        self.edit.setPlainText(read_bytes(path).decode())
        return self.length()

    def text(self):
        return self.edit.toPlainText().encode()

    def dump(self, path):
        write_bytes(path, self.text())
        return {"bytes": len(self.text())}

    def clear(self):
        self.edit.clear()

    def bounds(self):
        cursor = self.edit.textCursor()
        return {"marked": cursor.hasSelection(), "text": cursor.selectedText()}

    def length(self):
        return {"bytes": len(self.text())}

    def offer(self, *pairs):
        """offer TYPE=FILE..."""
        content = QtCore.QMimeData()
        for pair in pairs:
            name, _, path = pair.rpartition("=")
            content.setData(name, read_bytes(path))
        self.application.clipboard().setMimeData(content)

    def fetch(self, name, path):
        """fetch TYPE FILE"""
        content = self.application.clipboard().mimeData()
        if content is None or not content.hasFormat(name):
            return {"refused": True, "bytes": 0}
        found = bytes(content.data(name))
        write_bytes(path, found)
        return {"refused": False, "bytes": len(found)}

    def targets(self):
        content = self.application.clipboard().mimeData()
        return {"targets": list(content.formats()) if content else []}


def main():
    wm_class = options(__doc__.splitlines()[0]).wm_class
    # Qt takes the instance from the program's name and the class from the application's.
    QtWidgets.QApplication.setDesktopFileName(wm_class.lower())
    application = QtWidgets.QApplication([wm_class.lower(), "-name", wm_class.lower()])
    application.setApplicationName(wm_class)
    program = Program(application, wm_class)
    names = ["load", "dump", "clear", "length", "show", "bounds", "offer", "fetch", "targets"]
    commands = Commands({name: getattr(program, name) for name in names}, application.quit)
    notifier = QtCore.QSocketNotifier(0, QtCore.QSocketNotifier.Read)

    def ready():
        if not commands.ready():
            notifier.setEnabled(False)

    notifier.activated.connect(ready)
    tell("ready", pid=os.getpid())
    sys.exit(application.exec_())


main()
