// The worker protocol: what is written is read, and hostile answers are refused.
#include "isobit/lab/measure/protocol.h"

#include <gtest/gtest.h>

#include "isobit/lab/measure/answer_check.h"
#include "isobit/lab/measure/machine.h"
#include "isobit/lab/measure/protocol_for_test.h"
#include "isobit/lab/records/encoding.h"

namespace isobit::lab::measure {
namespace {

Expected<WorkerAnswer> decode(const std::string& json) { return decode_answer(as_bytes(json), "test"); }

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const size_t at = text.find(what);
  EXPECT_NE(at, text.npos) << what;
  return at == text.npos ? text : text.replace(at, what.size(), by);
}

TEST(Protocol, ARequestIsReadAsItWasWritten) {
  WorkerRequest r;
  r.engine = kOwnEngine;
  r.setting = "float32";
  r.platform = "openblas@haswell/2t";
  r.threads = 2;
  r.model = "a \"model\".onnx";
  r.inputs = {{"x", "x.npy"}, {"y\n", "y.npy"}};
  r.untapped = false;
  r.keep = {{1, 2}, {3, UINT64_MAX}};
  r.keep_bytes = 77;
  r.max_memory = UINT64_MAX;
  r.steps = 3;
  r.overrides = {"job.seed=2"};
  const std::string written = encode(r);
  const auto read = decode_request(as_bytes(written), "test");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(encode(*read), written);
  EXPECT_EQ(read->inputs[1].name, "y\n");
  EXPECT_EQ(read->keep, r.keep);
}

TEST(Protocol, AnAnswerIsReadAsItWasWritten) {
  const std::string written = encode(example_answer());
  const auto read = decode(written);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(encode(*read), written);
  EXPECT_EQ(read->platform, example_answer().platform);
  EXPECT_EQ(read->runs[1].values, example_answer().runs[1].values);
  for (size_t size = 0; size < written.size(); ++size) EXPECT_FALSE(decode(written.substr(0, size))) << size;
}

TEST(Protocol, SilenceHasAReason) {
  WorkerAnswer answer;
  answer.outcome = WorkerAnswer::Outcome::kRefused;
  answer.words = "no converter for: NonZero";
  const auto read = decode(encode(answer));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->outcome, WorkerAnswer::Outcome::kRefused);
  EXPECT_EQ(read->words, answer.words);
  EXPECT_FALSE(decode(R"({"isobit_answer":1,"refused":""})"));
  EXPECT_FALSE(decode(R"({"isobit_answer":1,"failed":7})"));
}

TEST(Protocol, HostileAnswersAreRefused) {
  const std::string good = encode(example_answer());
  const std::pair<const char*, std::string> bad[] = {
      {"\"isobit_answer\":1", "\"isobit_answer\":2"},
      {"\"isobit_answer\":1", "\"isobit_answer\":-1"},
      {"\"cores\":2", "\"cores\":-2"},
      {"\"cores\":2", "\"cores\":1e300"},
      {"\"seconds\":0.5", "\"seconds\":-1"},
      {"\"seconds\":0.5", "\"seconds\":1e308"},
      {"\"dims\":[1,2]", "\"dims\":[-1]"},
      {"\"dims\":[1,2]", "\"dims\":[18446744073709551615]"},
      {"\"dims\":[1,2]", "\"dims\":[1.5]"},
      {"\"dims\":[1,2]", "\"dims\":\"1\""},
      {"\"name\":\"h\"", "\"name\":null"},
      {"\"cpu_flags\":[\"avx\",\"fma\"]", "\"cpu_flags\":[\"fma\",\"avx\"]"},
      {"\"cpu_flags\":[\"avx\",\"fma\"]", "\"cpu_flags\":{}"},
      {"\"fields\":{", "\"fields\":{\"number\":3,"},
      {"\"kept\":[", "\"kept\":[\"xyz\","},
      {"\"tapped\":false", "\"tapped\":0"},
      {"\"runs\":[", "\"runs\":[7,"},
      {"\"runs\":[", "\"runs\":[],\"more\":["},
  };
  ASSERT_TRUE(decode(good));
  for (const auto& [what, by] : bad) {
    const auto read = decode(replaced(good, what, by));
    ASSERT_FALSE(read) << by;
    EXPECT_EQ(read.error().code, ErrorCode::kUnreadable) << by;
    EXPECT_TRUE(read.error().message.starts_with("test")) << read.error().message;
  }
  for (const std::vector<bool>& order : {std::vector<bool>{true, false}, {false, false}, {true, true}}) {
    WorkerAnswer answer = example_answer();
    for (size_t i = 0; i < order.size(); ++i) answer.runs[i].tapped = order[i];
    EXPECT_FALSE(decode(encode(answer)));
  }
  WorkerAnswer empty = example_answer();
  empty.runs[0].values.clear();
  EXPECT_FALSE(decode(encode(empty)));
  const std::string deep(1000, '[');
  EXPECT_FALSE(decode(deep));
  EXPECT_FALSE(decode(replaced(good, "\"h\"", "\"" + std::string(records::kMaxText + 1, 'h') + "\"")));
  EXPECT_FALSE(decode(std::string(kMaxAnswer + 1, ' ')));
}

TEST(Protocol, AnAnswerIsToItsRequest) {
  WorkerRequest request;
  request.platform = example_answer().platform.name;
  EXPECT_TRUE(check_answer(example_answer(), request, {"y"}));
  EXPECT_TRUE(check_answer(example_answer(), request, {}));
  for (const std::vector<std::string>& outputs : {std::vector<std::string>{"x"}, {"x", "y"}, {"h"}}) {
    EXPECT_FALSE(check_answer(example_answer(), request, outputs));
  }
  WorkerAnswer answer = example_answer();
  answer.runs[1].values.pop_back();  // folded away
  EXPECT_TRUE(check_answer(answer, request, {"y"}));
  answer.runs[1].values[0].is_output = true;
  EXPECT_FALSE(check_answer(answer, request, {"y"}));
  answer = example_answer();
  answer.runs.erase(answer.runs.begin());
  EXPECT_FALSE(check_answer(answer, request, {"y"}));
  request.tapped = false;
  EXPECT_FALSE(check_answer(example_answer(), request, {"y"}));
  request.platform = "another/1t";
  EXPECT_FALSE(check_answer(example_answer(), request, {"y"}));
  EXPECT_TRUE(check_answer(silent(WorkerAnswer::Outcome::kFailed, "no"), request, {"y"}));
}

TEST(Protocol, EnginesAreReadWithinLimits) {
  const std::string good = example_engines();
  const auto read = decode_engines(as_bytes(good), "test");
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), 2u);
  EXPECT_TRUE((*read)[0].installed());
  EXPECT_FALSE((*read)[1].installed());
  for (const auto& [what, by] : {std::pair("\"engine\":\"one\"", "\"engine\":\"\""),
                                 {"[\"\",\"fast\"]", "[]"},
                                 {"\"default_settings\":[\"\"]", "\"default_settings\":[\"slow\"]"}}) {
    EXPECT_FALSE(decode_engines(as_bytes(replaced(good, what, by)), "test")) << by;
  }
}

TEST(Machine, TheFirstProcessorIsRead) {
  const Machine intel =
      parse_cpuinfo("processor\t: 0\nmodel name\t: A CPU @ 2 GHz\nflags\t\t: fpu avx2 avx fpu\n\nprocessor\t: 1\n");
  EXPECT_EQ(intel.cpu, "A CPU @ 2 GHz");
  EXPECT_EQ(intel.flags, (std::vector<std::string>{"avx", "avx2", "fpu"}));
  EXPECT_EQ(parse_cpuinfo("Features\t: fp asimd").flags, (std::vector<std::string>{"asimd", "fp"}));
  EXPECT_TRUE(parse_cpuinfo("").flags.empty());
  EXPECT_TRUE(parse_cpuinfo("no colon\n\n:\n").cpu.empty());
  EXPECT_GE(this_machine().cores, 1);
}

}  // namespace
}  // namespace isobit::lab::measure
