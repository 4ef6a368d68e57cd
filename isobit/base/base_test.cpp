#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "isobit/base/bytes.h"
#include "isobit/base/fields.h"
#include "isobit/base/fp_env.h"
#include "isobit/base/fp_env_for_test.h"
#include "isobit/base/large_pages.h"
#include "isobit/base/text.h"
#include "isobit/base/thread_pool.h"

namespace isobit {
namespace {

TEST(ThreadPool, CoversEveryIndexOnceForAnyThreadCount) {
  for (int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    for (int64_t n : {0, 1, 2, 7, 1000}) {
      for (int repeat = 0; repeat < 50; ++repeat) {
        std::vector<std::atomic<int>> hits(static_cast<size_t>(n));
        pool.parallel_for(n, 3, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) hits[static_cast<size_t>(i)]++;
        });
        for (auto& hit : hits) ASSERT_EQ(hit, 1);
      }
    }
  }
}

TEST(FpEnvironment, IsStandardAndTheCheckSeesFlushToZero) {
  pin_fp_environment();
  EXPECT_TRUE(fp_environment_is_standard());
#if defined(__x86_64__)
  const unsigned before = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(before | 0x8040);
  EXPECT_FALSE(fp_environment_is_standard());
  __builtin_ia32_ldmxcsr(before);
#endif
  EXPECT_TRUE(fp_environment_is_standard());
}

TEST(ThreadPool, RunsOnEveryThreadOnceBetweenAndAfterWork) {
  for (int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    std::vector<std::thread::id> ids(static_cast<size_t>(threads));
    pool.on_every_thread([&](int thread) { ids[static_cast<size_t>(thread)] = std::this_thread::get_id(); });
    EXPECT_EQ(ids[0], std::this_thread::get_id());
    for (size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(std::count(ids.begin(), ids.end(), ids[i]), 1);
    for (int repeat = 0; repeat < 500; ++repeat) {
      std::vector<std::atomic<int>> hits(static_cast<size_t>(threads));
      std::atomic<int64_t> sum{0};
      pool.parallel_for(100, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
      pool.on_every_thread([&](int thread) {
        hits[static_cast<size_t>(thread)]++;
        ASSERT_EQ(ids[static_cast<size_t>(thread)], std::this_thread::get_id());
      });
      ASSERT_EQ(sum, 100);
      for (auto& hit : hits) ASSERT_EQ(hit, 1);
    }
  }
}

// Set after the pool's threads are there, on the caller and on one of them.
TEST(FpEnvironment, ACheckOfThePoolNamesEveryThreadThatHasAnother) {
  ThreadPool pool(3);
  const auto on_thread = [&](int which, void (*set)()) {
    pool.on_every_thread([&](int thread) {
      if (thread == which) set();
    });
  };
  ASSERT_TRUE(check_fp_environment(pool));
  for (const testing::FpDisturbance& d : testing::fp_disturbances()) {
    for (int which : {0, 2}) {
      on_thread(which, d.set);
      const Status status = check_fp_environment(pool);
      on_thread(which, pin_fp_environment);
      ASSERT_FALSE(status) << d.what;
      EXPECT_EQ(status.error().code, ErrorCode::kUnavailable);
      const std::string expected = text_of(which == 0 ? "(the calling thread" : "(thread 3", " of 3: ", d.what, ")");
      EXPECT_NE(status.error().message.find(expected), std::string::npos) << status.error().message;
      EXPECT_TRUE(check_fp_environment(pool));
    }
  }
}

TEST(Bytes, RoundTripAndStrictness) {
  ByteWriter w;
  w.u8(7);
  w.u32(0xdeadbeef);
  w.text("tag");
  w.boolean(true);
  w.f64(-0.0);
  const Bytes encoded = w.take();
  ByteReader r(encoded, "test");
  EXPECT_EQ(r.u8("a").value(), 7);
  EXPECT_EQ(r.u32("b").value(), 0xdeadbeefu);
  EXPECT_EQ(r.text("c", 10).value(), "tag");
  EXPECT_TRUE(r.boolean("d").value());
  EXPECT_TRUE(std::signbit(r.f64("e").value()));
  EXPECT_TRUE(r.finish());

  ByteReader cut(ByteView(encoded).first(9), "cut");
  EXPECT_TRUE(cut.u8("a") && cut.u32("b"));
  EXPECT_FALSE(cut.text("c", 10));
  const uint8_t two[] = {2};
  ByteReader bad_bool(two, "bad");
  EXPECT_FALSE(bad_bool.boolean("flag"));
}

TEST(Bytes, LengthOverTheLimitFailsBeforeAllocation) {
  ByteWriter w;
  w.u64(UINT64_MAX);
  ByteReader r(w.view(), "huge");
  const auto result = r.bytes("payload", 1 << 20);
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("limit"), std::string::npos);
}

TEST(Hex, RoundTripAndErrors) {
  const Bytes data = {0, 0xff, 0x10};
  EXPECT_EQ(to_hex(data), "00ff10");
  EXPECT_EQ(from_hex("00fF10").value(), data);
  EXPECT_FALSE(from_hex("0"));
  EXPECT_FALSE(from_hex("0g"));
}

TEST(Text, GlobsMatchWholeTexts) {
  for (const char* pattern : {"layer1.*", "*", "layer1.?.weight", "*weight", "l*1*0*w*", "layer1.0.weight"}) {
    EXPECT_TRUE(matches_glob(pattern, "layer1.0.weight")) << pattern;
  }
  for (const char* pattern : {"", "layer1", "layer1.?", "*bias", "ayer1.*", "layer1.0.weight?", "[l]ayer1.0.weight"}) {
    EXPECT_FALSE(matches_glob(pattern, "layer1.0.weight")) << pattern;
  }
  EXPECT_TRUE(matches_glob("", ""));
  EXPECT_TRUE(matches_glob("**", ""));
  EXPECT_FALSE(matches_glob("?", ""));
  // What takes for ever where every star is tried again.
  const std::string text(10000, 'a');
  EXPECT_FALSE(matches_glob("a*a*a*a*a*a*a*a*a*a*a*a*a*b", text));
  EXPECT_TRUE(matches_glob("a*a*a*a*a*a*a*a*a*a*a*a*a*a", text));
}

TEST(Text, SomeNamesAndHowManyMore) {
  const std::vector<std::string> names = {"a", "b", "c", "d"};
  EXPECT_EQ(join_some({}, 3), "none");
  EXPECT_EQ(join_some(names, 4), "a, b, c, d");
  EXPECT_EQ(join_some(names, 3), "a, b, c and 1 other");
  EXPECT_EQ(join_some(names, 2), "a, b and 2 others");
  EXPECT_EQ(join_quoted(names, 3), "'a', 'b', 'c' and 1 other");
}

TEST(Text, NearestWordSuggestsTyposOnly) {
  const std::vector<std::string> words = {"momentum", "weight_decay", "lr"};
  EXPECT_EQ(nearest_word("momentun", words), "momentum");
  EXPECT_EQ(nearest_word("weigth_decay", words), "weight_decay");
  EXPECT_EQ(nearest_word("zzzzzzzz", words), "");
}

TEST(Fields, AreSortedByNameAndTyped) {
  FieldWriter w;
  w.u64("b", 3);
  w.text("a", "x");
  EXPECT_EQ(to_hex(w.bytes()),
            "0200000000000000"
            "0100000000000000"
            "61"
            "05"
            "0100000000000000"
            "78"
            "0100000000000000"
            "62"
            "03"
            "0300000000000000");
  FieldWriter other;
  other.text("a", "x");
  other.i64("b", 3);
  EXPECT_NE(other.bytes(), w.bytes()) << "the type is part of the bytes";
}

TEST(Fields, ListsCannotRunIntoOneAnother) {
  const auto of = [](std::vector<std::string> a, std::map<std::string, double> b) {
    FieldWriter w;
    w.texts("a", a);
    w.numbers("b", b);
    return w.bytes();
  };
  EXPECT_NE(of({"x", "y"}, {}), of({"xy"}, {}));
  EXPECT_NE(of({"x"}, {{"y", 1}}), of({"x", "y"}, {}));
  EXPECT_NE(of({}, {{"y", 0.0}}), of({}, {{"y", -0.0}}));
}

// What lies in memory and around it stays, wherever the memory begins and however little it is.
TEST(LargePages, AreOnlyAsked) {
  prefer_large_pages(nullptr, 0);
  std::vector<uint8_t> bytes(size_t{9} << 20);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 7 + i / 4096);
  for (const size_t begin : {size_t{0}, size_t{3}, size_t{4096}, (size_t{2} << 20) + 1}) {
    for (const size_t size : {size_t{0}, size_t{1}, size_t{2} << 20, size_t{6} << 20}) {
      prefer_large_pages(bytes.data() + begin, size);
    }
  }
  size_t changed = 0;
  for (size_t i = 0; i < bytes.size(); ++i) changed += bytes[i] != static_cast<uint8_t>(i * 7 + i / 4096);
  EXPECT_EQ(changed, 0u);
}

}  // namespace
}  // namespace isobit
