#include <gtest/gtest.h>

#include <cmath>

#include "isobit/data/batch.h"
#include "isobit/data/testing.h"

namespace isobit::data {
namespace {

using testing::contains;
using testing::filled;
using testing::npy;
using testing::open_error;
using testing::sample_bytes;
using testing::TemporaryFolder;

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

// What one input and classes were committed to before there was anything else: docs/formats/samples.md, version 1.
TEST_F(Npy, OneInputAndClassesKeepTheirHeader) {
  const auto header = [&] { return to_hex((*open_dataset(config_))->header_bytes()); };
  const std::string front =
      "69736f62697420646174617365740a"  // magic
      "01000000"                        // version
      "0300000000000000"
      "6e7079"  // npy
      "01";     // image classification
  const std::string dims =
      "01000000"
      "0200000000000000"                                                       // of the samples
      "0500000000000000"                                                       // classes
      "0300000000000000"                                                       // training samples
      "0000000000000000";                                                      // test samples
  EXPECT_EQ(header(), front + "0101" + dims + "0300000000000000" + "663332");  // f32
  folder_.write("inputs.npy", npy<uint8_t>("|u1", "(3, 2)", {0, 51, 102, 255, 1, 2}));
  EXPECT_EQ(header(), front + "0501" + dims + "0600000000000000" + "75382f323535");  // u8/255
  // The name is no part of that version, so another name is another header.
  fs::rename(folder_.path("inputs.npy"), folder_.path("inputs.x.npy"));
  EXPECT_TRUE(header().starts_with("69736f62697420646174617365740a02000000"));
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
  EXPECT_TRUE(contains(with("inputs.npy", npy<double>("<c8", "(3, 1)", {1, 2, 3})), "<c8"));
  EXPECT_TRUE(contains(with("labels.npy", npy<int64_t>("<i8", "(2,)", {1, 2})), "found 2 labels, expected 3"));
  EXPECT_TRUE(contains(with("labels.npy", npy<int64_t>("<i8", "(3, 1)", {1, 2, 3})), "[3, 1]"));
  EXPECT_TRUE(contains(with("labels.npy", npy<int64_t>("<i8", "(3,)", {1, -2, 3})), "label of sample 1: found -2"));
  EXPECT_TRUE(contains(with("labels.npy", npy<int64_t>("<i8", "(3,)", {1, 2, int64_t{1} << 40})), "label of sample 2"));
  EXPECT_TRUE(contains(with("inputs.npy", npy<float>("<f4", "()", {1})), "[]"));
  EXPECT_TRUE(contains(with("inputs.npy", npy<float>("<f4", "(3, 0)", {})), "[3, 0]"));
  EXPECT_TRUE(contains(with("inputs.npy", npy<float>("<f4", "(3, 1)", {1, NAN, 3})), "sample 1: found nan"));
  EXPECT_TRUE(contains(with("inputs.npy", npy<float>("<f4", "(3, 1)", {1, 2, -INFINITY})), "sample 2: found -inf"));
  EXPECT_TRUE(contains(with("inputs.npy", npy<double>("<f8", "(3, 1)", {NAN, 2, 3})), "sample 0: found nan"));
  EXPECT_TRUE(contains(with("inputs.npy", npy<uint16_t>("<f2", "(3, 1)", {0, 0x7bff, 0x7c00})), "sample 2: found inf"));
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

// Of every type, as it is stored.
template <class T>
void expect_fed_as_stored(const std::string& descr, const std::vector<T>& values) {
  TemporaryFolder folder;
  DataConfig config;
  config.dataset = "npy";
  config.path = folder.path();
  config.target = TargetRule::kNone;
  config.bytes = ByteRule::kAsStored;
  folder.write("inputs.npy", npy<T>(descr, "(2, 1, 2)", values));
  const auto dataset = open_dataset(config);
  ASSERT_TRUE(dataset) << descr << dataset.error().message;
  EXPECT_EQ((*dataset)->target().kind, TargetKind::kNone);
  ASSERT_EQ((*dataset)->inputs().size(), 1u);
  EXPECT_EQ((*dataset)->inputs()[0].shape, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(size_of((*dataset)->inputs()[0].dtype), sizeof(T));
  ThreadPool pool(2);
  const Batch batch = train_batch(**dataset, {.seed = 1, .batch = 4, .augment = {}}, 0, pool).value();
  EXPECT_FALSE(batch.target.defined());
  EXPECT_EQ(batch.inputs[0].dtype(), (*dataset)->inputs()[0].dtype);
  EXPECT_EQ(batch.inputs[0].shape(), (Shape{4, 1, 2}));
  for (size_t j = 0; j < 4; ++j) {
    const auto* row = static_cast<const uint8_t*>(batch.inputs[0].raw()) + j * 2 * sizeof(T);
    EXPECT_EQ(std::memcmp(row, values.data() + 2 * batch.indices[j], 2 * sizeof(T)), 0) << descr;
    const Bytes sample = sample_bytes(**dataset, Split::kTrain, batch.indices[j]);
    EXPECT_EQ(Bytes(row, row + 2 * sizeof(T)), sample) << "no target, so nothing but the elements";
  }
}

TEST(NpyTypes, AreFedAsTheyAreStored) {
  expect_fed_as_stored<double>("<f8", {0.1, -0.0, 1e-310, 1e300});
  expect_fed_as_stored<float>("<f4", {0.1f, -0.0f, 1e-40f, 1e30f});
  expect_fed_as_stored<uint16_t>("<f2", {1, 0x8000, 0x7bff, 0x3c00});
  expect_fed_as_stored<int64_t>("<i8", {INT64_MIN, -1, 0, INT64_MAX});
  expect_fed_as_stored<int32_t>("<i4", {INT32_MIN, -1, 0, INT32_MAX});
  expect_fed_as_stored<int16_t>("<i2", {INT16_MIN, -1, 0, INT16_MAX});
  expect_fed_as_stored<int8_t>("|i1", {INT8_MIN, -1, 0, INT8_MAX});
  expect_fed_as_stored<uint64_t>("<u8", {0, 1, 2, UINT64_MAX});
  expect_fed_as_stored<uint32_t>("<u4", {0, 1, 2, UINT32_MAX});
  expect_fed_as_stored<uint16_t>("<u2", {0, 1, 2, UINT16_MAX});
  expect_fed_as_stored<uint8_t>("|u1", {0, 1, 2, UINT8_MAX});
  expect_fed_as_stored<uint8_t>("|b1", {0, 1, 1, 0});
}

TEST_F(Npy, BytesAreScaledOrNot) {
  folder_.write("inputs.npy", npy<uint8_t>("|u1", "(3, 2)", {0, 51, 102, 255, 1, 2}));
  EXPECT_EQ(filled(**open_dataset(config_), Split::kTrain, 0).input, (std::vector<float>{0, 51.0f / 255.0f}));
  config_.bytes = ByteRule::kFloat32;
  const auto floats = open_dataset(config_);
  EXPECT_EQ(filled(**floats, Split::kTrain, 1).input, (std::vector<float>{102, 255}));
  EXPECT_EQ((*floats)->header_bytes()[15], 2) << "what version 1 cannot say";
  config_.bytes = ByteRule::kAsStored;
  EXPECT_EQ((*open_dataset(config_))->inputs()[0].dtype, DType::kUint8);
}

// A sample of rank 0: one number for each.
TEST_F(Npy, NumbersAreSamplesToo) {
  folder_.write("inputs.npy", npy<float>("<f4", "(3,)", {1, 2, 3}));
  const auto dataset = open_dataset(config_);
  ASSERT_TRUE(dataset) << dataset.error().message;
  EXPECT_TRUE((*dataset)->inputs()[0].shape.empty());
  EXPECT_EQ(filled(**dataset, Split::kTrain, 2).input, std::vector<float>{3});
}

class SeveralInputs : public ::testing::Test {
 protected:
  SeveralInputs() {
    config_.dataset = "npy";
    config_.path = folder_.path();
    folder_.write("inputs.b.npy", npy<float>("<f4", "(2, 1)", {0.5f, 1.5f}));
    folder_.write("inputs.a.npy", npy<int64_t>("<i8", "(2, 2)", {1, 2, 3, 4}));
    folder_.write("labels.npy", npy<float>("<f4", "(2,)", {-1, -2}));
  }
  TemporaryFolder folder_;
  DataConfig config_;
};

TEST_F(SeveralInputs, OfAFolderComeByName) {
  const auto dataset = open_dataset(config_);
  ASSERT_TRUE(dataset) << dataset.error().message;
  EXPECT_EQ((*dataset)->inputs(), (std::vector<SampleInput>{{"a", DType::kInt64, {2}}, {"b", DType::kFloat32, {1}}}));
  EXPECT_EQ((*dataset)->target(), (Target{TargetKind::kRegression, DType::kFloat32, {}, 0}));
  ThreadPool pool(2);
  const Batch batch = train_batch(**dataset, {.seed = 1, .batch = 5, .augment = {}}, 0, pool).value();
  for (int64_t j = 0; j < 5; ++j) {
    const int64_t i = batch.indices[static_cast<size_t>(j)];
    EXPECT_EQ(testing::row_of<int64_t>(batch.inputs[0], j), (std::vector<int64_t>{2 * i + 1, 2 * i + 2}));
    EXPECT_EQ(testing::row_of<float>(batch.inputs[1], j), (std::vector<float>{static_cast<float>(i) + 0.5f}));
    EXPECT_EQ(testing::row_of<float>(batch.target, j), (std::vector<float>{static_cast<float>(-1 - i)}));
  }
}

// docs/formats/samples.md, version 2, written out by hand.
TEST_F(SeveralInputs, HeaderAndSampleBytes) {
  const auto dataset = open_dataset(config_);
  EXPECT_EQ(to_hex((*dataset)->header_bytes()),
            "69736f62697420646174617365740a"  // magic
            "02000000"                        // version
            "0300000000000000"
            "6e7079"    // npy
            "02000000"  // inputs
            "0100000000000000"
            "61"  // a
            "03"
            "03"  // stored and fed as int64
            "01000000"
            "0200000000000000"
            "0900000000000000"
            "61732d73746f726564"  // as-stored
            "0100000000000000"
            "62"  // b
            "01"
            "01"
            "01000000"
            "0100000000000000"
            "0300000000000000"
            "663332"  // f32
            "04"      // regression
            "01"      // float32
            "00000000"
            "0000000000000000"    // classes
            "0200000000000000"    // training samples
            "0000000000000000");  // test samples
  EXPECT_EQ(to_hex(sample_bytes(**dataset, Split::kTrain, 1)),
            "000000c0"
            "03000000000000000400000000000000"
            "0000c03f");
}

TEST_F(SeveralInputs, NamedFilesAreTheSameData) {
  DataConfig named;
  named.dataset = "npy";
  named.inputs = {{"b", folder_.path("inputs.b.npy")}, {"a", folder_.path("inputs.a.npy")}};
  named.labels_path = folder_.path("labels.npy");
  const auto dataset = open_dataset(named);
  ASSERT_TRUE(dataset) << dataset.error().message;
  EXPECT_EQ((*dataset)->header_bytes(), (*open_dataset(config_))->header_bytes());
  named.inputs["c"] = folder_.path("labels.npy");
  EXPECT_NE((*open_dataset(named))->header_bytes(), (*dataset)->header_bytes());
}

TEST_F(SeveralInputs, Errors) {
  folder_.write("inputs.npy", npy<float>("<f4", "(2, 1)", {1, 2}));
  EXPECT_TRUE(contains(open_error(config_), "inputs.npy: found beside"));
  fs::remove(folder_.path("inputs.npy"));
  folder_.write("inputs.c.npy", npy<float>("<f4", "(3, 1)", {1, 2, 3}));
  EXPECT_TRUE(contains(open_error(config_), "inputs.c.npy: found 3 samples, expected 2"));
  fs::remove(folder_.path("inputs.c.npy"));
  folder_.write("test_inputs.a.npy", npy<int64_t>("<i8", "(1, 2)", {1, 2}));
  folder_.write("test_labels.npy", npy<float>("<f4", "(1,)", {1}));
  EXPECT_TRUE(contains(open_error(config_), "data.test_inputs: found none for the input \"b\""));
  folder_.write("test_inputs.b.npy", npy<float>("<f4", "(2, 1)", {1, 2}));
  EXPECT_TRUE(contains(open_error(config_), "test_inputs.b.npy: found 2 samples, expected 1"));
  folder_.write("test_inputs.b.npy", npy<float>("<f4", "(1, 1)", {1}));
  EXPECT_EQ((*open_dataset(config_))->test_count(), 1);
  folder_.write("test_inputs.d.npy", npy<float>("<f4", "(1, 1)", {1}));
  EXPECT_TRUE(contains(open_error(config_), "found an input \"d\" for the test alone"));
  fs::remove(folder_.path("test_inputs.d.npy"));
  config_.augment = {"flip"};
  EXPECT_TRUE(contains(open_error(config_), "data.augment"));
  config_.augment.clear();
  DataConfig both = config_;
  both.inputs = {{"a", folder_.path("inputs.a.npy")}};
  EXPECT_TRUE(contains(open_error(both), "beside data.inputs"));
  both.path.clear();
  EXPECT_TRUE(contains(open_error(both), "data.labels_path"));
  both.labels_path = folder_.path("labels.npy");
  EXPECT_TRUE(open_dataset(both));
  both.inputs = {{"", folder_.path("inputs.a.npy")}};
  EXPECT_TRUE(contains(open_error(both), "an input name of 0 bytes"));
  both.inputs = {{"a", ""}};
  EXPECT_TRUE(contains(open_error(both), "\"a\" names no file"));
  both.inputs.clear();
  for (size_t i = 0; i <= kMaxInputs; ++i) both.inputs[std::to_string(i)] = folder_.path("inputs.a.npy");
  EXPECT_TRUE(contains(open_error(both), "expected at most 64"));
}

}  // namespace
}  // namespace isobit::data
