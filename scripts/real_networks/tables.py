"""Results that are kept while a long comparison runs, and their tables in a document."""
import json
import os
import re
import sys


class Known:
    """{key: row} in a JSON file, written after every row."""

    def __init__(self, path):
        self.path, self.rows = path, {}
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                self.rows = json.load(file)

    def keep(self, key, row):
        self.rows[key] = row
        with open(self.path + ".new", "w", encoding="utf-8") as file:
            json.dump(self.rows, file, indent=1)
        os.replace(self.path + ".new", self.path)


def cell(text, most=160):
    """A text that somebody else wrote, as one line that a table can have."""
    line = re.sub(r"\s+", " ", text).replace("|", "\\|")
    return line if len(line) <= most else line[:most - 3].rsplit(" ", 1)[0] + " ..."


def markdown(columns, rows):
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows])


def write(path, mark, columns, rows):
    """Replaces what stands between <!-- MARK --> and <!-- end of MARK --> in a document that has both."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    marks = re.compile(f"(<!-- {mark} -->\n).*?(<!-- end of {mark} -->)", re.S)
    if not marks.search(text):
        sys.exit(f"{path}: expected the lines '<!-- {mark} -->' and '<!-- end of {mark} -->'")
    text = marks.sub(lambda m: m[1] + markdown(columns, rows) + "\n" + m[2], text)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
