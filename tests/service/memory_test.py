#!/usr/bin/env python3
"""Many disputes with the same two services, one behind the other: their memory does not grow with them, nor do their open
files. --slow: 1,000 of them; else 20."""
import os
import time

from disputing import SLOW, Disputing, main, resident

DISPUTES = 1000 if SLOW else 20
# Before, allocator, thread pools and gRPC reach what they need.
WARM = 10
MIB = 1 << 20


class Memory(Disputing):
    def test_memory_does_not_grow(self):
        keys = [os.path.join(self.own, f"key{number}") for number in range(DISPUTES)]
        for key in keys:
            self.run_isobit("keygen", "--out", key, home="challenger")
        servers = self.trainer(), self.challenger(keys=[key + ".key" for key in keys])
        began, seen = time.monotonic(), []
        for number, key in enumerate(keys, 1):
            told = self.settle(servers[0].address, servers[1].address, "--challenger", key + ".pub")
            self.assertEqual((told["verdict"], told["element"]), (self.local["verdict"], self.local["element"]))
            if number >= WARM:
                seen.append([(resident(s.process), len(os.listdir(f"/proc/{s.process.pid}/fd"))) for s in servers])
        print(f"{DISPUTES} disputes in {time.monotonic() - began:.0f} s; after {WARM}: resident MiB of both " +
              f"{[round(m / MIB, 1) for m, _ in seen[0]]}, at the end {[round(m / MIB, 1) for m, _ in seen[-1]]}, open files "
              f"{[f for _, f in seen[0]]} and {[f for _, f in seen[-1]]}")
        for first, last in zip(seen[0], seen[-1]):
            self.assertLess(last[0] - first[0], 8 * MIB)
            self.assertLess(last[1] - first[1], 8)
        for server in servers:
            self.assertEqual(server.stop(), 0)
            self.assertEqual(server.events("stopping")[0]["ended"], DISPUTES)
            self.assertEqual(server.events("stopping")[0]["in_memory"], 0)


if __name__ == "__main__":
    main()
