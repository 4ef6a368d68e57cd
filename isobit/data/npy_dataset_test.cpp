#include <gtest/gtest.h>

#include <cmath>

#include "isobit/data/testing.h"

namespace isobit::data {
namespace {

using testing::contains;
using testing::filled;
using testing::open_error;
using testing::sample_bytes;
using testing::TemporaryFolder;

// A version 1.0 file as NumPy writes it.
template <class T>
Bytes npy(const std::string& descr, const std::string& shape, const std::vector<T>& values) {
  std::string header = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }";
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  ByteWriter out;
  out.fixed(as_bytes(std::string("\x93NUMPY\x01\x00", 8)));
  out.u16(static_cast<uint16_t>(header.size()));
  out.fixed(as_bytes(header));
  out.fixed({reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(T)});
  return out.take();
}

class Npy : public ::testing::Test {
 protected:
  Npy() {
    folder_.write("inputs.npy", npy<float>("<f4", "(3, 2)", {0.5f, -1, 2, -0.0f, 1e-40f, 7}));
    folder_.write("labels.npy", npy<int64_t>("<i8", "(3,)", {0, 4, 1}));
    config_.dataset = "npy";
    config_.path = folder_.path();
  }
  TemporaryFolder folder_;
  DataConfig config_;
};

TEST_F(Npy, Float32FolderWithoutTest) {
  auto dataset = open_dataset(config_);
  ASSERT_TRUE(dataset) << dataset.error().message;
  EXPECT_EQ((*dataset)->inputs(), (std::vector<SampleInput>{{"input", DType::kFloat32, {2}}}));
  EXPECT_EQ((*dataset)->target(), (Target{TargetKind::kClass, DType::kInt64, {}, 5}));
  EXPECT_EQ((*dataset)->train_count(), 3);
  EXPECT_EQ((*dataset)->test_count(), 0);
  const auto [input, label] = filled(**dataset, Split::kTrain, 1);
  EXPECT_EQ(label, 4);
  EXPECT_EQ(input[0], 2.0f);
  EXPECT_TRUE(input[1] == 0.0f && std::signbit(input[1]));
  EXPECT_EQ(to_hex(sample_bytes(**dataset, Split::kTrain, 0)),
            "0000000000000000"
            "0000003f"
            "000080bf");
}

TEST_F(Npy, Uint8FilesWithTestAndAugmentation) {
  DataConfig config;
  config.dataset = "npy";
  config.path = folder_.write("x.npy", npy<uint8_t>("|u1", "(2, 1, 2, 2)", {0, 51, 102, 255, 1, 2, 3, 4}));
  config.labels_path = folder_.write("y.npy", npy<int32_t>("<i4", "(2,)", {1, 0}));
  config.test_path = folder_.write("tx.npy", npy<uint8_t>("|u1", "(1, 1, 2, 2)", {9, 8, 7, 6}));
  config.test_labels_path = folder_.write("ty.npy", npy<int64_t>("<i8", "(1,)", {2}));
  config.augment = {"flip"};
  auto dataset = open_dataset(config);
  ASSERT_TRUE(dataset) << dataset.error().message;
  EXPECT_EQ((*dataset)->inputs(), (std::vector<SampleInput>{{"input", DType::kFloat32, {1, 2, 2}}}));
  EXPECT_EQ((*dataset)->target().classes, 3);
  EXPECT_EQ((*dataset)->test_count(), 1);
  const auto [input, label] = filled(**dataset, Split::kTrain, 0, {0, 0, true});
  EXPECT_EQ(label, 1);
  EXPECT_EQ(input[0], 51.0f / 255.0f);
  EXPECT_EQ(input[1], 0.0f);
  EXPECT_EQ(input[2], 1.0f);
}

TEST_F(Npy, Errors) {
  const auto with = [&](const char* name, const Bytes& bytes) {
    const Bytes before = *read_file(folder_.path(name), 1 << 20);
    folder_.write(name, bytes);
    const std::string message = open_error(config_);
    folder_.write(name, before);
    EXPECT_TRUE(contains(message, folder_.path(name)));
    return message;
  };
  EXPECT_TRUE(contains(with("inputs.npy", npy<double>("<f8", "(3, 1)", {1, 2, 3})), "float64"));
  EXPECT_TRUE(contains(with("labels.npy", npy<float>("<f4", "(3,)", {1, 2, 3})), "float32"));
  EXPECT_TRUE(contains(with("labels.npy", npy<int64_t>("<i8", "(2,)", {1, 2})), "found 2 labels, expected 3"));
  EXPECT_TRUE(contains(with("labels.npy", npy<int64_t>("<i8", "(3, 1)", {1, 2, 3})), "[3, 1]"));
  EXPECT_TRUE(contains(with("labels.npy", npy<int64_t>("<i8", "(3,)", {1, -2, 3})), "label of sample 1: found -2"));
  EXPECT_TRUE(contains(with("labels.npy", npy<int64_t>("<i8", "(3,)", {1, 2, int64_t{1} << 40})), "label of sample 2"));
  EXPECT_TRUE(contains(with("inputs.npy", npy<float>("<f4", "()", {1})), "[]"));
  EXPECT_TRUE(contains(with("inputs.npy", npy<float>("<f4", "(3,)", {1, 2, 3})), "[3]"));
  EXPECT_TRUE(contains(with("inputs.npy", npy<float>("<f4", "(3, 0)", {})), "[3, 0]"));
  EXPECT_TRUE(contains(with("inputs.npy", npy<float>("<f4", "(3, 1)", {1, NAN, 3})), "sample 1: found nan"));
  EXPECT_TRUE(contains(with("inputs.npy", npy<float>("<f4", "(3, 1)", {1, 2, -INFINITY})), "sample 2: found -inf"));
  Bytes magic = npy<float>("<f4", "(3, 1)", {1, 2, 3});
  magic[1] = 'M';
  with("inputs.npy", magic);
  Bytes cut = npy<float>("<f4", "(3, 1)", {1, 2, 3});
  cut.pop_back();
  with("inputs.npy", cut);
  config_.augment = {"crop"};
  EXPECT_TRUE(contains(open_error(config_), "data.augment: found samples of shape [2]"));
  config_.augment.clear();
  fs::remove(folder_.path("labels.npy"));
  EXPECT_TRUE(contains(open_error(config_), "labels.npy"));
}

TEST_F(Npy, TestPairMustFit) {
  folder_.write("test_inputs.npy", npy<float>("<f4", "(1, 3)", {1, 2, 3}));
  EXPECT_TRUE(contains(open_error(config_), "test_labels.npy"));
  folder_.write("test_labels.npy", npy<int64_t>("<i8", "(1,)", {1}));
  EXPECT_TRUE(contains(open_error(config_), "test_inputs.npy"));
  folder_.write("test_inputs.npy", npy<uint8_t>("|u1", "(1, 2)", {1, 2}));
  EXPECT_TRUE(contains(open_error(config_), "test_inputs.npy"));
  folder_.write("test_inputs.npy", npy<float>("<f4", "(1, 2)", {1, 2}));
  EXPECT_TRUE(open_dataset(config_));
  config_.labels_path = folder_.path("labels.npy");
  EXPECT_TRUE(contains(open_error(config_), "data.labels_path"));  // path is a folder
  DataConfig files;
  files.dataset = "npy";
  files.path = folder_.path("inputs.npy");
  EXPECT_TRUE(contains(open_error(files), "data.labels_path"));
  files.labels_path = folder_.path("labels.npy");
  EXPECT_TRUE(open_dataset(files));
  files.test_path = folder_.path("test_inputs.npy");
  EXPECT_TRUE(contains(open_error(files), "data.test_labels_path"));
}

}  // namespace
}  // namespace isobit::data
