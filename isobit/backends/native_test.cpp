#include <gtest/gtest.h>

#include "isobit/backends/backend.h"

namespace isobit::backends {
namespace {

TEST(Native, SaysWhatIsWrongWithAGraphBeforeAnythingRuns) {
  platform::Engine engine(platform::parse_platform("ordered/1t").value());
  const platform::Context context = engine.context_for(platform::arithmetic_of("ordered-1")).value();
  graph::Graph small, large;
  const auto made_of = [](graph::Graph& g, std::vector<int64_t> dims) {
    g.add_output(g.emit("Relu", {g.add_input("x", DType::kFloat32, std::move(dims))}, {}, "y"));
  };
  made_of(small, {4});
  made_of(large, {int64_t{1} << 40, int64_t{1} << 40});
  EXPECT_TRUE(native().compile(small, context));
  const auto refused = native().compile(large, context);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(refused.error().message.find("more memory than can be counted"), std::string::npos)
      << refused.error().message;
}

}  // namespace
}  // namespace isobit::backends
