// What a sample is fed as, from header and sample bytes alone, is what Dataset::fill gives: for every kind of dataset.
#include "isobit/data/shown_sample.h"

#include <gtest/gtest.h>
#include <png.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "isobit/data/order.h"
#include "isobit/data/testing.h"
#include "isobit/formats/image_for_test.h"

namespace isobit::data {
namespace {

using testing::contains;
using testing::npy;
using testing::TemporaryFolder;

// The rows of one sample. What nobody wrote keeps its fill byte.
struct Rows {
  Rows(const std::vector<SampleInput>& inputs, const Target& target_of) {
    const auto row = [](DType dtype, const std::vector<int64_t>& shape) {
      Tensor tensor(dtype, Shape(shape));
      std::memset(tensor.raw(), 0xa5, tensor.bytes());
      return tensor;
    };
    for (const SampleInput& input : inputs) {
      tensors.push_back(row(input.dtype, input.shape));
      to.push_back(tensors.back().raw());
    }
    if (target_of.kind != TargetKind::kNone) target = row(target_of.dtype, target_of.shape);
  }
  void* to_target() { return target.defined() ? target.raw() : nullptr; }
  bool operator==(const Rows& other) const {
    const auto same = [](const Tensor& a, const Tensor& b) {
      return a.defined() == b.defined() && (!a.defined() || std::ranges::equal(a.byte_view(), b.byte_view()));
    };
    return std::ranges::equal(tensors, other.tensors, same) && same(target, other.target);
  }
  std::vector<Tensor> tensors;
  Tensor target;
  std::vector<void*> to;
};

ShownSamples shown_of(const Dataset& dataset) {
  auto shown = ShownSamples::open(dataset.header_bytes(), "header");
  EXPECT_TRUE(shown) << shown.error().message;
  EXPECT_EQ(shown->name(), dataset.name());
  EXPECT_EQ(shown->inputs(), dataset.inputs());
  EXPECT_EQ(shown->target(), dataset.target());
  EXPECT_EQ(shown->count(Split::kTrain), dataset.train_count());
  EXPECT_EQ(shown->count(Split::kTest), dataset.test_count());
  EXPECT_EQ(shown->takes_augmentation(), dataset.takes_augmentation());
  return *shown;
}

std::vector<AugmentDraw> draws_of(const Dataset& dataset) {
  if (!dataset.takes_augmentation()) return {{}};
  const int64_t far = dataset.inputs()[0].shape[1] + 1;
  return {{}, {0, 0, true}, {1, -1, false}, {-1, 2, true}, {far, 0, false}};
}

// Every sample under every draw, and the batches of steps, whose draws come from seed, step and position.
void expect_equal_to_fill(const Dataset& dataset) {
  const ShownSamples shown = shown_of(dataset);
  for (const Split split : {Split::kTrain, Split::kTest}) {
    for (int64_t i = 0; i < dataset.count(split); ++i) {
      // At an odd address, as it may lie in a message.
      Bytes sample = testing::sample_bytes(dataset, split, i);
      ASSERT_EQ(sample.size(), shown.sample_size());
      sample.insert(sample.begin(), 0);
      for (const AugmentDraw& draw : draws_of(dataset)) {
        Rows expected(dataset.inputs(), dataset.target()), found = Rows(shown.inputs(), shown.target());
        ASSERT_TRUE(dataset.fill(split, i, draw, expected.to, expected.to_target()));
        const Status status = shown.fill(ByteView(sample).subspan(1), draw, found.to, found.to_target());
        ASSERT_TRUE(status) << status.error().message;
        ASSERT_TRUE(found == expected) << dataset.name() << " sample " << i;
      }
    }
  }
  BatchOptions options{.seed = 7, .batch = 5, .augment = {}};
  if (dataset.takes_augmentation()) options.augment = {true, true};
  ThreadPool pool(1);
  for (int64_t step = 0; step < 3; ++step) {
    const Batch batch = train_batch(dataset, options, step, pool).value();
    for (int64_t j = 0; j < options.batch; ++j) {
      const int64_t i = sample_index(options.seed, options.batch, shown.count(Split::kTrain), step, j);
      Rows found(shown.inputs(), shown.target());
      ASSERT_TRUE(shown.fill(testing::sample_bytes(dataset, Split::kTrain, i), shown.draw(options, step, j).value(),
                             found.to, found.to_target()));
      for (size_t k = 0; k < found.tensors.size(); ++k) {
        const size_t size = found.tensors[k].bytes();
        ASSERT_TRUE(std::ranges::equal(batch.inputs[k].byte_view().subspan(static_cast<size_t>(j) * size, size),
                                       found.tensors[k].byte_view()));
      }
    }
  }
}

std::unique_ptr<Dataset> opened(const DataConfig& config) {
  auto dataset = open_dataset(config);
  EXPECT_TRUE(dataset) << dataset.error().message;
  return std::move(*dataset);
}

DataConfig config_of(const std::string& name, const std::string& path = "") {
  DataConfig config;
  config.dataset = name;
  config.path = path;
  return config;
}

Bytes bytes_of(size_t n, uint8_t step = 31) {
  Bytes out(n);
  for (size_t i = 0; i < n; ++i) out[i] = static_cast<uint8_t>(i * step + i / 256);
  return out;
}

TEST(ShownSamples, Digits) { expect_equal_to_fill(*opened(config_of("digits"))); }

TEST(ShownSamples, Mnist) {
  TemporaryFolder folder;
  const auto put = [&](const std::string& part, uint8_t n) {
    Bytes images = {0, 0, 8, 3, 0, 0, 0, n, 0, 0, 0, 28, 0, 0, 0, 28}, labels = {0, 0, 8, 1, 0, 0, 0, n};
    const Bytes pixels = bytes_of(784u * n);
    images.insert(images.end(), pixels.begin(), pixels.end());
    for (uint8_t i = 0; i < n; ++i) labels.push_back(i % 10);
    folder.write(part + "-images-idx3-ubyte", images);
    folder.write(part + "-labels-idx1-ubyte", labels);
  };
  put("train", 7);
  put("t10k", 3);
  expect_equal_to_fill(*opened(config_of("mnist", folder.path())));
}

TEST(ShownSamples, Cifar10) {
  TemporaryFolder folder;
  Bytes records = bytes_of(4 * 3073, 7);
  for (size_t i = 0; i < 4; ++i) records[i * 3073] = static_cast<uint8_t>(9 - i);
  DataConfig config = config_of("cifar10");
  config.files = config.test_files = {folder.write("a.bin", records)};
  expect_equal_to_fill(*opened(config));
}

TEST(ShownSamples, RealData) {
  int found = 0;
  for (const char* name : {"mnist", "cifar10"}) {
    const std::string path = testing::shared_data(name);
    if (path.empty()) continue;
    const auto dataset = opened(config_of(name, path));
    const ShownSamples shown = shown_of(*dataset);
    for (int64_t i = 0; i < dataset->train_count(); i += 97) {
      const AugmentDraw draw = shown.draw({.seed = 1, .batch = 1, .augment = {true, true}}, i, 0).value();
      Rows expected(dataset->inputs(), dataset->target()), rows(shown.inputs(), shown.target());
      ASSERT_TRUE(dataset->fill(Split::kTrain, i, draw, expected.to, expected.to_target()));
      ASSERT_TRUE(shown.fill(testing::sample_bytes(*dataset, Split::kTrain, i), draw, rows.to, rows.to_target()));
      ASSERT_TRUE(rows == expected) << name << " sample " << i;
    }
    ++found;
  }
  if (found == 0) GTEST_SKIP() << "skipped: no data";
}

TEST(ShownSamples, ImagesUnderEveryByteRule) {
  TemporaryFolder folder;
  for (const char* name : {"train/a/1.png", "train/a/2.png", "train/b/1.png", "test/b/1.png"}) {
    fs::create_directories(fs::path(folder.path(name)).parent_path());
    folder.write(name, formats::png_of({5, 3, 8, PNG_COLOR_TYPE_RGB}, bytes_of(45, static_cast<uint8_t>(name[8]))));
  }
  DataConfig config = config_of("images", folder.path());
  for (const ByteRule rule : {ByteRule::kScaled, ByteRule::kFloat32, ByteRule::kAsStored}) {
    config.bytes = rule;
    expect_equal_to_fill(*opened(config));
  }
}

TEST(ShownSamples, Text) {
  TemporaryFolder folder;
  for (const int64_t context : {1, 4, 9}) {
    DataConfig config = config_of("text", folder.write("a.txt", bytes_of(300)));
    config.context = context;
    expect_equal_to_fill(*opened(config));
  }
}

// Files of inputs and labels in a folder of their own.
class Npy : public ::testing::Test {
 protected:
  Npy() : config_(config_of("npy", folder_.path())) {}
  void expect_equal() { expect_equal_to_fill(*opened(config_)); }
  TemporaryFolder folder_;
  DataConfig config_;
};

TEST_F(Npy, EveryByteRule) {
  folder_.write("inputs.npy", npy<uint8_t>("|u1", "(4, 2, 5, 3)", bytes_of(120)));
  folder_.write("labels.npy", npy<int64_t>("<i8", "(4,)", {0, 4, 1, 2}));
  for (const ByteRule rule : {ByteRule::kScaled, ByteRule::kFloat32, ByteRule::kAsStored}) {
    config_.bytes = rule;
    expect_equal();
  }
}

TEST_F(Npy, EveryTypeOfInputAtOnce) {
  const auto put = [&]<class T>(const std::string& name, const std::string& descr, std::vector<T> values) {
    folder_.write("inputs." + name + ".npy", npy<T>(descr, "(2, 3)", values));
  };
  put("b", "|b1", std::vector<uint8_t>{0, 1, 1, 0, 0, 1});
  put("f2", "<f2", std::vector<uint16_t>{1, 0x8000, 0x7bff, 0x3c00, 0, 2});
  put("f4", "<f4", std::vector<float>{0.1f, -0.0f, 1e-40f, 1e30f, 3, 4});
  put("f8", "<f8", std::vector<double>{0.1, -0.0, 1e-310, 1e300, 3, 4});
  put("i1", "|i1", std::vector<int8_t>{INT8_MIN, -1, 0, INT8_MAX, 3, 4});
  put("i2", "<i2", std::vector<int16_t>{INT16_MIN, -1, 0, INT16_MAX, 3, 4});
  put("i4", "<i4", std::vector<int32_t>{INT32_MIN, -1, 0, INT32_MAX, 3, 4});
  put("i8", "<i8", std::vector<int64_t>{INT64_MIN, -1, 0, INT64_MAX, 3, 4});
  put("u1", "|u1", std::vector<uint8_t>{0, 1, 2, UINT8_MAX, 3, 4});
  put("u2", "<u2", std::vector<uint16_t>{0, 1, 2, UINT16_MAX, 3, 4});
  put("u4", "<u4", std::vector<uint32_t>{0, 1, 2, UINT32_MAX, 3, 4});
  put("u8", "<u8", std::vector<uint64_t>{0, 1, 2, UINT64_MAX, 3, 4});
  config_.target = TargetRule::kNone;
  expect_equal();
}

TEST_F(Npy, EveryKindOfTarget) {
  folder_.write("inputs.npy", npy<float>("<f4", "(3, 1, 2, 2)", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, -11.5f}));
  const auto with = [&](TargetRule rule, const Bytes& labels) {
    folder_.write("labels.npy", labels);
    config_.target = rule;
    expect_equal();
  };
  with(TargetRule::kClass, npy<uint8_t>("|u1", "(3, 1)", {0, 9, 200}));
  with(TargetRule::kClassPerToken, npy<int32_t>("<i4", "(3, 2)", {0, 9, 3, 4, 5, 6}));
  with(TargetRule::kMultiLabel, npy<float>("<f4", "(3, 2)", {0, 1, -0.0f, 0, 1, 1}));
  with(TargetRule::kMultiLabel, npy<uint8_t>("|b1", "(3, 2, 1)", {0, 1, 1, 0, 1, 1}));
  with(TargetRule::kRegression, npy<double>("<f8", "(3,)", {0.1, -0.0, 1e-42}));
  with(TargetRule::kRegression, npy<int64_t>("<i8", "(3, 2)", {INT64_MAX, -1, 0, 3, 4, 5}));
  config_.target = TargetRule::kNone;
  expect_equal();
}

TEST_F(Npy, NumbersAreSamplesToo) {
  folder_.write("inputs.npy", npy<float>("<f4", "(3,)", {1, 2, 3}));
  folder_.write("labels.npy", npy<int64_t>("<i8", "(3,)", {0, 4, 1}));
  folder_.write("test_inputs.npy", npy<float>("<f4", "(1,)", {-9}));
  folder_.write("test_labels.npy", npy<int64_t>("<i8", "(1,)", {5}));
  expect_equal();
}

// Headers and samples that no dataset has.

Bytes header_of(const DatasetHeader& header) { return encode(header); }

DatasetHeader npy_header(Target target, DType dtype = DType::kFloat32) {
  const char* rule = dtype == DType::kFloat32 ? "f32" : "as-stored";
  return {"npy", {{"a", dtype, {2}}}, {{dtype, rule}}, std::move(target), 3, 0};
}

std::string error_of(const ShownSamples& shown, ByteView sample, const AugmentDraw& draw = {}) {
  Rows rows(shown.inputs(), shown.target());
  const Status status = shown.fill(sample, draw, rows.to, rows.to_target());
  if (status) return "";
  EXPECT_EQ(status.error().code, ErrorCode::kUnreadable);
  return status.error().message;
}

template <class... T>
Bytes sample_of(T... values) {
  ByteWriter writer;
  (writer.fixed({reinterpret_cast<const uint8_t*>(&values), sizeof values}), ...);
  return writer.take();
}

ShownSamples shown_with(Target target, DType dtype = DType::kFloat32) {
  return ShownSamples::open(header_of(npy_header(std::move(target), dtype)), "header").value();
}

TEST(HostileSample, OfAnotherLength) {
  const auto dataset = opened(config_of("digits"));
  const ShownSamples shown = shown_of(*dataset);
  Bytes sample = testing::sample_bytes(*dataset, Split::kTrain, 0);
  EXPECT_EQ(error_of(shown, sample), "");
  sample.push_back(0);
  EXPECT_EQ(error_of(shown, sample), "header: the sample: found 73 bytes, expected 72 as the dataset's header says");
  EXPECT_TRUE(contains(error_of(shown, ByteView(sample).first(71)), "found 71 bytes"));
  EXPECT_TRUE(contains(error_of(shown, {}), "found 0 bytes"));
}

TEST(HostileSample, WithAClassOutOfRange) {
  const ShownSamples one = shown_with({TargetKind::kClass, DType::kInt64, {}, 10}, DType::kInt32);
  EXPECT_EQ(error_of(one, sample_of(int64_t{9}, int32_t{-1}, int32_t{7})), "");
  EXPECT_TRUE(contains(error_of(one, sample_of(int64_t{10}, 0, 0)), "label 0: found 10, expected 0 to 9"));
  EXPECT_TRUE(contains(error_of(one, sample_of(int64_t{-1}, 0, 0)), "found -1"));
  const ShownSamples tokens = shown_with({TargetKind::kClassPerToken, DType::kInt64, {2}, 10});
  EXPECT_EQ(error_of(tokens, sample_of(int64_t{9}, int64_t{0}, 0.5f, 1.5f)), "");
  EXPECT_TRUE(contains(error_of(tokens, sample_of(int64_t{9}, int64_t{11}, 0.5f, 1.5f)), "label 1: found 11"));
}

TEST(HostileSample, WithNumbersThatNoDatasetHas) {
  const float inf = std::numeric_limits<float>::infinity();
  const ShownSamples labels = shown_with({TargetKind::kMultiLabel, DType::kFloat32, {2}, 2});
  EXPECT_EQ(error_of(labels, sample_of(0.0f, 1.0f, 0.5f, 1.5f)), "");
  for (const float bad : {-0.0f, 0.5f, NAN, 1e-40f, std::nextafter(1.0f, 2.0f)}) {
    EXPECT_TRUE(contains(error_of(labels, sample_of(1.0f, bad, 0.5f, 1.5f)), "neither 0 nor 1")) << bad;
  }
  EXPECT_TRUE(contains(error_of(labels, sample_of(1.0f, 1.0f, inf, 1.5f)), "input \"a\": a number is not finite"));
  const ShownSamples numbers = shown_with({TargetKind::kRegression, DType::kFloat32, {}, 0});
  EXPECT_EQ(error_of(numbers, sample_of(-0.0f, 0.5f, 1.5f)), "");
  EXPECT_TRUE(contains(error_of(numbers, sample_of(-inf, 0.5f, 1.5f)), "a target is not finite"));
  const ShownSamples booleans = shown_with({TargetKind::kNone, DType::kFloat32, {}, 0}, DType::kBool);
  EXPECT_EQ(error_of(booleans, Bytes{1, 0}), "");
  EXPECT_TRUE(contains(error_of(booleans, Bytes{1, 2}), "a boolean is neither 0 nor 1"));
  const ShownSamples halves = shown_with({TargetKind::kNone, DType::kFloat32, {}, 0}, DType::kFloat16);
  EXPECT_TRUE(contains(error_of(halves, Bytes{0, 0, 0, 0x7c}), "not finite"));
}

TEST(HostileSample, AugmentedThoughItCannotBe) {
  const ShownSamples shown = shown_with({TargetKind::kNone, DType::kFloat32, {}, 0});
  EXPECT_TRUE(contains(error_of(shown, sample_of(0.5f, 1.5f), {0, 0, true}), "not augmented"));
  EXPECT_TRUE(shown.draw({.seed = 1, .batch = 1, .augment = {}}, 0, 0)->identity());
  const auto drawn = shown.draw({.seed = 1, .batch = 1, .augment = {false, true}}, 0, 0);
  ASSERT_FALSE(drawn);
  EXPECT_EQ(drawn.error().code, ErrorCode::kUnreadable);
}

std::vector<DatasetHeader> good_headers() {
  const Target one{TargetKind::kClass, DType::kInt64, {}, 10};
  return {
      {"digits", {{"input", DType::kFloat32, {1, 8, 8}}}, {{DType::kUint8, "u8/16"}}, one, 1437, 360},
      {"cifar10",
       {{"input", DType::kFloat32, {3, 32, 32}}},
       {{DType::kUint8, "cifar10-standardized-1"}},
       one,
       50000,
       10000},
      {"text",
       {{"input", DType::kInt64, {64}}},
       {{DType::kUint8, "bytes"}},
       {TargetKind::kClassPerToken, DType::kInt64, {64}, 256},
       9,
       1},
      {"npy", {{"input", DType::kFloat32, {}}}, {{DType::kFloat32, "f32"}}, one, 1, 0},
      {"npy",
       {{"a", DType::kFloat32, {2, 3}}, {"b", DType::kBool, {4}}},
       {{DType::kUint8, "u8"}, {DType::kBool, "as-stored"}},
       {TargetKind::kMultiLabel, DType::kFloat32, {2, 2}, 4},
       3,
       2},
      {"text",
       {{"input", DType::kInt64, {64}}},
       {{DType::kInt32, "tokens"}},
       {TargetKind::kClassPerToken, DType::kInt64, {64}, 50257},
       9,
       1,
       TokenizerFiles{"gpt2", {1, 2, 3}, {4}}},
  };
}

// Cut, longer, or with another bit: refused, or a header of its own that is written just so.
TEST(HostileHeader, DamageIsSeenOrIsAnotherHeader) {
  for (const DatasetHeader& header : good_headers()) {
    const Bytes good = encode(header);
    const auto decoded = decode_dataset_header(good, "header");
    ASSERT_TRUE(decoded) << decoded.error().message;
    EXPECT_EQ(*decoded, header);
    for (size_t n = 0; n < good.size(); ++n) EXPECT_FALSE(decode_dataset_header(ByteView(good).first(n), "header"));
    Bytes longer = good;
    longer.push_back(0);
    EXPECT_FALSE(decode_dataset_header(longer, "header"));
    for (size_t bit = 0; bit < good.size() * 8; ++bit) {
      Bytes bad = good;
      bad[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
      const auto shown = ShownSamples::open(bad, "header");
      if (!shown) {
        EXPECT_EQ(shown.error().code, ErrorCode::kUnreadable);
        continue;
      }
      EXPECT_EQ(encode(*decode_dataset_header(bad, "header")), bad) << bit;
      EXPECT_NE(*decode_dataset_header(bad, "header"), header) << bit;
    }
  }
}

template <class Change>
std::string header_error(size_t which, const Change& change) {
  DatasetHeader header = good_headers()[which];
  change(header);
  const auto decoded = decode_dataset_header(encode(header), "header");
  EXPECT_FALSE(decoded);
  return decoded ? "" : decoded.error().message;
}

TEST(HostileHeader, SaysWhatIsWrong) {
  using H = DatasetHeader;
  EXPECT_TRUE(contains(header_error(0, [](H& h) { h.stored[0].preprocessing = "u8/17"; }), "found \"u8/17\""));
  EXPECT_TRUE(contains(header_error(0, [](H& h) { h.stored[0].preprocessing = "u8/255"; }), "of dataset \"digits\""));
  EXPECT_TRUE(contains(header_error(0, [](H& h) { h.stored[0].stored = DType::kInt8; }), "field 'preprocessing'"));
  EXPECT_TRUE(contains(header_error(0, [](H& h) { h.inputs[0].shape = {8, 8}; }), "field 'dimensions'"));
  EXPECT_TRUE(contains(header_error(0, [](H& h) { h.inputs[0].shape[1] = 0; }), "found 0, expected at least 1"));
  EXPECT_TRUE(contains(header_error(0, [](H& h) { h.inputs[0].shape[1] = INT64_MAX; }), "expected a smaller sample"));
  EXPECT_TRUE(contains(header_error(0, [](H& h) { h.inputs[0].shape.assign(40, 1); }), "found 40 dimensions"));
  EXPECT_TRUE(contains(header_error(0, [](H& h) { h.target.classes = 0; }), "found 0, expected 1 to 1000000"));
  EXPECT_TRUE(contains(header_error(0, [](H& h) { h.train_count = 0; }), "field 'training samples'"));
  EXPECT_TRUE(contains(header_error(0, [](H& h) { h.test_count = -1; }), "field 'test samples'"));
  EXPECT_TRUE(contains(header_error(0, [](H& h) { h.name = "svhn"; }), "found \"svhn\""));
  EXPECT_TRUE(contains(header_error(1, [](H& h) { h.inputs[0].shape[0] = 4; }), "field 'preprocessing'"))
      << "three channels have a rule";
  EXPECT_TRUE(contains(header_error(2, [](H& h) { h.target.classes = 255; }), "found 255, expected 256 to 256"));
  EXPECT_TRUE(contains(header_error(2, [](H& h) { h.target.kind = TargetKind::kClass; }), "field 'kind'"));
  EXPECT_TRUE(contains(header_error(4, [](H& h) { h.inputs[1].name = "a"; }), "not strictly increasing"));
  EXPECT_TRUE(contains(header_error(4, [](H& h) { h.inputs[0].name = ""; }), "is empty"));
  EXPECT_TRUE(contains(header_error(4, [](H& h) { h.target.classes = 3; }), "found 3, expected 4 to 4"));
  EXPECT_TRUE(contains(header_error(4, [](H& h) { h.target.dtype = DType::kInt64; }), "field 'target type'"));
  EXPECT_TRUE(contains(header_error(4, [](H& h) { h.target.kind = TargetKind::kNone; }), "of kind none"));
  EXPECT_TRUE(contains(header_error(4, [](H& h) { h.inputs[1].dtype = h.stored[1].stored = DType::kBfloat16; }),
                       "does not have"));
  EXPECT_TRUE(contains(header_error(4,
                                    [](H& h) {
                                      h.inputs.assign(kMaxInputs + 1, h.inputs[0]);
                                      h.stored.assign(kMaxInputs + 1, h.stored[0]);
                                    }),
                       "found 65, expected 1 to 64"));
}

// What version 1 says has no other form.
TEST(HostileHeader, InTheOtherVersion) {
  Bytes second = encode(good_headers()[4]);
  const auto put = [&](size_t at, uint8_t v) { second[at] = v; };
  put(15, 4);
  EXPECT_TRUE(contains(decode_dataset_header(second, "header").error().message, "found 4, expected 1 to 3"));
  put(15, 3);
  EXPECT_TRUE(contains(decode_dataset_header(second, "header").error().message, "expected text in version 3"));
  // One input called "input" of float32 with a class, written as version 2 would.
  DatasetHeader old = good_headers()[3];
  old.inputs[0].name = "inpuu";
  second = encode(old);
  const auto at = static_cast<size_t>(std::ranges::search(second, as_bytes("inpuu")).begin() - second.begin());
  ASSERT_LT(at, second.size());
  EXPECT_TRUE(decode_dataset_header(second, "header"));
  put(at + 4, 't');
  EXPECT_TRUE(
      contains(decode_dataset_header(second, "header").error().message, "found 2, expected 1 for such samples"));
}

}  // namespace
}  // namespace isobit::data
