"""What was measured, kept as it comes: a file of JSON lines, of which the last of a key counts."""
import json
import os


class Results:
    def __init__(self, path):
        self.path = path
        self.kept = {}
        if os.path.exists(path):
            with open(path, "rb+") as file:
                whole = 0
                for line in file:
                    if not line.endswith(b"\n"):  # it was being written
                        file.truncate(whole)
                        break
                    whole += len(line)
                    self._keep(json.loads(line))

    def _keep(self, record):
        self.kept[record["part"], record["name"], record.get("threads")] = record

    def add(self, record):
        os.makedirs(os.path.dirname(self.path) or ".", exist_ok=True)
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
        self._keep(record)

    def has(self, part, name, threads, program):
        """Whether this very program was measured."""
        found = self.kept.get((part, name, threads))
        return found is not None and found["program"] == program

    def of(self, part):
        return [record for record in self.kept.values() if record["part"] == part]
