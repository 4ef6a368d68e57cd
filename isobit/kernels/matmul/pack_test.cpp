// What tables of instruction sets copy: every element to its place, and nothing beside it.
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "isobit/kernels/dispatch/dispatch.h"
#include "isobit/kernels/matmul/gemm.h"

namespace isobit::kernels::gemm {
namespace {

constexpr float kUntouched = -7;

std::vector<float> numbered(int64_t count) {
  std::vector<float> x(static_cast<size_t>(count));
  std::iota(x.begin(), x.end(), 1.0f);
  return x;
}

template <class F>
void for_each_table(F f) {
  for (const Isa isa : available_isas()) {
    if (isa == Isa::kReference) continue;
    SCOPED_TRACE(name_of(isa));
    f(table_of<float>(isa));
    if (::testing::Test::HasFailure()) return;
  }
}

// Panels as dense as can be, and lines further apart than they are wide, whose gaps are another's.
TEST(Pack, TransposesIntoItsPanelAlone) {
  for_each_table([](const Table<float>& table) {
    for (int64_t width = 1; width <= 2 * table.lanes + 1; ++width) {
      for (int64_t terms = 1; terms <= 3 * table.lanes + 2; ++terms) {
        for (const int64_t gap : {0, 3}) {
          for (const int64_t count : {width, width / 2}) {
            const std::vector<float> from = numbered(width * terms);
            const int64_t stride = width + gap, size = (terms - 1) * stride + width;
            std::vector<float> to(static_cast<size_t>(size + 64), kUntouched);
            table.transpose(to.data(), stride, width, from.data(), terms, count, terms);
            for (int64_t at = 0; at < size + 64; ++at) {
              const int64_t k = at / stride, r = at % stride;
              const bool within = at < size && r < width;
              const float expected = !within ? kUntouched : r < count ? from[static_cast<size_t>(r * terms + k)] : 0;
              ASSERT_EQ(to[static_cast<size_t>(at)], expected)
                  << width << " wide, " << terms << " terms, gap " << gap << ", " << count << " lines, element " << at;
            }
          }
        }
      }
    }
  });
}

TEST(Pack, PacksAcrossPanelsWhatPackDoesOneByOne) {
  for_each_table([](const Table<float>& table) {
    for (const int64_t unit : {int64_t{1}, int64_t{table.lanes}}) {
      for (const int64_t units : {1, 2, 5, 7}) {
        for (const int64_t terms : {1, 8, 21}) {
          const int64_t lines = units * unit, k0 = 2;
          const std::vector<float> from = numbered((k0 + terms) * (lines + 3));
          Operand<float> op;
          op.data = from.data();
          op.strides = {.line = 1, .inner = lines + 3, .period = 6, .outer = 6 * (lines + 3)};
          const Panels panels{.units = units, .unit = unit, .count = (units + 2) / 3};
          std::vector<float> to(static_cast<size_t>(lines * terms + 64), kUntouched), expected = to, scratch(1 << 14);
          table.pack_across(op, to.data(), panels, panels.count, 0, k0, terms);
          for (int64_t panel = 0; panel < panels.count; ++panel) {
            const int64_t first = panels.first(panel), width = panels.first(panel + 1) - first;
            table.pack(op, expected.data() + first * terms, scratch.data(), width, first, width, k0, terms);
          }
          ASSERT_EQ(to, expected) << units << " units of " << unit << ", " << terms << " terms";
        }
      }
    }
  });
}

TEST(Pack, CopiesRowsAndNothingBeside) {
  for_each_table([](const Table<float>& table) {
    for (const int64_t step : {1, 2, 3}) {
      for (int64_t count = 1; count <= (step == 1 ? kMaxWidth : table.lanes); ++count) {
        const int64_t rows = 3, stride = kMaxWidth * step + 1;
        const std::vector<float> from = numbered(rows * kMaxWidth);
        std::vector<float> to(static_cast<size_t>(rows * stride + 64), kUntouched), expected = to;
        for (int64_t r = 0; r < rows; ++r) {
          for (int64_t l = 0; l < count; ++l) {
            expected[static_cast<size_t>(r * stride + l * step)] = from[static_cast<size_t>(r * kMaxWidth + l)];
          }
        }
        table.copy_rows(from.data(), kMaxWidth, to.data(), stride, step, rows, count);
        ASSERT_EQ(to, expected) << count << " elements, " << step << " apart";
      }
    }
  });
}

}  // namespace
}  // namespace isobit::kernels::gemm
