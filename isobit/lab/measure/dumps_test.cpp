// Dumps of somebody's own program: their order, and files that are damaged or hostile.
#include "isobit/lab/measure/dumps.h"

#include <gtest/gtest.h>
#include <langinfo.h>
#include <locale.h>

#include <algorithm>
#include <cstring>

#include "isobit/base/temporary_folder.h"
#include "isobit/formats/npy.h"
#include "isobit/formats/safetensors.h"
#include "isobit/lab/measure/npz.h"

namespace isobit::lab::measure {
namespace {

Tensor filled(float value, int64_t n = 3) {
  Tensor tensor(DType::kFloat32, Shape(std::vector<int64_t>{n}));
  for (int64_t i = 0; i < n; ++i) tensor.data<float>()[i] = value;
  return tensor;
}

uint32_t crc32_of(ByteView bytes) {
  uint32_t crc = ~0u;
  for (const uint8_t byte : bytes) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xedb88320u : 0);
  }
  return ~crc;
}

// A zip archive whose entries are stored as they are, which is how numpy.savez writes.
// `flags`: of each entry; 0x800: its name is UTF-8.
Bytes zip_of(const std::vector<std::pair<std::string, Bytes>>& files, uint16_t flags = 0) {
  ByteWriter out, directory;
  for (const auto& [name, content] : files) {
    const auto facts = [&](ByteWriter& w) {
      for (const uint16_t v : {uint16_t{20}, flags, uint16_t{0}, uint16_t{0}, uint16_t{33}}) w.u16(v);
      w.u32(crc32_of(content));
      for (int i = 0; i < 2; ++i) w.u32(static_cast<uint32_t>(content.size()));
      w.u16(static_cast<uint16_t>(name.size()));
      w.u16(0);
    };
    directory.u32(0x02014b50);
    directory.u16(20);
    const auto place = static_cast<uint32_t>(out.size());
    facts(directory);
    for (int i = 0; i < 3; ++i) directory.u16(0);
    directory.u32(0);
    directory.u32(place);
    directory.fixed(as_bytes(name));
    out.u32(0x04034b50);
    facts(out);
    out.fixed(as_bytes(name));
    out.fixed(content);
  }
  const auto begin = static_cast<uint32_t>(out.size());
  out.fixed(directory.view());
  out.u32(0x06054b50);
  for (int i = 0; i < 2; ++i) out.u16(0);
  for (int i = 0; i < 2; ++i) out.u16(static_cast<uint16_t>(files.size()));
  out.u32(static_cast<uint32_t>(directory.size()));
  out.u32(begin);
  out.u16(0);
  return out.take();
}

Expected<std::vector<NamedTensor>> decode(ByteView bytes, uint64_t most = 1 << 20) {
  std::vector<NamedTensor> tensors;
  const auto take = [&](NamedTensor tensor) -> Status {
    tensors.push_back(std::move(tensor));
    return {};
  };
  ISOBIT_RETURN_IF_ERROR(decode_npz(bytes, "test", most, {take}));
  return tensors;
}

class Dumps : public testing::Test {
 protected:
  void SetUp() override { fs::create_directory(folder_.path() / "dumps"); }
  fs::path dump(const std::string& name) const { return folder_.path() / "dumps" / name; }
  void put(const std::string& name, const std::vector<std::pair<std::string, float>>& values) {
    std::vector<std::pair<std::string, Bytes>> files;
    for (const auto& [key, value] : values) files.emplace_back(key + ".npy", formats::encode_npy(filled(value)));
    ASSERT_TRUE(write_file_durably(dump(name), zip_of(files)));
  }
  Expected<DumpsReport> import(const std::string& platform = "", uint64_t max_kept = 1 << 20) {
    return import_dumps({folder_.path() / "dumps", folder_.path() / "a.lab", platform, {}, max_kept});
  }
  std::vector<records::RunRecord> runs(const records::Subject& subject) {
    auto lab = records::LabFile::open(folder_.path() / "a.lab", records::LabFile::Mode::kRead);
    return lab->runs(subject).value();
  }

  TemporaryFolder folder_ = TemporaryFolder::make("dumps_test").value();
};

TEST_F(Dumps, StepsAndTensorsKeepTheirOrder) {
  put("step_10.npz", {{"z", 1}, {"a", 2}});
  put("step_9.npz", {{"z", 3}, {"a", 4}});
  formats::Safetensors file;
  file.tensors = {{"layer10", filled(5)}, {"layer9", filled(6)}};
  ASSERT_TRUE(formats::write_safetensors(dump("step_11.safetensors"), file));
  const auto report = import();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->platform, "dumps");
  EXPECT_EQ(report->steps, 3);
  EXPECT_EQ(report->kept_tensors, 6u);
  std::string order;
  const auto recorded = runs(report->subject);
  for (const auto& v : recorded[0].values) order += v.name + std::to_string(v.step) + " ";
  EXPECT_EQ(order, "z9 a9 z10 a10 layer911 layer1011 ");
}

TEST_F(Dumps, TwoRunsAreOfOneSubject) {
  put("0.npz", {{"h", 1}, {"y", 2}});
  const auto one = import("cluster a");
  put("0.npz", {{"h", 1}, {"y", 3}});
  const auto other = import("cluster b", 0);
  ASSERT_TRUE(one && other);
  EXPECT_EQ(other->kept_tensors, 0u);
  const auto both = runs(one->subject);
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[0].values[0], both[1].values[0]);
  EXPECT_NE(both[0].values[1].hash, both[1].values[1].hash);
}

TEST_F(Dumps, AFolderWithoutStepsIsRefused) {
  const auto report = import();
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::kUsage);
  EXPECT_FALSE(fs::exists(folder_.path() / "a.lab"));
  ASSERT_TRUE(write_file_durably(dump("step_0.npz"), as_bytes("no archive")));
  EXPECT_EQ(import().error().code, ErrorCode::kUnreadable);
}

TEST_F(Dumps, NothingIsTakenOfAFolderWithADamagedStep) {
  put("0.npz", {{"h", 1}});
  ASSERT_TRUE(write_file_durably(dump("1.npz"), as_bytes("no archive")));
  EXPECT_EQ(import().error().code, ErrorCode::kUnreadable);
  EXPECT_FALSE(fs::exists(folder_.path() / "a.lab"));
}

TEST_F(Dumps, ATensorBeyondTheMemoryIsRefusedBeforeAnythingIsWritten) {
  put("0.npz", {{"small", 1}});
  formats::Safetensors file;
  file.tensors = {{"large", filled(5, 1000)}};
  ASSERT_TRUE(formats::write_safetensors(dump("1.safetensors"), file));
  ASSERT_TRUE(write_file_durably(dump("2.npz"), zip_of({{"larger.npy", formats::encode_npy(filled(1, 2000))}})));
  DumpsRequest request{folder_.path() / "dumps", folder_.path() / "a.lab", "", {}, 1 << 20, 4 * 3 * 1000 - 1};
  const auto refused = [&](const std::string& what) {
    const auto report = import_dumps(request);
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().code, ErrorCode::kUnavailable);
    EXPECT_NE(report.error().message.find(what), std::string::npos) << report.error().message;
    EXPECT_FALSE(fs::exists(request.lab));
  };
  refused("1.safetensors: tensor 'large'");
  request.max_kept = 0;  // packs nothing
  request.max_memory = 4 * 2000 - 1;
  refused("2.npz: entry 'larger.npy'");
  request.max_memory = 4 * 2000;
  EXPECT_TRUE(import_dumps(request));
}

TEST(NaturalOrder, NumbersAreComparedAsNumbers) {
  const std::vector<std::string> sorted = {"", "a", "a01", "a1", "a2", "a10", "a10b", "a99999999999999999999", "b"};
  for (size_t i = 0; i < sorted.size(); ++i) {
    for (size_t j = 0; j < sorted.size(); ++j) {
      const bool alike = (sorted[i] == "a1" && sorted[j] == "a01") || (sorted[i] == "a01" && sorted[j] == "a1");
      if (alike) continue;
      EXPECT_EQ(in_natural_order(sorted[i], sorted[j]), i < j) << sorted[i] << " " << sorted[j];
    }
  }
  EXPECT_NE(in_natural_order("a1", "a01"), in_natural_order("a01", "a1"));
}

TEST(Npz, EveryTruncationAndEveryHostileEntryIsRefused) {
  const Bytes tensor = formats::encode_npy(filled(1));
  const Bytes whole = zip_of({{"b.npy", tensor}, {"a/c.npy", tensor}});
  const auto read = decode(whole);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ((*read)[0].name, "b");
  EXPECT_EQ((*read)[1].name, "a/c");
  EXPECT_TRUE(identical((*read)[0].tensor, filled(1)));
  for (size_t size = 0; size < whole.size(); size += 7) EXPECT_FALSE(decode({whole.data(), size})) << size;
  EXPECT_FALSE(decode(zip_of({{"b.npy", tensor}, {"b.npy", tensor}})));
  EXPECT_FALSE(decode(zip_of({{"b.txt", tensor}})));
  EXPECT_FALSE(decode(zip_of({{"b.npy", Bytes{1, 2, 3}}})));
  EXPECT_FALSE(decode(zip_of({})));
  EXPECT_FALSE(decode(whole, tensor.size() + 1));  // one fits, two do not
  Bytes damaged = whole;
  damaged[60] ^= 1;  // of the first entry's content: its checksum is another
  EXPECT_FALSE(decode(damaged));
}

constexpr uint16_t kUtf8 = 0x800;

TEST(Npz, NamesOfOtherCharactersAreRead) {
  ASSERT_STREQ(::setlocale(LC_CTYPE, nullptr), "C");
  const Bytes tensor = formats::encode_npy(filled(1));
  for (const std::string name : {"sch\u00f6n/\u5c64_1", "\xf0\x9f\x99\x82", "plain"}) {
    const auto read = decode(zip_of({{name + ".npy", tensor}}, kUtf8));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ((*read)[0].name, name);
  }
  // Not said to be UTF-8, a name is the bytes that it is.
  const auto read = decode(zip_of({{"\xf6\xff.npy", tensor}}));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ((*read)[0].name, "\xf6\xff");
  EXPECT_FALSE(decode(zip_of({{"\xf6\xff.npy", tensor}}, kUtf8)));
  EXPECT_STREQ(::nl_langinfo(CODESET), "ANSI_X3.4-1968");  // as before
}

TEST(Npz, NamesAreComposed) {
  const std::string apart = "scho\u0308n/\u0041\u030a", whole = "sch\u00f6n/\u00c5";
  const auto read = decode(zip_of({{apart + ".npy", formats::encode_npy(filled(1))}}, kUtf8));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ((*read)[0].name, whole);
  for (const std::string& name : {apart, whole}) EXPECT_EQ(composed(name).value(), whole);
  for (const std::string name : {"", "plain/x\\y", "/a/../b"}) EXPECT_EQ(composed(name).value(), name);
  EXPECT_FALSE(composed("\xf6\xff"));
}

TEST_F(Dumps, NamesOfEitherKindOfFileAreOne) {
  const std::string apart = "scho\u0308n", whole = "sch\u00f6n";
  formats::Safetensors file;
  file.tensors = {{apart, filled(1)}};
  ASSERT_TRUE(formats::write_safetensors(dump("0.safetensors"), file));
  const auto one = import();
  ASSERT_TRUE(one) << one.error().message;
  EXPECT_EQ(runs(one->subject)[0].values[0].name, whole);
  file.tensors.push_back({whole, filled(1)});
  ASSERT_TRUE(formats::write_safetensors(dump("0.safetensors"), file));
  const auto twice = import("other");
  ASSERT_FALSE(twice);
  EXPECT_NE(twice.error().message.find("is there twice"), std::string::npos);
}

TEST(Npz, WhatItsDirectorySaysOfSizesIsNotBelieved) {
  // A header of a tensor of 64 MiB, in an archive that says it has them.
  Bytes large = formats::encode_npy(filled(1, 20000));
  const std::string shape = "(20000,), }    ", huge = "(16777216,), } ";
  auto at = std::search(large.begin(), large.end(), shape.begin(), shape.end());
  ASSERT_NE(at, large.end());
  std::copy(huge.begin(), huge.end(), at);
  Bytes lies = zip_of({{"b.npy", large}});
  const auto size = static_cast<uint32_t>(large.size()), said = size - 80000 + 0x4000000u;
  int places = 0;
  for (size_t i = 0; i + 4 <= lies.size(); ++i) {
    if (std::memcmp(&lies[i], &size, 4) != 0) continue;
    std::memcpy(&lies[i], &said, 4);
    ++places;
  }
  ASSERT_EQ(places, 4);
  EXPECT_FALSE(decode(lies, 1 << 28));
  uint64_t asked = 0;
  const auto wants = [&](const std::string&, const formats::NpyLayout& layout) -> Status {
    asked = layout.bytes();
    return unavailable("too large");
  };
  const Status refused = decode_npz(lies, "test", 1 << 28, {[](NamedTensor) { return Status(); }, wants});
  EXPECT_EQ(refused.error().message, "too large");
  EXPECT_EQ(asked, 0x4000000u);
}

}  // namespace
}  // namespace isobit::lab::measure
