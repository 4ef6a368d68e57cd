#include "isobit/formats/cifar.h"

#include "isobit/base/text.h"

namespace isobit::formats {
namespace {

constexpr size_t kPixels = 3 * 32 * 32, kRecord = 1 + kPixels;

}  // namespace

Expected<CifarRecords> decode_cifar10(ByteView data, const std::string& name) {
  if (data.empty() || data.size() % kRecord != 0) {
    return unreadable(text_of(name, ": found ", data.size(), " bytes, expected a whole number of records of ", kRecord,
                              " bytes (CIFAR-10, binary version)"));
  }
  const size_t n = data.size() / kRecord;
  CifarRecords out;
  out.images = Tensor(DType::kUint8, {static_cast<int64_t>(n), 3, 32, 32});
  out.labels = Tensor(DType::kUint8, {static_cast<int64_t>(n)});
  for (size_t i = 0; i < n; ++i) {
    const uint8_t* record = data.data() + i * kRecord;
    if (record[0] > 9) {
      return unreadable(text_of(name, ": record ", i, ": found label ", int{record[0]}, ", expected 0 to 9"));
    }
    out.labels.data<uint8_t>()[i] = record[0];
    std::memcpy(out.images.data<uint8_t>() + i * kPixels, record + 1, kPixels);
  }
  return out;
}

Bytes encode_cifar10(const CifarRecords& records) {
  const int64_t n = records.labels.elements();
  ISOBIT_CHECK((records.images.shape() == Shape{n, 3, 32, 32}));
  Bytes out(static_cast<size_t>(n) * kRecord);
  for (size_t i = 0; i < static_cast<size_t>(n); ++i) {
    out[i * kRecord] = records.labels.data<uint8_t>()[i];
    std::memcpy(out.data() + i * kRecord + 1, records.images.data<uint8_t>() + i * kPixels, kPixels);
  }
  return out;
}

}  // namespace isobit::formats
