#!/usr/bin/python3
"""LibreOffice Writer with an empty document."""

# First, since it lets Python import UNO's own names.
from office import Office, value
from com.sun.star.text.ControlCharacter import PARAGRAPH_BREAK
from com.sun.star.text.TextContentAnchorType import AS_CHARACTER


class Writer(Office):
    wm_class = "libreoffice-writer"
    option = "writer"
    copies = ["text", "rich", "image"]
    pastes = ["text", "rich", "image"]
    picture = None

    def load(self, kind, path):
        self.clear()
        text = self.document.Text
        if kind == "text":
            with open(path, encoding="utf-8") as file:
                lines = file.read().split("\n")
            cursor = text.createTextCursor()
            for number, line in enumerate(lines):
                if number:
                    text.insertControlCharacter(cursor, PARAGRAPH_BREAK, False)
                text.insertString(cursor, line, False)
        elif kind == "rich":
            text.createTextCursor().insertDocumentFromURL(
                "file://" + path, (value("FilterName", "HTML (StarWriter)"),))
        else:
            self.picture = self.document.createInstance("com.sun.star.text.TextGraphicObject")
            self.picture.AnchorType = AS_CHARACTER
            text.insertTextContent(text.createTextCursor(), self.picture, False)
            self.picture.Graphic = self.graphic(path)

    def clear(self):
        self.controller.select(self.document.Text.createTextCursor())
        self.picture = None
        for shapes in (self.document.GraphicObjects, self.document.EmbeddedObjects, self.document.TextTables,
                       self.document.TextFrames, self.document.Bookmarks):
            for name in shapes.ElementNames:
                shapes.getByName(name).dispose()
        cursor = self.document.Text.createTextCursor()
        cursor.gotoEnd(True)
        cursor.setString("")
        cursor.setAllPropertiesToDefault()
        cursor.ParaStyleName = "Standard"

    def select(self):
        if self.picture:
            self.controller.select(self.picture)
            self.copying = ("ctrl+c",)
        else:
            self.copying = ("ctrl+a", "ctrl+c")

    def summary(self):
        counts = [len(shapes.ElementNames) for shapes in (
            self.document.GraphicObjects, self.document.EmbeddedObjects, self.document.TextTables)]
        length = len(self.document.Text.String)
        return [length, *counts] if length or any(counts) else None

    def form(self):
        """Paragraphs with their portions' looks, cells of tables, pictures by their pixels."""
        lines = []
        for block in self.document.Text:
            if block.supportsService("com.sun.star.text.TextTable"):
                cells = [f"{name}={block.getCellByName(name).String}" for name in block.CellNames]
                lines.append("table " + "\t".join(cells))
                continue
            portions = []
            for portion in block:
                # A copy leaves a bookmark, which is how links find their source, in the text it copied.
                if portion.TextPortionType == "Bookmark":
                    continue
                if portion.TextPortionType != "Text":
                    portions.append(portion.TextPortionType)
                elif portion.String:
                    bold = "bold " if portion.CharWeight > 110 else ""
                    slant = "italic " if portion.CharPosture.value == "ITALIC" else ""
                    portions.append(f"{bold}{slant}`{portion.String}`")
            lines.append("paragraph " + " ".join(portions))
        for name in self.document.GraphicObjects.ElementNames:
            graphic = self.document.GraphicObjects.getByName(name).Graphic
            lines.append("picture " + (self.pixels(graphic) if graphic else "none"))
        for name in self.document.EmbeddedObjects.ElementNames:
            lines.append("object " + self.document.EmbeddedObjects.getByName(name).CLSID)
        return "".join(line + "\n" for line in lines).encode() if self.summary() else b""


if __name__ == "__main__":
    Writer().serve()
