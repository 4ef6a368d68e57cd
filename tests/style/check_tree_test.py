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

    def test_rooms_of_the_page(self):
        page = "| room | what |\n|---|---|\n| `base/` | x |\n| `numerics/` | y |\n\n| `other` | z |\n"
        self.assertEqual(rules.rooms_of_page(page), ["base", "numerics"])

    def test_declared_dependencies(self):
        cmake = """isobit_room(kernels SOURCES a.cpp DEPS isobit::base)  # isobit::train
isobit_test(x SOURCES x.cpp DEPS isobit::numerics)
if(A)
  isobit_room(train SOURCES b.cpp DEPS isobit::kernels)
else()
  isobit_room(train SOURCES b.cpp c.cpp
    DEPS isobit::base isobit::vendor nlohmann_json::nlohmann_json)
endif()
target_link_libraries(isobit_vendor PUBLIC isobit::kernels
  PRIVATE isobit::base dl)
target_link_libraries(isobit PRIVATE isobit::train)
"""
        declared = rules.dependencies_of(cmake)
        self.assertEqual(declared, {"kernels": {"base"}, "train": {"kernels", "base", "vendor"},
                                    "vendor": {"kernels", "base"}, "cli": {"train"}})
        own, above = '#include "isobit/kernels/x.h"\n', '#include "isobit/base/x.h"\n'
        linked_by_another, adapters = '#include "isobit/numerics/x.h"\n', '#include "isobit/kernels/vendor/x.h"\n'
        rule = rules.declared_dependencies
        self.assertEqual(lines(rule, KERNEL, own + above + linked_by_another, declared), [3])
        self.assertEqual(lines(rule, KERNEL, adapters, declared), [1])
        self.assertEqual(lines(rule, "isobit/train/x.h", adapters, declared), [])
        self.assertEqual(lines(rule, "isobit/kernels/f/f_test.cpp", linked_by_another, declared), [])
        self.assertEqual(lines(rule, "isobit/kernels/vendor/x.cpp", linked_by_another, declared), [1])
        self.assertEqual(lines(rule, "isobit/other/x.cpp", linked_by_another, declared), [])

    def test_declared_names(self):
        declared = {"kernels": {"base", "numerics"}, "train": {"base", "vendor"}}
        rule, train = rules.declared_names, "isobit/train/x.cpp"
        for text in ("numerics::Philox p;", "isobit::numerics::f();", "x = ::isobit::numerics::k;",
                     "namespace isobit::numerics {", "std::vector<numerics::A> v;"):
            self.assertEqual(lines(rule, train, "\n" + text + "\n", declared, ROOMS), [2], text)
            self.assertEqual(lines(rule, KERNEL, text + "\n", declared, ROOMS), [], text)
        for text in ("// numerics::x", 'f("numerics::x");', "kernels::numerics::f();", "my_numerics::f();", "numerics.f();",
                     "train::f();", "kernels::known_vendors();"):
            self.assertEqual(lines(rule, train, text + "\n", declared, ROOMS), [], text)
        self.assertEqual(lines(rule, "isobit/train/x_test.cpp", "numerics::f();\n", declared, ROOMS), [])
        self.assertEqual(lines(rule, "bench/x.cpp", "numerics::f();\n", declared, ROOMS), [])

    def test_operator_names(self):
        text = """  for (const char* op : {"Add",
      "Sub"}) add({.name = op, .infer = f});
  add({.name = "isobit.ReluGrad", .infer = g});
  unreadable("Nothing");
"""
        self.assertEqual(rules.operator_names(text), {"Add", "Sub", "isobit.ReluGrad"})

    def test_operator_lists(self):
        operators = {"Add", "Conv", "isobit.ReluGrad"}
        rule, stage = rules.no_operator_lists, "isobit/runtime/stages/x.cpp"
        for text in ('if (name == "Conv") f();', 'kOps = {"Add"};', 'f("isobit.ReluGrad");', 'g = "ReluGrad";',
                     "if (node.op == wanted) f();", "return name != call.node.op;", "x = graph->op == y;"):
            self.assertEqual(lines(rule, stage, text + "\n", operators), [1], text)
            self.assertEqual(lines(rule, "isobit/graph/ops/x.cpp", text + "\n", operators), [], text)
        for text in ('// "Conv"', 'f("Convolve");', "f(node.op);", "counts[call.node.op];", "other.op() == 2;",
                     "op_of(node).product == form;"):
            self.assertEqual(lines(rule, stage, text + "\n", operators), [], text)
        emits = 'y = g.emit("Add", {x, x}, {}, "Add");\n'
        self.assertEqual(lines(rule, stage, emits, operators), [1, 1])
        for path in ("isobit/models/x.cpp", "isobit/train/step_graph.cpp", "bench/x.cpp"):
            self.assertEqual(lines(rule, path, 'y = g.emit_all(\n  "Add", {x}, {}, {});\n', operators), [], path)
            self.assertEqual(lines(rule, path, 'if (op == "Add") f();\n', operators), [1], path)
        self.assertEqual(lines(rule, "isobit/runtime/stages/x_test.cpp", emits, operators), [])

    def test_arithmetic_strings(self):
        arithmetics = rules.arithmetic_names('{.name = "correct-1", .corrects = true},\n{.name = "float64"}')
        self.assertEqual(arithmetics, {"correct-1", "float64"})
        rule, path = rules.no_arithmetic_strings, "isobit/run/x.cpp"
        for text in ('if (job.arithmetic == "correct-1") f();', 'return "float64" != name;', 'x = a.name == "float64";',
                     "if (name == arithmetic_) return;", "if (job.arithmetic != other) f();",
                     "return wanted == job.arithmetic;"):
            self.assertEqual(set(lines(rule, path, text + "\n", arithmetics)), {1}, text)
        for text in ('job.arithmetic = "correct-1";', '// == "correct-1"', "if (arithmetic == nullptr) f();",
                     "if (x == arithmetic.computes_in) f();", 'f(narrow ? "correct-1" : job.arithmetic);',
                     'print("float64", 1);'):
            self.assertEqual(lines(rule, path, text + "\n", arithmetics), [], text)
        self.assertEqual(lines(rule, "isobit/run/x_test.cpp", 'EXPECT_TRUE(a == "float64");\n', arithmetics), [])

    def test_comments_keep_line_numbers(self):
        text = "a /* x\ny */ b // c\n'\"' d \"e\" 1'000'000 f\n"
        self.assertEqual(rules.without_comments(text).count("\n"), 3)
        self.assertIn("f", rules.without_comments(text).splitlines()[2])


if __name__ == "__main__":
    unittest.main()
