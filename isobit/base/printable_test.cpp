#include "isobit/base/printable.h"

#include <gtest/gtest.h>

#include "isobit/base/json_depth.h"

namespace isobit {
namespace {

TEST(Printable, LeavesWhatCanBeSeen) {
  for (const char* text :
       {"", "digits.run: 12 of 300", "\u00e4\u00df\u4e2d\u6587\u0440\u0443\u0441", "\U0001f600", "a b", "\\x1b"}) {
    EXPECT_EQ(printable(text), text);
    EXPECT_EQ(printable_json(text), text);
  }
}

TEST(Printable, SpellsOutWhatCommandsATerminalOrMisleads) {
  EXPECT_EQ(printable("\x1b[2J\n\r\t\x7f"), "\\x1b[2J\\x0a\\x0d\\x09\\x7f");
  EXPECT_EQ(printable(std::string_view("\0", 1)), "\\x00");
  EXPECT_EQ(printable("\u009b31m"), "\\u009b31m");        // CSI of C1
  EXPECT_EQ(printable("run\u202egnp"), "run\\u202egnp");  // right-to-left override
  EXPECT_EQ(printable("\u2066\u2069\u200f\u061c"), "\\u2066\\u2069\\u200f\\u061c");
  EXPECT_EQ(printable("a\u200bb\u200d\u2060\ufeff\u00ad"), "a\\u200bb\\u200d\\u2060\\ufeff\\u00ad");
  EXPECT_EQ(printable("\u2028\u2029"), "\\u2028\\u2029");
  EXPECT_EQ(printable("\U000e0041\u3164"), "\\U000e0041\\u3164");  // a tag, a filler
}

TEST(Printable, SpellsOutBytesThatAreNoUtf8) {
  EXPECT_EQ(printable("\xff\xc0\x80"), "\\xff\\xc0\\x80");           // overlong
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // a surrogate
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // beyond Unicode
  EXPECT_EQ(printable("\xe4\xb8"), "\\xe4\\xb8");                    // cut short
}

TEST(Printable, IsDoneOnce) {
  const std::string once = printable("\x1b\u202e\xff\U000e0041");
  EXPECT_EQ(printable(once), once);
}

TEST(Printable, JsonMeansTheSame) {
  EXPECT_EQ(printable_json("{\"a\": \"\u202e\x7f\u009b\"}\n"), "{\"a\": \"\\u202e\\u007f\\u009b\"}\n");
  EXPECT_EQ(printable_json("\"\U000e0041\""), "\"\\udb40\\udc41\"");
}

TEST(JsonDepth, CountsBracketsOutsideOfStrings) {
  const auto fits = [](std::string_view json, int most) {
    return check_json_depth(as_bytes(json), most, "x").has_value();
  };
  EXPECT_TRUE(fits("[[{}]]", 3));
  EXPECT_FALSE(fits("[[{}]]", 2));
  EXPECT_TRUE(fits("[[],[],[]]", 2));
  EXPECT_TRUE(fits(R"({"[[[[": "]\"[[[\\"})", 1));
  EXPECT_FALSE(fits(R"({"\\":[[]]})", 2));
  EXPECT_FALSE(fits(std::string(1 << 20, '['), 8));
}

}  // namespace
}  // namespace isobit
