// Names and files that a careless or hostile job leads to: nothing waits, and nothing is allocated for what a file
// merely claims.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "isobit/base/text.h"
#include "isobit/data/data_shape.h"
#include "isobit/data/testing.h"
#include "isobit/formats/npy.h"
#include "isobit/formats/safetensors.h"

namespace isobit::data {
namespace {

using testing::contains;
using testing::gzip;
using testing::open_error;
using testing::TemporaryFolder;

DataConfig of(const std::string& dataset, const std::string& path) {
  DataConfig config;
  config.dataset = dataset;
  config.path = path;
  if (dataset == "text") config.context = 4;
  return config;
}

// The most this process has held, in bytes.
int64_t peak() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} << 10;
}

class HostileFiles : public ::testing::Test {
 protected:
  // Grows to `size` without taking room on the disk.
  std::string sparse(const std::string& name, ByteView front, int64_t size) {
    const std::string path = folder_.write(name, front);
    EXPECT_EQ(::truncate(path.c_str(), size), 0);
    return path;
  }
  TemporaryFolder folder_;
};

TEST_F(HostileFiles, PipesAndDevicesAreNoData) {
  const std::string pipe = folder_.path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const Bytes labels = formats::encode_npy(Tensor::zeros(DType::kInt64, {8}));
  for (const auto& [path, kind] : {std::pair<std::string, std::string>{pipe, "a named pipe"},
                                   {"/dev/zero", "a device"},
                                   {"/dev/tty", "a device"},
                                   {folder_.path(), "a folder"}}) {
    EXPECT_TRUE(contains(open_error(of("text", path)), kind));
    DataConfig cifar = of("cifar10", "");
    cifar.files = cifar.test_files = {path};
    EXPECT_TRUE(contains(open_error(cifar), kind));
    DataConfig npy = of("npy", folder_.write("labels.npy", labels));
    npy.labels_path = path;
    EXPECT_FALSE(open_dataset(npy));
    if (path == folder_.path()) continue;  // a folder of .npy files is data
    npy.path = path;
    EXPECT_TRUE(contains(open_error(npy), kind));
  }
  EXPECT_TRUE(contains(open_error(of("text", "/proc/self/maps")), "is no file on a disk"));
  ASSERT_EQ(::mkfifo(folder_.path("train-images-idx3-ubyte").c_str(), 0600), 0);
  EXPECT_TRUE(contains(open_error(of("mnist", folder_.path())), "a named pipe"));
}

TEST_F(HostileFiles, LinksOfOnesOwnAreFollowed) {
  folder_.write("text", as_bytes("a text long enough for some blocks"));
  fs::create_symlink(folder_.path("text"), folder_.path("link"));
  EXPECT_TRUE(open_dataset(of("text", folder_.path("link"))));
}

TEST_F(HostileFiles, FilesBeyondTheBudgetAreNotRead) {
  const int64_t before = peak();
  const std::string text = sparse("text", as_bytes("x"), int64_t{8} << 30);
  const auto refused = open_dataset(of("text", text), uint64_t{1} << 30);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(contains(refused.error().message, "--max-memory"));
  DataConfig cifar = of("cifar10", "");
  cifar.files = cifar.test_files = {sparse("records", {}, int64_t{3073} << 18)};
  EXPECT_FALSE(open_dataset(cifar, uint64_t{1} << 29));
  // Each file counts: the second is one too many.
  const std::string record = folder_.write("record", Bytes(3073));
  cifar.files = cifar.test_files = {record};
  EXPECT_TRUE(open_dataset(cifar, 2 * 3073));
  EXPECT_FALSE(open_dataset(cifar, 2 * 3073 - 1));
  EXPECT_TRUE(open_dataset(of("digits", ""), 0));  // part of the program
  EXPECT_LT(peak() - before, int64_t{64} << 20);
}

TEST_F(HostileFiles, SizesAreComparedBeforeAnythingIsAllocated) {
  const int64_t before = peak();
  // 16 GiB that the header does not speak of.
  const Bytes one = formats::encode_npy(Tensor::zeros(DType::kFloat32, {1, 4}));
  DataConfig npy = of("npy", sparse("inputs", one, int64_t{16} << 30));
  npy.labels_path = folder_.write("labels", formats::encode_npy(Tensor::zeros(DType::kInt64, {1})));
  EXPECT_TRUE(contains(open_error(npy), "bytes of data, expected 16"));
  const Bytes weights = formats::encode_safetensors({{{"w", Tensor::zeros(DType::kFloat32, {4})}}, {}}).value();
  const auto loaded = formats::read_safetensors(sparse("w", weights, int64_t{16} << 30));
  ASSERT_FALSE(loaded);
  EXPECT_TRUE(contains(loaded.error().message, "of the data, which has"));
  // A header as large as the file says: 16 GiB of zeros, and 16 MiB of brackets.
  ByteWriter length;
  length.u64(uint64_t{15} << 30);
  EXPECT_FALSE(formats::read_safetensors(sparse("h", length.view(), int64_t{16} << 30)));
  ByteWriter brackets;
  brackets.text(std::string(uint64_t{16} << 20, '['));
  EXPECT_FALSE(formats::decode_safetensors(brackets.view(), "some.file"));
  EXPECT_LT(peak() - before, int64_t{96} << 20);
}

// Half a gigabyte of zeros in as many kilobytes.
TEST_F(HostileFiles, CompressedDataHoldWhatTheirHeaderSays) {
  Bytes bomb = gzip(Bytes{0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 28, 0, 0, 0, 28});
  const Bytes member = gzip(Bytes(1 << 20));
  for (int i = 0; i < 512; ++i) bomb.insert(bomb.end(), member.begin(), member.end());
  ASSERT_LT(bomb.size(), size_t{1} << 20);
  folder_.write("train-images-idx3-ubyte.gz", bomb);
  const int64_t before = peak();
  EXPECT_TRUE(contains(open_error(of("mnist", folder_.path())), "decompresses to more than"));
  EXPECT_LT(peak() - before, int64_t{32} << 20);
}

TEST_F(HostileFiles, DeclaredShapesAreTrue) {
  const auto same = [](const DataConfig& config) {
    const auto dataset = open_dataset(config);
    ASSERT_TRUE(dataset) << dataset.error().message;
    const DataShape found = shape_of(**dataset), declared = declared_shape(config).value();
    EXPECT_EQ(found.name, declared.name);
    EXPECT_EQ(found.inputs, declared.inputs);
    EXPECT_EQ(found.target, declared.target);
  };
  same(of("digits", ""));
  same(of("text", folder_.write("text", as_bytes("a text long enough for some blocks"))));
  DataConfig cifar = of("cifar10", "");
  cifar.files = cifar.test_files = {folder_.write("records", Bytes(2 * 3073))};
  same(cifar);
  Bytes images = {0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 28, 0, 0, 0, 28}, labels = {0, 0, 8, 1, 0, 0, 0, 1, 3};
  images.resize(16 + 28 * 28);
  for (const char* part : {"train", "t10k"}) {
    folder_.write(text_of(part, "-images-idx3-ubyte"), images);
    folder_.write(text_of(part, "-labels-idx1-ubyte"), labels);
  }
  same(of("mnist", folder_.path()));
}

}  // namespace
}  // namespace isobit::data
