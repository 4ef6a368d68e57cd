#include "isobit/lab/study/study.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "isobit/base/text.h"

namespace isobit::lab::study {
namespace {

const char kPath[] = "equivalence_classes/aws/cpu/c5-Xeon__-net-i0.json";
// [1.0, 2.0] in float32.
std::string record(const std::string& bytes = "AACAPwAAAEA=", const std::string& shape = "[1, 2]") {
  return R"({"cpu_info": {"brand_raw": "Xeon", "count": 4, "flags": ["sse", "avx"]}, "device": {"device_type": "CPU"},
    "model_type": "net", "prediction": {"bytes": ")" +
         bytes + R"(", "dtype": "float32", "shape": )" + shape + "}}";
}

TEST(Study, ARecordIsARun) {
  const auto study = decode_record(as_bytes(record()), kPath);
  ASSERT_TRUE(study) << study.error().message;
  ASSERT_EQ(study->runs.size(), 1u);
  const records::RunRecord& run = study->runs[0];
  EXPECT_EQ(run.platform->name, "aws/c5-Xeon__");
  EXPECT_EQ(run.platform->cpu_flags, (std::vector<std::string>{"avx", "sse"}));
  EXPECT_EQ(run.platform->cores, 4);
  EXPECT_EQ(run.subject.model, "net");
  EXPECT_EQ(run.subject.settings, "input i0");
  EXPECT_EQ(to_hex(study->outputs[0]), "0000803f00000040");
  EXPECT_EQ(run.values[0].hash, records::hash_of(study->outputs[0]));
}

TEST(Study, APredictionThatIsOneOfTheRepeatsCountsOnce) {
  // Three repeats, [0, 0], [1, 2] and [1, 2], beside the prediction [1, 2]; then beside one that none of them is.
  const auto with_repeats = [](const std::string& prediction) {
    std::string json = record(prediction);
    json.pop_back();
    return json + R"(, "all_predictions": {"bytes": "AAAAAAAAAAAAAIA/AAAAQAAAgD8AAABA", "dtype": "float32",
      "shape": [3, 2]}})";
  };
  const auto known = decode_record(as_bytes(with_repeats("AACAPwAAAEA=")), kPath);
  ASSERT_TRUE(known) << known.error().message;
  ASSERT_EQ(known->runs.size(), 3u);
  EXPECT_EQ(to_hex(known->outputs[0]), "0000803f00000040");
  EXPECT_EQ(to_hex(known->outputs[1]), "0000000000000000");
  EXPECT_EQ(to_hex(known->outputs[2]), "0000803f00000040");
  EXPECT_EQ(decode_record(as_bytes(with_repeats("AACAPwAAgD8=")), kPath)->runs.size(), 4u);
}

TEST(Study, EveryTruncationAndOtherNonsenseIsRefused) {
  const std::string whole = record();
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(decode_record(as_bytes(whole.substr(0, size)), kPath)) << size;
  }
  for (const std::string& json :
       {record("AACAPwAAAEA"), record("AACAPwAAAE=="), record("????"), record("AACAPwAAAEA=", "[3]"),
        record("AACAPwAAAEA=", "[-2]"), record("", "[0]"), record("AACAPwAAAEA=", "[1e3]"), std::string(100000, '['),
        std::string("[]"), std::string("null")}) {
    EXPECT_FALSE(decode_record(as_bytes(json), kPath)) << json.substr(0, 200);
  }
  for (const char* path : {"x.json", "net-i0.json", "a-net-i.json", "a-net-ix.json", "a-other-i0.json", ""}) {
    EXPECT_FALSE(decode_record(as_bytes(whole), path)) << path;
  }
}

TEST(Study, TheWholePublishedStudy) {
  const char* data = std::getenv("ISOBIT_SHARED_DATA");
  const fs::path archive = fs::path(data ? data : ".") / "deviations/equivalence_classes.tar.zst";
  if (!fs::exists(archive)) GTEST_SKIP() << "skipped: no data";
  auto lab = records::LabFile::in_memory("study");
  const auto study = import_study(archive, *lab);
  ASSERT_TRUE(study) << study.error().message;
  EXPECT_EQ(study->records, 684u);
  EXPECT_EQ(study->platforms, 76u);
  ASSERT_EQ(study->left_out.size(), 1u);
  EXPECT_EQ(study->left_out[0].model, "cifar10_large");
  EXPECT_EQ(study->left_out[0].platforms, 65u);
  EXPECT_EQ(lab->subjects()->size(), 9u);
}

TEST(Study, ADamagedArchiveIsRefused) {
  const char* data = std::getenv("ISOBIT_SHARED_DATA");
  const fs::path archive = fs::path(data ? data : ".") / "deviations/equivalence_classes.tar.zst";
  if (!fs::exists(archive)) GTEST_SKIP() << "skipped: no data";
  const fs::path copy = fs::temp_directory_path() / text_of("isobit_study_", getpid(), ".tar.zst");
  const Bytes whole = read_file(archive, kMaxBytes).value();
  for (const size_t size : {whole.size() - 1, whole.size() / 2, size_t{100}, size_t{0}}) {
    ASSERT_TRUE(write_file_durably(copy, ByteView(whole).first(size)));
    auto lab = records::LabFile::in_memory("study");
    EXPECT_FALSE(import_study(copy, *lab)) << size;
    EXPECT_TRUE(lab->subjects()->empty());
  }
  fs::remove(copy);
}

}  // namespace
}  // namespace isobit::lab::study
