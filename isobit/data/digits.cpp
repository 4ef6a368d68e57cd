// The digits are part of the program: the assembler puts digits/digits.bin into its read-only data.
#include <cstring>

#include "isobit/data/image_dataset.h"
#include "isobit/data/openers.h"
#include "isobit/numerics/philox.h"

#ifndef ISOBIT_DIGITS_FILE
#error "ISOBIT_DIGITS_FILE is set by isobit/data/CMakeLists.txt"
#endif

__asm__(
    ".pushsection .rodata\n"
    ".balign 16\n"
    ".hidden isobit_digits_begin\n"
    ".global isobit_digits_begin\n"
    "isobit_digits_begin:\n"
    ".incbin \"" ISOBIT_DIGITS_FILE
    "\"\n"
    ".hidden isobit_digits_end\n"
    ".global isobit_digits_end\n"
    "isobit_digits_end:\n"
    ".byte 0\n"
    ".popsection\n");

extern "C" {
extern const uint8_t isobit_digits_begin[] __attribute__((visibility("hidden")));
extern const uint8_t isobit_digits_end[] __attribute__((visibility("hidden")));
}

namespace isobit::data {
namespace {

constexpr int64_t kCount = 1797, kTrainCount = 1437, kSide = 8, kClasses = 10;
constexpr size_t kPixels = kSide * kSide;

// Samples first .. first + count - 1 of the shuffled records. The shuffle is fixed, so that both splits are of the same
// writers and classes.
ImagePart take(ByteView records, int64_t first, int64_t count) {
  const numerics::Stream shuffle{0, numerics::Purpose::kDataSplit, 0};
  ImagePart part{Tensor(DType::kUint8, Shape{count, 1, kSide, kSide}), {}};
  auto* pixels = part.samples.data<uint8_t>();
  for (int64_t i = first; i < first + count; ++i, pixels += kPixels) {
    const uint64_t at = numerics::permute(shuffle, kCount, static_cast<uint64_t>(i));
    const ByteView record = records.subspan(static_cast<size_t>(at) * (1 + kPixels), 1 + kPixels);
    ISOBIT_CHECK(record[0] < kClasses);
    part.labels.push_back(record[0]);
    std::memcpy(pixels, record.data() + 1, kPixels);
  }
  return part;
}

}  // namespace

std::optional<DataShape> shape_of_digits(const DataConfig&) { return shape_of_classes({1, kSide, kSide}, kClasses); }

OpenResult open_digits(const DataConfig&, FileBudget&) {
  ByteReader reader({isobit_digits_begin, static_cast<size_t>(isobit_digits_end - isobit_digits_begin)},
                    "the digits inside the program");
  ISOBIT_TRY(const ByteView magic, reader.fixed("magic", 8));
  ISOBIT_CHECK(std::memcmp(magic.data(), "isodigit", 8) == 0);
  for (const uint32_t expected :
       {1u, static_cast<uint32_t>(kCount), static_cast<uint32_t>(kSide), static_cast<uint32_t>(kSide)}) {
    ISOBIT_TRY(const uint32_t found, reader.u32("header"));
    ISOBIT_CHECK(found == expected);
  }
  ISOBIT_TRY(const ByteView records, reader.fixed("records", kCount * (1 + kPixels)));
  ISOBIT_RETURN_IF_ERROR(reader.finish());

  ImagePart train = take(records, 0, kTrainCount);
  ImagePart test = take(records, kTrainCount, kCount - kTrainCount);
  ImageSpec spec{"digits", Shape{1, kSide, kSide}, kClasses,
                 preprocessing_named("u8/16", DType::kUint8, DType::kFloat32).value()};
  return std::make_unique<ImageDataset>(std::move(spec), std::move(train), std::move(test));
}

}  // namespace isobit::data
