#include "isobit/lab/probe.h"

#include <gtest/gtest.h>

namespace isobit::lab {
namespace {

TEST(Probe, IsTheSameOnEveryPlatform) {
  const commit::Digest expected = probe(platform::parse_platform("ordered@reference/1t").value()).value();
  for (const platform::Platform& p : platform::available_platforms()) EXPECT_EQ(probe(p).value(), expected) << p.text();
}

}  // namespace
}  // namespace isobit::lab
