#include "isobit/data/labels.h"

#include "isobit/base/text.h"

namespace isobit::data {
namespace {

template <class T>
std::vector<int64_t> widened(const Tensor& tensor) {
  const auto values = tensor.span<T>();
  return {values.begin(), values.end()};
}

}  // namespace

Expected<std::vector<int64_t>> labels_of(const Tensor& labels, const std::string& labels_file, int64_t samples,
                                         const std::string& samples_file, int64_t classes) {
  if (labels.shape().rank() != 1) {
    return unreadable(text_of(labels_file, ": found labels of shape ", labels.shape().text(),
                              ", expected a vector [n]; save one number per sample"));
  }
  if (labels.elements() != samples) {
    return unreadable(text_of(labels_file, ": found ", labels.elements(), " labels, expected ", samples,
                              ", one for each sample of ", samples_file, "; use files that belong together"));
  }
  std::vector<int64_t> values;
  switch (labels.dtype()) {
    case DType::kUint8:
      values = widened<uint8_t>(labels);
      break;
    case DType::kInt32:
      values = widened<int32_t>(labels);
      break;
    case DType::kInt64:
      values = widened<int64_t>(labels);
      break;
    default:
      return unreadable(text_of(labels_file, ": found labels of type ", name_of(labels.dtype()),
                                ", expected int64, int32 or uint8; convert them to int64"));
  }
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] < 0 || values[i] >= classes) {
      return unreadable(text_of(labels_file, ": label of sample ", i, ": found ", values[i], ", expected 0 to ",
                                classes - 1, "; correct the labels or choose the dataset they belong to"));
    }
  }
  return values;
}

}  // namespace isobit::data
