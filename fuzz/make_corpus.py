#!/usr/bin/env python3
"""Writes fuzz/corpus/: small files each decoder accepts, and some it refuses late. Standard library only.

usage: fuzz/make_corpus.py            Files that a fuzzer found and that were kept are not touched.
"""
import gzip
import hashlib
import io
import json
import pathlib
import sqlite3
import struct
import sys
import tempfile
import zipfile
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "tests" / "oracles"))
import lab_digests  # noqa: E402

CORPUS = pathlib.Path(__file__).parent / "corpus"


def put(target, name, data):
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)


def safetensors(header, data):
    return struct.pack("<Q", len(header)) + header.encode() + data


def npy(version, header, data):
    size = struct.pack("<H" if version == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes([version, 0]) + size + header.encode() + data


def text(s):
    return struct.pack("<Q", len(s)) + s.encode()


def proof(tag, numbers, digests):
    return text(tag) + struct.pack("<I", 1) + b"".join(struct.pack("<Q", n) for n in numbers) + bytes(32 * digests)


put("safetensors_fuzz", "empty", safetensors("{}", b""))
put("safetensors_fuzz", "two", safetensors(
    '{"__metadata__":{"format":"pt"},"a":{"dtype":"U8","shape":[3],"data_offsets":[8,11]},'
    '"w":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}}', bytes(range(11))))
put("safetensors_fuzz", "types", safetensors(
    '{"b":{"dtype":"BOOL","shape":[1],"data_offsets":[20,21]},"d":{"dtype":"F64","shape":[],"data_offsets":[0,8]},'
    '"i":{"dtype":"I32","shape":[1],"data_offsets":[16,20]},"l":{"dtype":"I64","shape":[1],"data_offsets":[8,16]}}',
    bytes(21)))
put("safetensors_fuzz", "escapes", safetensors(
    '{"\\u00e9\\ud83d\\ude00\\n\\"":{"dtype":"F32","shape":[0,7],"data_offsets":[0,0]}}  ', b""))
put("safetensors_fuzz", "overlap", safetensors(
    '{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}}', bytes(6)))

put("npy_fuzz", "v1", npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", bytes(range(24))))
put("npy_fuzz", "v2_fortran", npy(2, "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3, 2), }\n", bytes(range(12))))
put("npy_fuzz", "v3_scalar", npy(3, "{'descr': '<i8', 'fortran_order': False, 'shape': (), }\n", bytes(8)))
put("npy_fuzz", "bool", npy(1, "{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }\n", bytes([0, 1, 1])))
put("npy_fuzz", "empty", npy(1, "{'descr': '<f8', 'fortran_order': True, 'shape': (0, 5), }\n", b""))
put("npy_fuzz", "big_endian", npy(1, "{'descr': '>f8', 'fortran_order': False, 'shape': (1,), }\n", bytes(8)))

put("idx_fuzz", "labels", bytes([0, 0, 8, 1, 0, 0, 0, 3, 0, 9, 4]))
put("idx_fuzz", "images", bytes([0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 2]) + bytes(range(8)))
put("idx_fuzz", "float", bytes([0, 0, 13, 1, 0, 0, 0, 1, 0, 0, 0, 0]))
put("idx_fuzz", "huge", bytes([0, 0, 8, 2]) + b"\xff" * 8)
put("idx_fuzz", "overflow_times_zero", bytes.fromhex("00000803f7ff0200e9ffff0100000000"))

put("cifar_fuzz", "one", bytes([7]) + bytes(i % 251 for i in range(3072)))
put("cifar_fuzz", "two", (bytes([9]) + bytes(3072)) * 2)
put("cifar_fuzz", "label", bytes([10]) + bytes(3072))

put("gzip_fuzz", "text", gzip.compress(b"a small file, a small file", mtime=0))
put("gzip_fuzz", "nothing", gzip.compress(b"", mtime=0))
put("gzip_fuzz", "stored", gzip.compress(bytes(range(64)), 0, mtime=0))
put("gzip_fuzz", "two_members", gzip.compress(b"one", mtime=0) + gzip.compress(b"two", mtime=0))
put("gzip_fuzz", "trailing", gzip.compress(b"one", mtime=0) + b"\0")



def png(width, height, bits, colour, rows, *chunks, interlaced=0):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    head = struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, interlaced)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + b"".join(chunk(*c) for c in chunks) + \
        chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


put("png_fuzz", "grey", png(3, 2, 8, 0, b"\0\1\2\3\2\4\5\6"))
put("png_fuzz", "colour", png(2, 1, 8, 2, b"\1" + bytes(range(6)), (b"gAMA", struct.pack(">I", 30000))))
put("png_fuzz", "one_bit", png(9, 1, 1, 0, b"\0\xaa\x80"))
put("png_fuzz", "palette", png(4, 1, 2, 3, b"\0\x1b", (b"PLTE", bytes(range(12)))))
put("png_fuzz", "palette_too_short", png(4, 1, 2, 3, b"\0\x1b", (b"PLTE", bytes(range(3)))))
put("png_fuzz", "interlaced", png(2, 2, 8, 0, b"\0\1\0\2\0\3\4", interlaced=1))
put("png_fuzz", "sixteen_bits", png(1, 1, 16, 0, b"\0\1\2"))
put("png_fuzz", "transparent", png(1, 1, 8, 0, b"\0\1", (b"tRNS", b"\0\1")))
put("png_fuzz", "huge", png(2 ** 31 - 1, 2 ** 31 - 1, 8, 6, b""))
put("png_fuzz", "text_bomb", png(1, 1, 8, 0, b"\0\1", (b"zTXt", b"k\0\0" + zlib.compress(bytes(1 << 21)))))

for line in (pathlib.Path(__file__).parent.parent / "tests/golden/jpeg.txt").read_text().splitlines():
    if not line.startswith("#"):
        name, _, _, data = line.split()
        put("jpeg_fuzz", name, bytes.fromhex(data))

put("merkle_proof_fuzz", "inclusion", proof("isobit.inclusion-proof", [5, 8], 3))
put("merkle_proof_fuzz", "inclusion_one", proof("isobit.inclusion-proof", [0, 1], 0))
put("merkle_proof_fuzz", "consistency", proof("isobit.consistency-proof", [6, 8], 3))
put("merkle_proof_fuzz", "consistency_empty", proof("isobit.consistency-proof", [0, 8], 0))
put("merkle_proof_fuzz", "multi", proof("isobit.multi-proof", [8, 2, 2, 3], 2))
put("merkle_proof_fuzz", "multi_huge", proof("isobit.multi-proof", [2**64 - 1, 1, 2**64 - 2], 63))

put("key_file_fuzz", "secret", b"isobit-ed25519-secret-1 " + b"9d61b19deffd5a60ba844af492ec2cc4" * 2 + b"\n")
put("key_file_fuzz", "public", b"isobit-ed25519-public-1 " + b"d75a980182b10ab7d54bfed3c964073a" * 2 + b"\n")
put("key_file_fuzz", "upper", b"isobit-ed25519-public-1 " + b"D75A980182B10AB7D54BFED3C964073A" * 2 + b"\n")


def frame(tag, version=1):
    return text(tag) + struct.pack("<I", version)


def checked(data):
    return data + hashlib.sha256(data).digest()[:8]


def record(payload):
    length = struct.pack("<I", len(payload))
    return length + hashlib.sha256(length + payload).digest()[:8] + payload


def u64(*numbers):
    return struct.pack("<%dQ" % len(numbers), *numbers)


def log_input(flags, schema, payload):
    """As fuzz/log_fuzz.h takes it apart; schema: (node distance, output distance, root of elements)."""
    outputs = b"".join(bytes([16 * node + output, root]) for node, output, root in schema)
    return bytes([flags | len(schema)]) + outputs + payload


def raw_frame(data):
    """zstd: one segment, its size in a byte; one raw block, the last (RFC 8878)."""
    return bytes.fromhex("28b52ffd20") + bytes([len(data)]) + (1 | len(data) << 3).to_bytes(3, "little") + data


sparse = bytes.fromhex("02020207000701c0bf0106010301002f030000803f")
places = [(2, 0, 32), (1, 0, 3), (0, 0, 3), (6, 0, 8)]
put("log_sparse_fuzz", "example", log_input(0, places, sparse))
put("log_sparse_fuzz", "nothing", log_input(0, places, b"\0"))
put("log_sparse_fuzz", "every_element", log_input(0, [(0, 0, 3)], bytes.fromhex("0100080000ffed02")))
put("log_sparse_fuzz", "zstd", log_input(16, places, raw_frame(sparse)))
put("log_sparse_fuzz", "segment", frame("isobit.log-segment") + b"\0" + u64(7) + b"\0\0")

ovt = struct.pack("<IIQ", 2, 0, 9) + bytes([210, 12]) + struct.pack("<IIQ", 3, 1, 4) + bytes([40])
places = [(2, 0, 3), (1, 1, 2)]
put("log_ovt_fuzz", "example", log_input(0, places, ovt))
put("log_ovt_fuzz", "zstd", log_input(16, places, raw_frame(ovt)))
put("log_ovt_fuzz", "empty_output", log_input(0, [(1, 2, 0)], struct.pack("<IIQ", 1, 2, 0)))
put("log_ovt_fuzz", "nothing", log_input(0, [], b""))
put("log_ovt_fuzz", "segment", frame("isobit.log-segment") + b"\1" + u64(7) + b"\0")

ids = struct.pack("<I", 1) + bytes(112)  # protocol version; job root and digest, run id, client key
limits = u64(10, 20, 4096, 1, 0)
one_key = ids + u64(1) + b"\1" * 32 + b"\0" + limits + (b"\0" + u64(0)) * 2
two_keys = ids + u64(2) + b"\1" * 32 + b"\2" * 32 + b"\1" + b"\3" * 32 + limits + b"\1" + u64(9) + b"\2" + u64(7)
put("engagement_fuzz", "one_key", frame("isobit.engagement", 2) + one_key + bytes(64) + b"\1" * 32 + bytes(64))
put("engagement_fuzz", "two_keys", frame("isobit.engagement", 2) + two_keys + bytes(64) + b"\2" * 32 + bytes(64))
put("engagement_fuzz", "offer", frame("isobit.offer", 2) + one_key + bytes(64))
put("engagement_fuzz", "offer_referee", frame("isobit.offer", 2) + two_keys + bytes(64))
put("engagement_fuzz", "newer", frame("isobit.engagement", 3) + bytes(300))

total = bytes(49) + u64(9)
evaluation = u64(3) + bytes(32) + u64(2) + text("loss") + total + text("top1") + b"\0" + b"\0" * 18 + b"\x20" + bytes(29) + u64(9)
put("evaluation_fuzz", "evaluation", evaluation)
put("evaluation_fuzz", "none", u64(0) + bytes(32) + u64(0))
sample_proof = frame("isobit.sample-proof") + u64(1, 3, 2) + total * 2 + (bytes(32) + total * 2) * 2
put("evaluation_fuzz", "proof", sample_proof)
put("evaluation_fuzz", "both", evaluation + sample_proof)
put("evaluation_fuzz", "deep", frame("isobit.sample-proof") + u64(0, 2**64 - 1, 0) + bytes(32 * 64))


def chunk_of(kind, node, output, first, total, data):
    return frame("isobit.log-chunk") + struct.pack("<BIIQQ", kind, node, output, first, total) + data


def sized(data):
    return u64(len(data)) + data


def chunk_parts(node, index, size, digests):
    entries = struct.pack("<QBIQBI", 3, 1, 0, 9, 2, 0x3f800000)
    return sized(chunk_of(0, node, 0, 0, 2, entries)) + sized(proof("isobit.inclusion-proof", [index, size], digests))


value = u64(4) + text("y") + b"\1" + u64(2, 2, 3)
attributes = [b"\0" + u64(1), b"\1" + bytes(8), b"\2" + text("t"), b"\3" + u64(1, 5), b"\4" + u64(1, 0), b"\5" + bytes(32),
              b"\6" + bytes(32)]
node = (frame("isobit.graph-node") + u64(1) + text("Conv") + u64(2, 0, 2**64 - 1) + u64(2) + value + u64(2**64 - 1)
        + u64(len(attributes)) + b"".join(text("abcdefg"[i]) + a for i, a in enumerate(attributes)))
put("graph_tree_fuzz", "node", node)
put("graph_tree_fuzz", "bare", frame("isobit.graph-node") + u64(0) + text("Add") + u64(0, 0, 0))
put("graph_tree_fuzz", "huge", frame("isobit.graph-node") + u64(0) + text("Add") + u64(2**61))
put("graph_tree_fuzz", "proof", frame("isobit.graph-node-proof") + bytes(32) + sized(node)
    + sized(proof("isobit.inclusion-proof", [1, 3], 2)))

entry = (frame("isobit.trace-entry") + u64(1) + b"\3" + u64(0, 0) + text("y") + b"\1" + u64(2, 2, 3) + struct.pack("<I", 1))
tile = bytes(48) + bytes(24)
put("value_opening_fuzz", "tile", frame("isobit.value-opening") + bytes(32) + u64(3) + sized(entry)
    + sized(proof("isobit.inclusion-proof", [1, 3], 2)) * 2 + u64(1) + bytes(32) + u64(1) + sized(tile)
    + sized(proof("isobit.inclusion-proof", [0, 1], 0)))
put("value_opening_fuzz", "bare", frame("isobit.value-opening") + bytes(32) + u64(3) + sized(entry)
    + sized(proof("isobit.inclusion-proof", [1, 3], 2)) * 2 + u64(1) + bytes(32) + u64(0))

put("value_opening_fuzz", "list", frame("isobit.trace-list") + bytes(32) + u64(3, 2) + bytes(64) + b"\0")
put("value_opening_fuzz", "signed_list", frame("isobit.trace-list") + bytes(32) + u64(3, 1) + bytes(32) + b"\1" + bytes(112))

put("log_tree_fuzz", "sparse", chunk_of(0, 5, 0, 4096, 4097, struct.pack("<QBI", 8192, 0, 0)))
put("log_tree_fuzz", "ovt", chunk_of(1, 5, 1, 0, 7, bytes([0xd2, 3])))
put("log_tree_fuzz", "ovt_empty", chunk_of(1, 5, 1, 0, 0, b""))
put("log_tree_fuzz", "proof", frame("isobit.log-chunk-proof") + chunk_parts(5, 1, 3, 2))
put("log_tree_fuzz", "absence", frame("isobit.log-absence-proof") + b"\1" + chunk_parts(2, 0, 2, 1) + b"\1"
    + chunk_parts(5, 1, 2, 1))
put("log_tree_fuzz", "absence_empty", frame("isobit.log-absence-proof") + b"\0\0")

findings = u64(2) + b"\0" + text("Conv") + u64(3, 0) + b"\3" + text("") + u64(70, 41)
sample = b"\1" + u64(16) + bytes(16) + u64(60, 5)
names = bytes(32) + b"\1" + bytes(48) + b"\1" + bytes(64) + u64(14) + bytes(32)
differs = b"\1" + u64(7, 6, 7) + text("state") + text("aa") + text("bb") + b"\1" + text("Conv")
put("verdict_fuzz", "accepted", frame("isobit.verdict", 2) + names + b"\0\0" + u64(12) + b"\0" + text("good")
    + text("ordered") + findings + sample + b"\1" + bytes(96))
put("verdict_fuzz", "rejected", frame("isobit.verdict", 2) + names + b"\1\0" + u64(7) + differs + text("the state differs")
    + text("ordered") + u64(0) + b"\0\0")
put("verdict_fuzz", "version_1", frame("isobit.verdict", 1) + bytes(34) + b"\1\0" + u64(0) + b"\0" + text("") + text("") + u64(0) + b"\0\0")
put("verdict_fuzz", "at_once", frame("isobit.verdict", 2) + bytes(34) + b"\2\0" + u64(0) + b"\0" + text("") + text("") + u64(0) + b"\0\0")

tensor = b"\1" + u64(2, 1, 3) + bytes(32)
computation = bytes(64) + b"\1" + bytes(32) + text("ordered-1") + u64(2) + text("x") + tensor + text("z") + b"\3" + u64(0)
computation += bytes(32) + u64(1) + text("y")
rest = u64(16) + bytes(16) + text("isobit") + bytes(96)
put("receipt_fuzz", "traced", frame("isobit.receipt") + computation + tensor + b"\1" + bytes(32) + rest)
put("receipt_fuzz", "plain", frame("isobit.receipt") + computation + tensor + b"\0" + rest)
put("receipt_fuzz", "no_schema", frame("isobit.receipt") + bytes(64) + b"\0" + text("correct-1") + u64(0, 0) + b"\0" + rest)
put("receipt_fuzz", "trace_of_nothing",
    frame("isobit.receipt") + bytes(64) + b"\0" + text("correct-1") + u64(0, 0) + b"\1" + bytes(32) + rest)

leaf = frame("isobit.leaf", 2)
run = [leaf + b"\0" + bytes(64), leaf + b"\1" + u64(1) + bytes(32) + b"\1" + u64(5) + b"\0\0",
       leaf + b"\1" + u64(2) + bytes(32) + b"\1" + u64(6) + b"\0\1" + bytes(32),
       leaf + b"\2" + u64(2) + bytes(32) + evaluation]
header = checked(frame("isobit.transcript_file") + u64(2, 2) + b"\1\0")
put("transcript_fuzz", "whole", header + b"".join(record(x) for x in run))
put("transcript_fuzz", "torn", header + b"".join(record(x) for x in run)[:-5])
put("transcript_fuzz", "header", header)
put("transcript_fuzz", "leaves", bytes([2, 1]) + b"".join(bytes([len(x)]) + x for x in run))

head = frame("isobit.head") + u64(4) + bytes(112) + bytes(64)
put("heads_fuzz", "two", frame("isobit.heads_file") + record(head) * 2)
put("heads_fuzz", "torn", frame("isobit.heads_file") + record(head)[:-1])
put("heads_fuzz", "head", head)


def sized(data):
    return u64(len(data)) + data


engagement = frame("isobit.engagement", 2) + one_key + bytes(64) + b"\1" * 32 + bytes(64)
consistency = proof("isobit.consistency-proof", [6, 8], 3)


def varint(n):
    return bytes([n & 127 | 128]) + varint(n >> 7) if n > 127 else bytes([n])


about = b"\x08\1\x10\2\x1a" + varint(len(engagement)) + engagement
put("service_fuzz", "trainer", about.replace(b"\x10\2", b"\x10\1", 1))
put("service_fuzz", "challenger", about + (b"\x22\x20" + b"\4" * 32) * 2)
put("service_fuzz", "pieces", b"\6abc\7def" + b"\1" * 2 + b"\5gh")
put("service_fuzz", "too_many", b"\1" * 5)
put("service_fuzz", "too_long", (b"\xfe" + bytes(127)) * 8)
fork = frame("isobit.evidence") + b"\1" + sized(engagement) + sized(head) * 2 + bytes(32)
first = checked(u64(4, 20) + bytes(64))
second = checked(u64(6, 21) + b"\1" * 64)
put("checkpoint_index_fuzz", "two", frame("isobit.checkpoint_index") + first + second)
put("checkpoint_index_fuzz", "damaged", frame("isobit.checkpoint_index") + first[:-1] + b"\0" + second)
put("checkpoint_index_fuzz", "cut", frame("isobit.checkpoint_index") + first + second[:-3])



def tar(name, data):
    size = b"%011o\0" % len(data)
    front = name.encode().ljust(100, b"\0") + b"0000644\0" + 2 * b"0000000\0" + size + b"00000000000\0"
    back = b"0" + bytes(100) + b"ustar\0" + b"00" + bytes(64) + 2 * b"0000000\0" + bytes(167)
    return front + b"%06o\0 " % sum(front + b"        " + back) + back + data + bytes(-len(data) % 512)


packed = tar("engagement", b"e") + tar("manifest.json", b"{}") + tar("manifest.sig", b"") + tar("job.toml", bytes(512))
put("pack_fuzz", "four", packed + bytes(1024))
put("pack_fuzz", "five", packed + tar("checkpoints/step-3.safetensors", b"w" * 513) + bytes(1024))
put("pack_fuzz", "escape", packed + tar("../heads", b"") + bytes(1024))
put("pack_fuzz", "twice", packed + 2 * tar("heads", b"h") + bytes(1024))
put("pack_fuzz", "behind", packed + bytes(1536))

put("evidence_fuzz", "fork", fork + sized(consistency))
put("evidence_fuzz", "cut", (fork + sized(consistency))[:-1])
put("evidence_fuzz", "kind", frame("isobit.evidence") + b"\2")
put("evidence_fuzz", "newer", frame("isobit.evidence", 2) + bytes(40))

segments = [b"segment one", b"", bytes(range(40))]
log = frame("isobit.log_file")
put("log_file_fuzz", "whole", log + b"".join(record(x) for x in segments))
put("log_file_fuzz", "torn", log + b"".join(record(x) for x in segments)[:-5])
put("log_file_fuzz", "huge", log + record(b"one") + struct.pack("<I", 2**32 - 1) + bytes(20))
put("log_file_fuzz", "header", log)
put("log_file_fuzz", "segments", b"".join(bytes([len(x)]) + x for x in segments))

zero = "00" * 32
manifest = {"facts": {"platform": "ordered"}, "files": {"heads": {"sha256": zero, "size": 3}}, "format": "isobit-bundle",
            "job_root": zero, "run_id": "00" * 16, "transcript_root": zero, "version": 1}
put("manifest_fuzz", "manifest", (json.dumps(manifest, indent=2, sort_keys=True) + "\n").encode())
manifest.update(facts={}, files={})
put("manifest_fuzz", "no_files", (json.dumps(manifest, indent=2, sort_keys=True) + "\n").encode())
manifest.update(version=3)
put("manifest_fuzz", "newer", (json.dumps(manifest, indent=2, sort_keys=True) + "\n").encode())
put("manifest_fuzz", "signature", frame("isobit.manifest") + bytes(96))

# Entries (node and kind; position; four bytes of a value): even, odd, a value; a node that is none.
put("sparse_follower_fuzz", "none", b"")
put("sparse_follower_fuzz", "parities", bytes([0, 1, 16, 2, 1, 3, 17, 9, 2, 0, 18, 5]))
put("sparse_follower_fuzz", "value", bytes([34, 4]) + struct.pack("<f", 1.5) + bytes([3, 17]))
put("sparse_follower_fuzz", "beyond", bytes([0, 255]))
put("sparse_follower_fuzz", "no_node", bytes([6, 0]))
# What is changed in the shape, then decisions.
put("ovt_follower_fuzz", "ignored", bytes([0]) + bytes([121] * 30))
put("ovt_follower_fuzz", "decided", bytes([0]) + bytes(range(0, 243, 7)))
for change in range(1, 7):
    put("ovt_follower_fuzz", f"shape{change}", bytes([change + 8 * change]))

# The first byte decides whether the end is an override too; as TOML it is a space, a '#' or a newline.
JOB = """[job]
name = "small"
seed = 3
steps = 3
arithmetic = "%s"
[model]
%s
[data]
%s
batch = 4
[optimizer]
name = "%s"
lr = 0.1
"""
put("job_fuzz", "digits", ("\n" + JOB % ("ordered-1", 'builder = "digits-cnn"', 'dataset = "digits"', "sgd")
                           + 'momentum = 0.9\nnesterov = true\n[schedule]\nname = "cosine"\nwarmup = 1\n').encode())
put("job_fuzz", "gpt", (" " + JOB % ("correct-1", 'builder = "gpt"\nlayers = 1\nheads = 2\nchannels = 8\ndropout = 0.1',
                                     'dataset = "text"\npath = "book.txt"\nsalt = \'book.salt\'\ncontext = 16', "adamw")
                        + "beta1 = 0.8\nclip_norm = 1\n[commit]\nevery = 2\n[evaluate]\nsamples = 7\n").encode())
put("job_fuzz", "logged", ("#\n" + JOB % ("logged-1", 'builder = "resnet"\nwidth = 4',
                                          'dataset = "cifar10"\nfiles = ["a.bin", """b\n.bin"""]\ntest_files = ["c"]\naugment = ["crop"]', "sgd")
                           + '[rounding]\nbits = 30\nlog = "sparse"\ndivergences = { Conv = 3.5, MatMul = 2 }\n').encode())
put("job_fuzz", "override", (JOB % ("rounded", 'builder = "logistic"', 'dataset = "npy"\npath = "x"', "adam")).encode().join(
    [b"\x0a", b"# job.seed=7"]))
put("job_fuzz", "letter_outside_of_strings", "typ_inəo\nname =0 ".encode())
put("job_fuzz", "letter_after_a_backslash", b"\na = \"\"\"b\\\n\xc9\x99\"\"\"")
put("job_fuzz", "letter_in_no_string", b"\nT = 2\"\"b '\xc9\x99' ")
put("job_fuzz", "letter_after_a_number", b"\na = 1.\"\xc9\x99\"")
put("job_fuzz", "letter_after_a_date", b"\na = 1979-05-27 0#\xc9\x99")
put("job_fuzz", "deep", b"\n" + b"a." * 40 + b"a = 1\n")
put("job_fuzz", "nested", b"\nv = " + b"[" * 40 + b"]" * 40)


def lab(extra=""):
    """A lab of the page that describes them, with a run and a tensor."""
    schema = lab_digests.schema_of_page(CORPUS.parent.parent)
    database = sqlite3.connect(":memory:")
    database.executescript("PRAGMA page_size = 512; VACUUM;" + schema)
    database.executescript("PRAGMA application_id = 1769172066; PRAGMA user_version = 1;" + extra)
    texts = lab_digests.texts(["avx2"])
    fields = struct.pack("<Q", 1) + text("cpu") + text("x")
    dims = struct.pack("<Qq", 1, 4)
    key = bytes.fromhex("49a04899597a3567537653a0d9955b86")  # XXH3_128bits of 01 02 03 04
    frame = bytes.fromhex("28b52ffd2004210000") + bytes([1, 2, 3, 4])  # zstd: one raw block
    subject = lab_digests.subject_digest(1, "m", bytes(32), None, "")
    platform = lab_digests.platform_digest("p", "e", 2, {"cpu": "x"}, ["avx2"])
    run = lab_digests.run_digest(subject, platform, 0, 1, "",
                                 [lab_digests.value("y", "Op", "uint8", [4], key.hex(), "k", 1)])
    database.execute("INSERT INTO subjects VALUES (1, ?, 1, 'm', ?, NULL, '')", (subject, bytes(32)))
    database.execute("INSERT INTO platforms VALUES (1, ?, 'p', 'e', 2, ?, ?)", (platform, fields, texts))
    database.execute("INSERT INTO runs VALUES (1, ?, 1, 1, 0, 1, 0.5, '')", (run,))
    database.execute("INSERT INTO run_values VALUES (1, 0, 0, 'y', 'Op', 'uint8', ?, ?, 'k', 1)", (dims, key))
    database.execute("INSERT INTO nodes VALUES (1, 0, 'Op', 'n', ?, ?)", (texts, texts))
    database.execute("INSERT INTO tensors VALUES (1, ?, 4, ?)", (key, frame))
    database.commit()
    with tempfile.TemporaryDirectory() as folder:
        database.execute("VACUUM INTO ?", (folder + "/lab",))
        return pathlib.Path(folder, "lab").read_bytes()


put("lab_fuzz", "one", lab())
put("lab_fuzz", "trigger", lab("CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM runs; END;"))
put("study_fuzz", "cpu", json.dumps({
    "cpu_info": {"brand_raw": "Xeon", "count": 4, "flags": ["avx", "sse"]}, "device": {"device_type": "CPU"},
    "model_type": "net", "prediction": {"bytes": "AACAPwAAAEA=", "dtype": "float32", "shape": [1, 2]}}).encode())
put("study_fuzz", "gpu", json.dumps({
    "cpu_info": {"brand_raw": "Xeon", "count": 4, "flags": []},
    "device": {"device_type": "GPU", "physical_description": {"name": "T4", "compute capability": "7.5"}},
    "model_type": "net", "prediction": {"bytes": "AACAPwAAAEA=", "dtype": "float32", "shape": [2]},
    "all_predictions": {"bytes": "AACAPwAAAEAAAIA/AAAAQA==", "dtype": "float32", "shape": [2, 2]}}).encode())
# Trees of sums, and what a worker of `isobit reveal` answers.
put("sum_tree_fuzz", "chain", b"(((0 1) 2) 3)")
put("sum_tree_fuzz", "lanes", b"(((0 4) (2 6)) ((1 5) (3 7)))")
put("sum_tree_fuzz", "fused", b"((0 1 2 3) 4 5 6 7)")
put("sum_tree_fuzz", "one", b"0")
put("sum_tree_fuzz", "twice", b"((0 1) (1 2))")
# Layouts as Graphviz writes them, behind the numbers of nodes and edges.
put("plain_layout_fuzz", "two", b"\2\1graph 1 2 3\nnode n0 1 1 1.9 0.4 \"\" solid box black lightgrey\n"
    b"node n1 1 2 1.9 0.4 \"\" solid box black lightgrey\nedge n0 n1 4 1 1 1 1.5 1 1.6 1 2 solid black\nstop\n")
put("plain_layout_fuzz", "none", b"\0\0graph 1 0 0\nstop\n")
put("plain_layout_fuzz", "cut", b"\1\0graph 1 2 3\nnode n0 1 1\n")
put("reveal_worker_fuzz", "ready", b"\0\0" + text("Engine 1.0") + text("a call") + u64(64) + b"\1")
put("reveal_worker_fuzz", "refusal", b"\0\1" + text("no such engine"))
put("reveal_worker_fuzz", "numbers", b"\2\0" + bytes(16))
WORKER_VALUE = ('{"name":"h","op":"MatMul","dtype":"float32","dims":[1,2],"hash":"%s","kernel":"","output":true}' % ("0" * 32)).encode()
put("engine_answer_fuzz", "answer", b'{"isobit_answer":1,"platform":{"name":"e/1t","engine":"e","fields":{"v":"1"},'
    b'"cpu_flags":["avx"],"cores":2},"runs":[{"tapped":true,"seconds":0.5,"values":[' + WORKER_VALUE + b']}],"kept":[]}')
put("engine_answer_fuzz", "refused", b'{"isobit_answer":1,"refused":"no converter"}')
put("engine_answer_fuzz", "engines", b'{"isobit_engines":1,"engines":[{"engine":"e","about":"","settings":[""],'
    b'"default_settings":[""],"version":"1","install":""}]}')
put("engine_answer_fuzz", "request", b'{"isobit_request":1,"engine":"e","setting":"","platform":"e/1t","threads":1,'
    b'"model":"m.onnx","inputs":[{"name":"x","file":"x.npy"}],"untapped":true,"tapped":true,"keep":[],"keep_bytes":0,'
    b'"max_memory":1,"steps":0,"overrides":[]}')


def npz(files, method=zipfile.ZIP_STORED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content, method)
    return out.getvalue()


ONE_NPY = npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n", struct.pack("<2f", 1, 2))
MANY_NPY = npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (64, 64), }\n", bytes(4 * 64 * 64))
put("npz_fuzz", "stored", npz({"b.npy": ONE_NPY, "a.npy": ONE_NPY}))
put("npz_fuzz", "deflated", npz({"a.npy": MANY_NPY}, zipfile.ZIP_DEFLATED))
put("npz_fuzz", "text", npz({"a.txt": b"no tensor"}))
