#!/usr/bin/python3
"""LibreOffice Calc with an empty sheet; content of cells is lines of tab-separated fields."""

from office import Office

# com.sun.star.sheet.CellFlags: values, dates, strings, annotations, formulas, formats, objects, edited attributes.
EVERYTHING = 1 | 2 | 4 | 8 | 16 | 32 | 64 | 128 | 256


class Calc(Office):
    wm_class = "libreoffice-calc"
    option = "calc"
    copies = ["text", "cells"]
    pastes = ["text", "cells"]

    def sheet(self):
        return self.document.Sheets.getByIndex(0)

    def load(self, kind, path):
        self.clear()
        with open(path, encoding="utf-8") as file:
            text = file.read()
        rows = [[text]] if kind == "text" else [line.split("\t") for line in text.splitlines()]
        self.range = self.sheet().getCellRangeByPosition(0, 0, len(rows[0]) - 1, len(rows) - 1)
        self.range.setDataArray(tuple(tuple(number(field) for field in row) for row in rows))

    def clear(self):
        sheet = self.sheet()
        used = sheet.createCursor()
        used.gotoEndOfUsedArea(False)
        used.gotoStartOfUsedArea(True)
        used.clearContents(EVERYTHING)
        page = sheet.DrawPage
        while page.Count:
            page.remove(page.getByIndex(0))
        self.controller.select(sheet.getCellRangeByPosition(0, 0, 0, 0))

    def select(self):
        self.controller.select(self.range)

    def data(self):
        used = self.sheet().createCursor()
        used.gotoEndOfUsedArea(False)
        end = used.RangeAddress
        return self.sheet().getCellRangeByPosition(0, 0, end.EndColumn, end.EndRow).getDataArray()

    def summary(self):
        used = self.sheet().createCursor()
        used.gotoEndOfUsedArea(False)
        end = used.RangeAddress
        size = [end.EndColumn, end.EndRow, self.sheet().DrawPage.Count]
        return size if any(size) or self.sheet().getCellByPosition(0, 0).Formula else None

    def form(self):
        if not self.summary():
            return b""
        lines = ["\t".join(text(field) for field in row) for row in self.data()]
        lines += ["object"] * self.sheet().DrawPage.Count
        return "".join(line + "\n" for line in lines).encode()


def number(field):
    try:
        return float(field)
    except ValueError:
        return field


def text(field):
    return f"{field:g}" if isinstance(field, float) else field


if __name__ == "__main__":
    Calc().serve()
