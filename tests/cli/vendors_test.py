#!/usr/bin/env python3
"""isobit platforms --vendors: every setting of every library, those that are here with digests of their products.

usage: vendors_test.py [FILE]   FILE: where the listing is left for the tests that need libraries (Case.vendors)
"""
import json
import sys

from isobit_cli import Case, main

FILE = sys.argv.pop(1) if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else None


class Vendors(Case):
    def test_the_listing(self):
        listed = self.isobit_json("platforms", "--vendors")
        names = [entry["platform"] for entry in listed]
        self.assertEqual(len(names), len(set(names)))
        for entry in listed:
            for digest in (entry.get("float32_digest"), entry.get("float64_digest")):
                self.assertRegex(digest or "0" * 64, "^[0-9a-f]{64}$", entry)
        if FILE:
            with open(FILE, "w", encoding="utf-8") as f:
                json.dump(listed, f)


if __name__ == "__main__":
    main()
