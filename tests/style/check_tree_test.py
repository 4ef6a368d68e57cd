#!/usr/bin/env python3
"""Each rule must fire on what it forbids and stay silent on what is allowed."""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import rules  # noqa: E402

ROOMS = ["base", "numerics", "kernels", "train"]
KERNEL = "isobit/kernels/f/f.cpp"


def lines(rule, path, text, *more):
    return [line for line, _ in rule(path, text, *more)]


class Rules(unittest.TestCase):
    def test_length(self):
        self.assertEqual(lines(rules.length, "isobit/a/b.cpp", "\n" * 451), [1])
        self.assertEqual(lines(rules.length, "isobit/a/b.cpp", "\n" * 450), [])
        self.assertEqual(lines(rules.length, "isobit/a/b.cpp", "x\n" * 449 + "x"), [])

    def test_unfinished(self):
        self.assertEqual(lines(rules.finished, "a.md", "x\n" + "TO" + "DO: y\n"), [2])
        self.assertEqual(lines(rules.finished, "a.md", "to do\n"), [])

    def test_machine_paths(self):
        self.assertEqual(lines(rules.no_machine_paths, "a.md", "see /wo" + "rk/x\n"), [1])
        self.assertEqual(lines(rules.no_machine_paths, "a.md", "net/wo" + "rk/x, ../ho" + "me/y, /usr/x\n"), [])

    def test_includes(self):
        self.assertEqual(lines(rules.full_include_paths, KERNEL, '#include "f.h"\n#include <isobit/a/b.h>\n'), [1, 2])
        self.assertEqual(lines(rules.full_include_paths, KERNEL, '#include "isobit/a/b.h"\n#include <vector>\n'), [])

    def test_header_form(self):
        self.assertEqual(lines(rules.header_form, "isobit/a/b.h", "// What.\n//\n// More.\n#pragma once\n"), [])
        self.assertEqual(lines(rules.header_form, "isobit/a/b.h", "#pragma once\n"), [1])
        self.assertEqual(lines(rules.header_form, "isobit/a/b.h", "// What.\n#include <vector>\n"), [1])

    def test_libm_calls_found(self):
        for call in ("x = std::exp(y);", "return expf(y);", "x = ::tanh(y);", "f(1, log(y));", "x = __builtin_sin(y);",
                     "x = y + pow(a, b);", "x = y * exp(a);",
                     "return ::exp(y);", "if (cos(y) > 0) {}", "return std::log1p(ctx);"):
            self.assertEqual(lines(rules.no_libm, KERNEL, call + "\n"), [1], call)

    def test_libm_look_alikes_passed(self):
        for text in ("x = numerics::exp(y);", "x = F::tanh(y);", "float exp(float x);", "const T* exp(int n);", "x = cr_exp(y);",
                     "// exp(x)", 'f("log(x)");', "tanh(ctx, n, src, dst);", "ops.exp(y);", "x = std::sqrt(y);", "log_softmax(x);",
                     "x = detail::std_exp(y);"):
            self.assertEqual(lines(rules.no_libm, KERNEL, text + "\n"), [], text)
        self.assertEqual(lines(rules.no_libm, "isobit/kernels/f/f_test.cpp", "std::exp(y);\n"), [])
        self.assertEqual(lines(rules.no_libm, "isobit/data/f.cpp", "std::exp(y);\n"), [])

    def test_ordered(self):
        for text in ("std::reduce(a, b);", "#pragma omp simd", "std::atomic<float> x;", "long double x;"):
            self.assertEqual(lines(rules.ordered_only, KERNEL, text + "\n"), [1], text)
        for text in ("// std::reduce", "std::atomic<int> x;", "reduce(ctx, x);", "long x; double y;"):
            self.assertEqual(lines(rules.ordered_only, KERNEL, text + "\n"), [], text)

    def test_room_order(self):
        up, down = '#include "isobit/base/x.h"\n', '#include "isobit/train/x.h"\n'
        self.assertEqual(lines(rules.room_order, KERNEL, up, ROOMS), [])
        self.assertEqual(lines(rules.room_order, KERNEL, up + down, ROOMS), [2])
        self.assertEqual(lines(rules.room_order, KERNEL, '#include "isobit/attic/x.h"\n', ROOMS), [1])
        self.assertEqual(lines(rules.room_order, "isobit/attic/x.cpp", "", ROOMS), [1])

    def test_comments_keep_line_numbers(self):
        text = "a /* x\ny */ b // c\n'\"' d \"e\" 1'000'000 f\n"
        self.assertEqual(rules.without_comments(text).count("\n"), 3)
        self.assertIn("f", rules.without_comments(text).splitlines()[2])


if __name__ == "__main__":
    unittest.main()
