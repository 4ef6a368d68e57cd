// Trained models that others published, from the optional data: whether they score here what they are known to score.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "isobit/formats/cifar.h"
#include "isobit/formats/gzip.h"
#include "isobit/formats/idx.h"
#include "isobit/lab/inference.h"

namespace isobit::lab {
namespace {

// "" when there are no data; where there are, a file that is missing is a failure of the test that wants it.
std::string shared_data(const std::string& name) {
  const char* folder = std::getenv("ISOBIT_SHARED_DATA");
  if (folder == nullptr || !fs::is_directory(folder)) return "";
  return (fs::path(folder) / name).string();
}

// float32 [count, dims], made of consecutive samples of one byte an element: f(channel, byte).
template <class F>
Tensor images(const Tensor& bytes, int64_t first, int64_t count, const std::vector<int64_t>& dims, F f) {
  std::vector<int64_t> shape = dims;
  shape.insert(shape.begin(), count);
  Tensor tensor(DType::kFloat32, Shape(shape));
  const int64_t each = tensor.elements() / count, plane = each / dims[0];
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    tensor.data<float>()[i] = f(i % each / plane, bytes.data<uint8_t>()[first * each + i]);
  }
  return tensor;
}

// How many rows of the first output have their largest element at the label.
int64_t right(const Tensor& logits, const Tensor& labels, int64_t first) {
  const int64_t rows = logits.shape()[0], classes = logits.shape()[1];
  int64_t count = 0;
  for (int64_t r = 0; r < rows; ++r) {
    const float* row = logits.data<float>() + r * classes;
    count += std::max_element(row, row + classes) - row == labels.data<uint8_t>()[first + r];
  }
  return count;
}

Tensor read_idx(const std::string& path) {
  const Bytes packed = read_file(path, 1 << 26).value();
  return formats::decode_idx(formats::gunzip(packed, path, 1 << 26).value(), path).value();
}

int64_t right_of(const InferenceRequest& request, platform::Engine& engine, const Tensor& labels, int64_t first) {
  const auto done = infer(request, engine);
  if (!done) {
    ADD_FAILURE() << done.error().message;
    return 0;
  }
  return right(done->outputs[0].tensor, labels, first);
}

// The file asks for one image at a time, of bytes as they are.
TEST(TrainedModels, MnistCnnIsRightOn984OfThousand) {
  const std::string model = shared_data("models/mnist-cnn.onnx"), folder = shared_data("mnist");
  if (model.empty()) GTEST_SKIP() << "skipped: no data";
  ASSERT_TRUE(fs::exists(model)) << model;
  ASSERT_TRUE(fs::is_directory(folder)) << folder;
  const Tensor bytes = read_idx(folder + "/t10k-images-idx3-ubyte.gz");
  const Tensor labels = read_idx(folder + "/t10k-labels-idx1-ubyte.gz");
  platform::Engine engine(platform::parse_platform("ordered/1t").value());
  InferenceRequest request;
  request.model = model;
  int64_t count = 0;
  for (int64_t i = 0; i < 2000 && !HasFailure(); ++i) {
    request.inputs = {{"", images(bytes, i, 1, {1, 28, 28}, [](int64_t, uint8_t x) { return static_cast<float>(x); })}};
    count += right_of(request, engine, labels, i);
  }
  EXPECT_EQ(count, 1968);
}

// Images that it was trained on, each channel less the mean and over the deviation of its author's choice.
TEST(TrainedModels, Resnet20IsRightOn998OfThousand) {
  const std::string model = shared_data("models/resnet20-cifar10.onnx");
  const std::string file = shared_data("cifar10/lossless_train_0_3999.bin");
  if (model.empty()) GTEST_SKIP() << "skipped: no data";
  ASSERT_TRUE(fs::exists(model)) << model;
  ASSERT_TRUE(fs::exists(file)) << file;
  const auto records = formats::decode_cifar10(read_file(file, 1 << 26).value(), file);
  ASSERT_TRUE(records) << records.error().message;
  const float mean[] = {0.485f, 0.456f, 0.406f}, deviation[] = {0.229f, 0.224f, 0.225f};
  platform::Engine engine(platform::parse_platform("ordered").value());
  InferenceRequest request;
  request.model = model;
  int64_t count = 0;
  for (int64_t i = 0; i < 4000 && !HasFailure(); i += 100) {
    request.inputs = {{"", images(records->images, i, 100, {3, 32, 32}, [&](int64_t c, uint8_t x) {
                         return (static_cast<float>(x) / 255.0f - mean[c]) / deviation[c];
                       })}};
    count += right_of(request, engine, records->labels, i);
  }
  EXPECT_EQ(count, 3992);
}

class TrainedModel : public ::testing::TestWithParam<const char*> {};

// Of every platform of our own kernels; drawn inputs, and for the voice detector the rate that it knows.
TEST_P(TrainedModel, HasTheSameBitsOnEveryPlatform) {
  const std::string model = shared_data(std::string("models/") + GetParam());
  if (model.empty()) GTEST_SKIP() << "skipped: no data";
  ASSERT_TRUE(fs::exists(model)) << model;
  InferenceRequest request;
  request.model = model;
  if (request.model.stem() == "silero_vad_16k_op15") {
    request.inputs = {{"sr", Tensor::scalar<int64_t>(16000)}};
    request.extents = {{"sequence", 512}};
  }
  std::vector<NamedTensor> first;
  for (const platform::Platform& p : platform::available_platforms()) {
    if (!p.is_ordered()) continue;
    platform::Engine engine(p);
    const auto done = infer(request, engine);
    ASSERT_TRUE(done) << p.text() << ": " << done.error().message;
    if (first.empty()) first = done->outputs;
    ASSERT_EQ(done->outputs.size(), first.size());
    for (size_t i = 0; i < first.size(); ++i) {
      EXPECT_TRUE(identical(done->outputs[i].tensor, first[i].tensor)) << p.text() << ", output " << first[i].name;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Files, TrainedModel,
                         ::testing::Values("mnist-cnn.onnx", "resnet20-cifar10.onnx", "ultraface-version-RFB-320.onnx",
                                           "silero_vad_16k_op15.onnx"));

}  // namespace
}  // namespace isobit::lab
