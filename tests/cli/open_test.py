#!/usr/bin/env python3
"""Values of a step, shown and checked: isobit open and isobit verify, beside a reader of docs/formats/step-trace.md."""
import hashlib
import json
import os
import struct

from isobit_cli import SHORT, Case, contents, main


def sha(data):
    return hashlib.sha256(data).digest()


def tagged(tag, version, payload):
    return sha(struct.pack("<Q", len(tag)) + tag.encode() + struct.pack("<IQ", version, len(payload)) + payload)


def leaf(data):
    return sha(b"\0" + data)


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def fixed(self, n):
        self.at += n
        return self.data[self.at - n:self.at]

    def u64(self):
        return struct.unpack("<Q", self.fixed(8))[0]

    def bytes(self):
        return self.fixed(self.u64())

    def frame(self, tag):
        assert self.bytes() == tag.encode() and self.fixed(4) == struct.pack("<I", 1), tag


def root_of(proof, digest):
    """(index, size, root) by RFC 9162, section 2.1.3.2."""
    r = Reader(proof)
    r.frame("isobit.inclusion-proof")
    index, size = r.u64(), r.u64()
    first, last = index, size - 1
    while r.at < len(proof):
        sibling = r.fixed(32)
        if first & 1 or first == last:
            digest = sha(b"\1" + sibling + digest)
            while first and not first & 1:
                first, last = first >> 1, last >> 1
        else:
            digest = sha(b"\1" + digest + sibling)
        first, last = first >> 1, last >> 1
    assert last == 0
    return index, size, digest


class Opening:
    """What docs/formats/step-trace.md says of a shown value, and the roots that it leads to."""

    def __init__(self, data):
        r = Reader(data)
        r.frame("isobit.value-opening")
        job, step, entry, in_schema, in_trace = r.fixed(32), r.fixed(8), r.bytes(), r.bytes(), r.bytes()
        tiles, tile_root = r.u64(), r.fixed(32)
        self.tiles = [(r.bytes(), r.bytes()) for _ in range(r.u64())]
        assert r.at == len(data)
        e = Reader(entry)
        e.frame("isobit.trace-entry")
        e.fixed(8 + 1 + 8 + 8)
        name, dtype = e.bytes(), e.fixed(1)
        dims = [e.u64() for _ in range(e.u64())]
        split = e.fixed(4)
        flat = len(dims) < 2
        header = tagged("isobit.tensor-header", 1, struct.pack("<Q", len(name)) + name + dtype + struct.pack("<I", len(dims))
                        + b"".join(struct.pack("<Q", d) for d in dims) + (b"\0" * 5 if flat else b"\1" + split))
        for tile, path in self.tiles:
            assert tile[:32] == header and root_of(path, leaf(tile))[1:] == (tiles, tile_root)
        tensor = tagged("isobit.tensor-root", 1, header + struct.pack("<Q", tiles) + tile_root)
        index, size, schema = root_of(in_schema, leaf(entry))
        value = struct.pack("<Q", 18) + b"isobit.trace-value" + struct.pack("<IQ", 1, index) + tensor
        assert (index, size) == root_of(in_trace, leaf(value))[:2]
        self.schema = tagged("isobit.trace-schema", 1, struct.pack("<Q", size) + schema).hex()
        values = root_of(in_trace, leaf(value))[2]
        self.trace = tagged("isobit.step-trace", 1, job + step + struct.pack("<Q", size) + values).hex()


class Open(Case):
    def setUp(self):
        super().setUp()
        self.train("d.run")

    def test_every_value_leads_to_the_roots(self):
        trace = self.isobit_json("open", "d.run", "--step", "7")
        schema = self.isobit_json("job", "check", os.path.join(self.dir, "d.run", "job.toml"), "--trace-schema")
        self.assertEqual(trace["schema_root"], schema["trace_schema_root"])
        self.assertEqual(len(trace["values"]), len(schema["entries"]))
        kinds = {v["kind"]: v for v in trace["values"]}
        self.assertEqual(set(kinds), {"state", "batch", "rate", "output", "statistic"})
        for kind in ("output", "statistic"):
            v = kinds[kind]
            shown = self.isobit_json("open", "d.run", "--step", "7", "--node", str(v["node"]), f"--{kind}", str(v["place"]),
                                     "--out", f"{kind}.opening")
            self.assertEqual((shown["value"], shown["tensor_root"]), (v["value"], v["tensor_root"]))
            with open(self.path(f"{kind}.opening"), "rb") as f:
                opening = Opening(f.read())
            self.assertEqual((opening.trace, opening.schema), (trace["trace_root"], trace["schema_root"]))

    def test_what_is_shown_are_the_bits(self):
        shown = self.isobit_json("open", "d.run", "--step", "4", "--value", "fc2.weight", "--tile", "0,7", "--tile", "0,0",
                                 "--out", "w.opening")
        first = shown["tiles"][1]
        self.assertEqual((first["row"], first["column"], first["columns"], len(first["values"])), (0, 0, 16, 160))
        self.isobit("export", "d.run", "--step", "4", "--out", "w.safetensors")
        with open(self.path("w.safetensors"), "rb") as f:
            data = f.read()
        (size,) = struct.unpack("<Q", data[:8])
        begin, _ = json.loads(data[8:8 + size])["fc2.weight"]["data_offsets"]
        row = data[8 + size + begin:][:64]
        self.assertEqual([struct.pack(">I", int(b, 16))[::-1] for b in first["bits"][:16]],
                         [row[i:i + 4] for i in range(0, 64, 4)])
        self.assertTrue(shown["state_committed"])

    def test_a_shown_value_is_checked_by_anybody(self):
        shown = self.isobit_json("open", "d.run", "--step", "7", "--node", "0", "--out", "c.opening")
        other = self.isobit_json("open", "d.run", "--step", "8", "--node", "0")["trace_root"]
        root = shown["trace_root"]
        again = self.isobit_json("verify", "c.opening", "--trace-root", root)
        self.assertEqual((again["verdict"], again["tiles"]), ("accepted", shown["tiles"]))
        self.assertEqual(self.isobit_json("verify", "c.opening", "--trace-root", other, code=1)["verdict"], "rejected")
        with open(self.path("c.opening"), "rb") as f:
            data = bytearray(f.read())
        data[-400] ^= 1
        self.write("bent.opening", bytes(data))
        told = self.isobit("--json", "verify", "bent.opening", "--trace-root", root, code=(1, 3))
        self.assertNotIn('"accepted"', told.out)
        self.write("cut.opening", bytes(data[:-1]))
        self.fails("verify", "cut.opening", code=3, says=["cut.opening"])

    def test_two_lists_of_a_step_have_a_first_difference(self):
        here = self.isobit_json("open", "d.run", "--step", "7", "--out", "here.trace")
        self.assertIsNone(self.isobit_json("open", "d.run", "--step", "7", "--against", "here.trace")["first_difference"])
        with open(self.path("here.trace"), "rb") as f:
            data = bytearray(f.read())
        relu = next(v for v in here["values"] if v["name"] == "relu")["value"]
        for value in (relu + 3, relu):  # the first of several counts
            data[len(data) - 1 - 32 * (len(here["values"]) - value)] ^= 1
        self.write("theirs.trace", bytes(data))
        told = self.isobit_json("open", "d.run", "--step", "7", "--against", "theirs.trace", code=1)
        first = told["first_difference"]
        self.assertEqual((first["value"], first["name"], first["operator"]), (relu, "relu", "Relu"))
        self.assertEqual(told["trace_root"], here["trace_root"])
        self.assertNotEqual(told["their_trace_root"], here["trace_root"])
        self.fails("open", "d.run", "--step", "8", "--against", "theirs.trace", code=2, says=["step 7", "step 8"])
        self.write("cut.trace", bytes(data[:-1]))
        self.fails("open", "d.run", "--step", "7", "--against", "cut.trace", code=3, says=["cut.trace"])
        self.fails("verify", "here.trace", code=3, says=["here.trace", "isobit open", "--against"])

    def test_a_signed_list_names_its_trainer(self):
        key = self.path("keys", "trainer.key")
        self.isobit("open", "d.run", "--step", "7", "--out", "7.trace", "--sign", key)
        told = self.isobit_json("open", "d.run", "--step", "7", "--against", "7.trace")
        with open(self.path("keys", "trainer.pub")) as f:
            self.assertIn(told["signed_by"], f.read())
        with open(self.path("7.trace"), "rb") as f:
            data = bytearray(f.read())
        for at in (len(data) - 1, len(data) - 100, 200):  # the signature, run id or key, a root
            bent = bytearray(data)
            bent[at] ^= 1
            self.write("bent.trace", bytes(bent))
            self.fails("open", "d.run", "--step", "7", "--against", "bent.trace", code=1, says=["the list"])
        self.isobit("keygen", "--out", "other")
        other = next(f for f in sorted(os.listdir(self.dir)) if f.startswith("other") and "pub" not in f)
        self.fails("open", "d.run", "--step", "7", "--out", "x.trace", "--sign", other, code=2, says=["engaged"])
        self.fails("open", "d.run", "--step", "7", "--sign", key, code=2, says=["--out"])

    def test_a_wrong_step_is_not_shown(self):
        self.isobit("cheat", os.path.join("d.run", "job.toml"), "--kind", "rate", "--at", "5", "--out", "c.run", *SHORT)
        self.isobit("open", "c.run", "--step", "4")
        self.fails("open", "c.run", "--step", "6", code=1, says=["another", "isobit audit"])
        # The wrong step itself can be compared with what its trainer lists.
        self.fails("open", "c.run", "--step", "5", code=1, says=["step 5", "another state"])
        honest = self.isobit_json("open", "d.run", "--step", "5", "--out", "5.trace")
        with open(self.path("5.trace"), "rb") as f:
            data = bytearray(f.read())
        rate = next(v for v in honest["values"] if v["name"] == "lr")["value"]
        data[len(data) - 1 - 32 * (len(honest["values"]) - rate)] ^= 1
        self.write("c.trace", bytes(data))
        told = self.isobit_json("open", "c.run", "--step", "5", "--against", "c.trace", code=1)
        self.assertEqual((told["first_difference"]["name"], told["step_is_that_of_the_run"]), ("lr", False))

    def test_what_makes_no_sense_is_refused(self):
        for arguments, says in ((["--step", "0"], "1 to 12"), (["--step", "13"], "1 to 12"), ([], "--step"),
                                (["--step", "1", "--value", "nope"], "nope"), (["--step", "1", "--node", "9999"], "9999"),
                                (["--step", "1", "--tile", "0,0"], "--tile"), (["--step", "1", "--output", "0"], "--node"),
                                (["--step", "1", "--node", "0", "--tile", "99,0"], "tiles"),
                                (["--step", "1", "--node", "0", "--tile", "x"], "I,J"),
                                (["--step", "1", "--node", "0", "--output", "0", "--statistic", "0"], "--statistic")):
            self.fails("open", "d.run", *arguments, code=2, says=[says])
        self.fails("verify", "d.run", "--trace-root", "00", code=2, says=["--trace-root"])
        # What is not there is said before what its options would be of.
        for option, value in (("--trace-root", "00"), ("--job", "job.toml"), ("--server-key", "server.pub")):
            self.fails("verify", "nothing", option, value, code=3, says=["nothing: No such file"])
        self.write("words", "only words\n")
        self.fails("verify", "words", code=3, says=["words: is no verdict"])

    def test_nothing_is_replaced_that_was_not_meant(self):
        key = self.path("keys", "trainer.key")
        self.isobit("open", "d.run", "--step", "3", "--out", "a.trace", "--sign", key)
        self.isobit("open", "d.run", "--step", "3", "--out", "a.trace", "--sign", key)  # once more is no matter
        before = contents(self.dir)
        step = ["open", "d.run", "--step", "3"]
        self.fails(*step, "--against", "a.trace", "--out", "a.trace", code=2, says=["--out", "which is read"])
        self.fails(*step, "--sign", key, "--out", key, code=2, says=["--out", "trainer.key"])
        for value in ([], ["--node", "4"]):
            self.fails(*step, *value, "--out", key, code=2, says=["neither a list nor a shown value"])
        self.assertEqual(contents(self.dir), before)


if __name__ == "__main__":
    main()
