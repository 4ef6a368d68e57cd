#include "isobit/platform/platform.h"

#include <gtest/gtest.h>

namespace isobit::platform {
namespace {

TEST(Platform, TextIsCanonicalAndReadsBack) {
  const Platform p = parse_platform("ordered@portable/3t").value();
  EXPECT_EQ(p.text(), "ordered@portable/3t");
  EXPECT_EQ(p.threads, 3);
  EXPECT_EQ(parse_platform(parse_platform("ordered").value().text()).value().text(),
            parse_platform("ordered").value().text());
  EXPECT_EQ(parse_platform("ordered@reference").value().threads, available_threads());
}

TEST(Platform, UnknownIsAUsageErrorWithTheNearestName) {
  for (const char* text :
       {"orderd", "ordered@avx3", "ordered/0t", "ordered/2", "ordered/2tt", "", "ordered@", "/2t", "ordered/99999t"}) {
    const auto p = parse_platform(text);
    ASSERT_FALSE(p) << text;
    EXPECT_EQ(p.error().code, ErrorCode::kUsage) << text;
  }
  EXPECT_NE(parse_platform("orderd").error().message.find("did you mean 'ordered'"), std::string::npos);
}

TEST(Platform, AnIsaThatIsNotThereIsUnavailable) {
#if defined(__x86_64__)
  const auto p = parse_platform("ordered@neon");
#else
  const auto p = parse_platform("ordered@avx2");
#endif
  ASSERT_FALSE(p);
  EXPECT_EQ(p.error().code, ErrorCode::kUnavailable);
}

TEST(Engine, AVendorsPlatformHasNoWrittenOrder) {
  const Platform p = parse_platform("openblas@haswell/1t").value();
  EXPECT_EQ(p.text(), "openblas@haswell/1t");
  Engine engine(p);
  const Status ordered = engine.use_arithmetic("ordered-1");
  ASSERT_FALSE(ordered);
  EXPECT_EQ(ordered.error().code, ErrorCode::kUsage);
  EXPECT_FALSE(engine.use_arithmetic("no-such-arithmetic"));
}

TEST(Platform, EveryListedPlatformParses) {
  ASSERT_FALSE(available_platforms().empty());
  for (const Platform& p : available_platforms()) EXPECT_EQ(parse_platform(p.text()).value().text(), p.text());
}

}  // namespace
}  // namespace isobit::platform
