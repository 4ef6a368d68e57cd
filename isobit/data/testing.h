// Files for tests of the data room.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "isobit/base/file.h"
#include "isobit/data/dataset.h"

namespace isobit::data::testing {

// A folder of its own that goes away with the test.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (fs::temp_directory_path() / "isobit_data_XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) std::abort();
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string path(const std::string& name = "") const {
    return name.empty() ? path_.string() : (path_ / name).string();
  }
  std::string write(const std::string& name, ByteView data) const {
    EXPECT_TRUE(write_file_durably(path_ / name, data));
    return path(name);
  }

 private:
  fs::path path_;
};

// "" when there is none.
inline std::string shared_data(const std::string& name) {
  const char* folder = std::getenv("ISOBIT_SHARED_DATA");
  if (folder == nullptr || *folder == '\0') return "";
  const fs::path path = fs::path(folder) / name;
  return fs::exists(path) ? path.string() : "";
}

// "" when it opens.
inline std::string open_error(const DataConfig& config, ErrorCode code = ErrorCode::kUnreadable) {
  auto dataset = open_dataset(config);
  EXPECT_FALSE(dataset);
  if (dataset) return "";
  EXPECT_EQ(dataset.error().code, code);
  EXPECT_EQ(dataset.error().message.find('\n'), std::string::npos);
  return dataset.error().message;
}

inline ::testing::AssertionResult contains(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "\"" << part << "\" is not in \"" << text << "\"";
}

// The head of a version 1.0 file as NumPy writes it.
inline Bytes npy_front(const std::string& descr, const std::string& shape, bool fortran_order = false) {
  std::string header = "{'descr': '" + descr + "', 'fortran_order': " + (fortran_order ? "True" : "False") +
                       ", 'shape': " + shape + ", }";
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  ByteWriter out;
  out.fixed(as_bytes(std::string("\x93NUMPY\x01\x00", 8)));
  out.u16(static_cast<uint16_t>(header.size()));
  out.fixed(as_bytes(header));
  return out.take();
}

template <class T>
Bytes npy(const std::string& descr, const std::string& shape, const std::vector<T>& values,
          bool fortran_order = false) {
  Bytes out = npy_front(descr, shape, fortran_order);
  const auto* first = reinterpret_cast<const uint8_t*>(values.data());
  out.insert(out.end(), first, first + values.size() * sizeof(T));
  return out;
}

Bytes gzip(ByteView data);

// What Dataset::fill gives of one sample of one input and a class.
struct ClassifiedSample {
  std::vector<float> input;
  int64_t label = -1;
};
inline ClassifiedSample filled(const Dataset& dataset, Split split, int64_t index, const AugmentDraw& draw = {}) {
  EXPECT_EQ(dataset.inputs().size(), 1u);
  EXPECT_EQ(dataset.inputs()[0].dtype, DType::kFloat32);
  EXPECT_EQ(dataset.target().kind, TargetKind::kClass);
  ClassifiedSample sample;
  sample.input.resize(static_cast<size_t>(Shape(dataset.inputs()[0].shape).elements()));
  void* const to[] = {sample.input.data()};
  const Status status = dataset.fill(split, index, draw, to, &sample.label);
  EXPECT_TRUE(status) << status.error().message;
  return sample;
}

inline Bytes sample_bytes(const Dataset& dataset, Split split, int64_t index) {
  Bytes bytes;
  const Status status = dataset.sample_bytes(split, index, bytes);
  EXPECT_TRUE(status) << status.error().message;
  return bytes;
}

// The elements of one row of a batch's tensor.
template <class T>
std::vector<T> row_of(const Tensor& tensor, int64_t j) {
  const auto size = static_cast<size_t>(tensor.shape().elements(1, tensor.shape().rank()));
  const T* first = tensor.data<T>() + static_cast<size_t>(j) * size;
  return {first, first + size};
}

}  // namespace isobit::data::testing
