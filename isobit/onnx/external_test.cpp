// Tensors in files beside the model.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "isobit/formats/malformed_for_test.h"
#include "isobit/onnx/model_for_test.h"

namespace isobit::onnx {
namespace {

using formats::expect_error;

class External : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "isobit_onnx_XXXXXX";
    root_ = fs::temp_directory_path() / ::mkdtemp((fs::temp_directory_path() / name).string().data());
    folder_ = root_ / "model";
    fs::create_directories(folder_ / "below");
  }
  void TearDown() override { fs::remove_all(root_); }

  void put(const fs::path& path, const std::vector<float>& values) {
    ASSERT_TRUE(write_file_durably(path, {reinterpret_cast<const uint8_t*>(values.data()), values.size() * 4}));
  }

  using Entries = std::vector<std::pair<std::string, std::string>>;
  Expected<Model> load(const Entries& entries, LoadOptions options = {}) {
    ModelForTest m;
    auto& t = *m.graph().add_initializer();
    t.set_name("w");
    t.set_data_type(kFloat);
    t.add_dims(2);
    t.set_data_location(1);
    for (const auto& [key, value] : entries) {
      auto& entry = *t.add_external_data();
      entry.set_key(key);
      entry.set_value(value);
    }
    const fs::path path = folder_ / "m.onnx";
    EXPECT_TRUE(write_file_durably(path, m.bytes()));
    return load_model(path, options);
  }

  fs::path root_, folder_;
};

TEST_F(External, TensorsAreReadFromTheirPlace) {
  put(folder_ / "below" / "data.bin", {1, 2, 3, 4});
  const auto model = load({{"location", "below/data.bin"}, {"offset", "4"}, {"length", "8"}, {"checksum", "any"}});
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_TRUE(identical(model->graph.initializers[0].tensor, floats({2}, {2, 3})));
  EXPECT_TRUE(load({{"location", "below/data.bin"}}));
  EXPECT_TRUE(load({{"location", "./below/data.bin"}, {"offset", "8"}}));
}

TEST_F(External, WhatLeavesTheFolderIsRefused) {
  put(root_ / "outside.bin", {1, 2});
  put(folder_ / "inside.bin", {1, 2});
  fs::create_symlink(root_ / "outside.bin", folder_ / "link.bin");
  fs::create_directory_symlink(root_, folder_ / "up");
  fs::create_symlink(folder_ / "inside.bin", folder_ / "own.bin");
  expect_error(load({{"location", "../outside.bin"}}), "must lie in the model's folder");
  expect_error(load({{"location", "below/../../outside.bin"}}), "must lie in the model's folder");
  expect_error(load({{"location", (root_ / "outside.bin").string()}}), "must lie in the model's folder");
  expect_error(load({{"location", "link.bin"}}), "leads out of the model's folder");
  expect_error(load({{"location", "up/outside.bin"}}), "leads out of the model's folder");
  EXPECT_TRUE(load({{"location", "own.bin"}}));
}

TEST_F(External, WhatIsNoSuchPartOfAFileIsRefused) {
  put(folder_ / "data.bin", {1, 2});
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  expect_error(load({}), "no location is given");
  expect_error(load({{"location", std::string("data\0bin", 8)}}), "is no path");
  expect_error(load({{"location", "absent.bin"}}), "absent.bin");
  expect_error(load({{"location", "pipe"}}), "pipe");
  expect_error(load({{"location", "below"}}), "below");
  expect_error(load({{"location", "data.bin"}, {"offset", "1"}}), "8 bytes from 1 on are asked for, the file has 8");
  expect_error(load({{"location", "data.bin"}, {"offset", "18446744073709551615"}}), "are asked for");
  expect_error(load({{"location", "data.bin"}, {"offset", "-1"}}), "offset is '-1', expected a whole number");
  expect_error(load({{"location", "data.bin"}, {"offset", "18446744073709551616"}}), "expected a whole number");
  expect_error(load({{"location", "data.bin"}, {"length", "4"}}), "length is 4, the shape asks for 8 bytes");
  expect_error(load({{"location", "data.bin"}}, {.max_tensor_bytes = 7}), "initializer 'w': asks for 8 bytes");
}

TEST_F(External, AModelMayNameMoreFilesThanAProcessMayOpen) {
  ModelForTest m;
  for (int i = 0; i < 40; ++i) {
    const std::string name = "w" + std::to_string(i);
    put(folder_ / name, {1});
    auto& t = *m.graph().add_initializer();
    t.set_name(name);
    t.set_data_type(kFloat);
    t.add_dims(1);
    t.set_data_location(1);
    auto& entry = *t.add_external_data();
    entry.set_key("location");
    entry.set_value(name);
  }
  ASSERT_TRUE(write_file_durably(folder_ / "m.onnx", m.bytes()));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{32, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  const auto model = load_model(folder_ / "m.onnx");
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->graph.initializers.size(), 40u);
}

TEST_F(External, AModelOfMoreThanTwoGigabytesIsNotEvenRead) {
  const fs::path path = folder_ / "large.onnx";
  ASSERT_TRUE(write_file_durably(path, {}));
  fs::resize_file(path, uint64_t{3} << 30);  // of holes
  expect_error(load_model(path), "large.onnx");
}

TEST_F(External, AMissingModelIsNamed) { expect_error(load_model(folder_ / "absent.onnx"), "absent.onnx"); }

}  // namespace
}  // namespace isobit::onnx
