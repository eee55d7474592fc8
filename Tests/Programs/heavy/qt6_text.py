#!/usr/bin/python3
"""Qt 6 text edits, plain and rich, a picture, and a holder of an object; one is shown, and toolkit.py tells which.

The edits copy and paste by their own keys. The holder gives the clipboard data with a Python object in it, which Qt hands to
whoever asks in the same process; others get a few bytes that stand for it.
"""

import sys

from PyQt6 import QtCore, QtGui, QtWidgets

MARK = "application/x-qt6-text-thing"


def read_text(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class Thing(QtCore.QMimeData):
    def __init__(self, name):
        super().__init__()
        self.name = name
        self.setData(MARK, b"a thing")


class Holder(QtWidgets.QLabel):
    """Copies what it was given and takes what is on the clipboard, by key, as edits do."""

    def __init__(self):
        super().__init__()
        self.setFocusPolicy(QtCore.Qt.FocusPolicy.StrongFocus)
        self.given = self.taken = None

    def keyPressEvent(self, event):
        clipboard = QtGui.QGuiApplication.clipboard()
        if event.matches(QtGui.QKeySequence.StandardKey.Copy):
            self.copy(clipboard)
        elif event.matches(QtGui.QKeySequence.StandardKey.Paste):
            self.paste(clipboard)


class ThingHolder(Holder):
    def copy(self, clipboard):
        # The clipboard deletes what it was given when another copy comes.
        self.given = Thing(self.name)
        clipboard.setMimeData(self.given)

    def paste(self, clipboard):
        content = clipboard.mimeData()
        if content is self.given:
            self.taken = f"same {content.name}"
        elif content.hasFormat(MARK):
            self.taken = "another thing"


class Picture(Holder):
    def copy(self, clipboard):
        clipboard.setImage(self.given)

    def paste(self, clipboard):
        image = clipboard.image()
        self.taken = None if image.isNull() else image


class Program(QtWidgets.QStackedWidget):
    def __init__(self):
        super().__init__()
        self.setWindowTitle("Qt6Text")
        self.resize(420, 160)
        self.kinds = {
            "text": QtWidgets.QPlainTextEdit(), "rich": QtWidgets.QTextEdit(), "image": Picture(), "object": ThingHolder()}
        for widget in self.kinds.values():
            self.addWidget(widget)
        self.rest = b""
        self.kind = "text"

    @property
    def shown(self):
        return self.kinds[self.kind]

    def choose(self, kind):
        self.kind = kind
        self.setCurrentWidget(self.shown)
        self.shown.setFocus()

    def load(self, path):
        match self.kind:
            case "text": self.shown.setPlainText(read_text(path))
            case "rich": self.shown.setHtml(read_text(path))
            case "image": self.shown.given = QtGui.QImage(path)
            case "object": self.shown.name = read_text(path)

    def select(self):
        if isinstance(self.shown, Holder):
            return
        self.shown.selectAll()

    def empty(self):
        if isinstance(self.shown, Holder):
            self.shown.taken = None
        else:
            self.shown.clear()

    def dump(self, path):
        taken = getattr(self.shown, "taken", None)
        if isinstance(taken, QtGui.QImage):
            taken.save(path, "PNG")
            return
        with open(path, "w", encoding="utf-8") as file:
            match self.kind:
                case "text": file.write(self.shown.toPlainText())
                case "rich": file.write("".join(self.runs()).strip())
                case _: file.write(taken or "")

    def runs(self):
        """The text with its bold and italic runs marked, since the HTML that Qt writes has a form of its own."""
        block = self.shown.document().begin()
        while block.isValid():
            piece = block.begin()
            while not piece.atEnd():
                fragment = piece.fragment()
                looks = fragment.charFormat()
                letters = ("b" if looks.fontWeight() > QtGui.QFont.Weight.Normal else "") + ("i" if looks.fontItalic() else "")
                yield f"[{letters} {fragment.text()}]" if letters and fragment.text().strip() else fragment.text()
                piece += 1
            yield "\n"
            block = block.next()

    def obey(self, line):
        commands = {"show": self.choose, "load": self.load, "select": self.select, "clear": self.empty, "dump": self.dump}
        name, *words = line.split()
        try:
            commands[name](*words)
            print("done", flush=True)
        except Exception as error:  # the driver has to see it, whatever it is
            print("error:", error, flush=True)


def main():
    application = QtWidgets.QApplication(["qt6text", "-name", "qt6text"])
    application.setApplicationName("Qt6Text")
    program = Program()
    program.show()
    notifier = QtCore.QSocketNotifier(0, QtCore.QSocketNotifier.Type.Read)

    def ready():
        piece = sys.stdin.buffer.raw.read(65536)
        if not piece:
            application.quit()
            return
        *lines, program.rest = (program.rest + piece).split(b"\n")
        for line in lines:
            program.obey(line.decode())

    notifier.activated.connect(ready)
    print("ready", flush=True)
    sys.exit(application.exec())


main()
