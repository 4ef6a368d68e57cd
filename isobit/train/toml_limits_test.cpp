#include "isobit/train/toml_limits.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <random>
#include <sstream>

#define TOML_ASSERT(condition) static_cast<void>(0)  // see job_toml.cpp
#include <toml++/toml.h>

#include "isobit/base/text.h"
#include "isobit/train/job.h"

namespace isobit::train {
namespace {

bool fits(std::string_view text) { return check_toml_limits(text, "x").has_value(); }

std::string repeated(const std::string& part, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += part;
  return out;
}

int depth_of(const toml::node& node) {
  int deepest = 0;
  if (const auto* table = node.as_table()) {
    for (const auto& [key, child] : *table) deepest = std::max(deepest, 1 + depth_of(child));
  } else if (const auto* array = node.as_array()) {
    for (const toml::node& child : *array) deepest = std::max(deepest, 1 + depth_of(child));
  }
  return deepest;
}

bool can_be_read(const std::string& text) {
  try {
    (void)toml::parse(text);
    return true;
  } catch (const toml::parse_error&) {
    return false;
  }
}

TEST(TomlLimits, DeepTextsAreRefusedWithTheirLine) {
  for (const std::string& deep :
       {repeated("a.", 500000) + "a = 1", "[" + repeated("a.", 500000) + "a]", "[[" + repeated("a.", 500000) + "a]]",
        "v = " + repeated("[", 500000), "v = " + repeated("{a=", 500000), repeated("\"a\" . ", 500000) + "a = 1",
        "v = {" + repeated("a.", 9) + "a = 1}", "v = " + repeated("[", 9) + repeated("]", 9)}) {
    const Status refused = check_toml_limits("# one\n\n" + deep, "job.toml");
    ASSERT_FALSE(refused) << deep.substr(0, 40);
    EXPECT_EQ(refused.error().code, ErrorCode::kUnreadable);
    EXPECT_TRUE(refused.error().message.starts_with("job.toml:3: ")) << refused.error().message;
    EXPECT_FALSE(parse_job(deep, "job.toml", ""));
  }
}

// The first of the wrong ones ended a sanitized process within the library.
TEST(TomlLimits, OtherThanAsciiStaysInStringsAndComments) {
  const std::string o = "\xc9\x99", mark = "\xef\xbb\xbf";
  for (const std::string& fine :
       {mark + "a = 1", "a = \"" + o + "\"", "a = '" + o + "' # " + o, "a = \"\"\"" + o + "\n" + o + "\"\"\"",
        "a = \"\\\"" + o + "\"", "a = \"\"\"b\\\n  c" + o + "\"\"\"", "\"" + o + "\" = 1", "a = '''\\\n" + o + "'''"}) {
    EXPECT_TRUE(fits(fine)) << fine;
    EXPECT_NO_THROW((void)toml::parse(fine)) << fine;
  }
  for (const std::string& wrong :
       {"typ_in" + o + "o\nname = 0", "a" + o + " = 1", "a = 1" + o, "a = [1, " + o + "]", "[" + o + "]", "\n" + o,
        "a = \"\"\"\\" + o + "\"\"\"", "a = 1 " + o, "a = \"\"\"b\\ \n\t\n " + o + "\"\"\"", mark + mark + "a = 1"}) {
    const Status refused = check_toml_limits(wrong, "job.toml");
    ASSERT_FALSE(refused) << wrong;
    EXPECT_NE(refused.error().message.find("not ASCII"), std::string::npos) << refused.error().message;
  }
}

// What looks like a string is none there, for the library: it looks for the end of a value that goes on.
TEST(TomlLimits, ValuesAreFollowedByWhatEndsThem) {
  const std::string o = "\xc9\x99", comma = "\xe3\x80\x81";
  for (const std::string& fine :
       {std::string("'a'.\"b\" = {'c' = [\"d\",\n 'e', # \"\n'f']}"), std::string("['t'.u]\n[[ \"v\" ]]\r\n'a' = ''"),
        "1.\"" + o + "\" = 2\n[1.'" + comma + "']\nx = {1.\"" + o + "\" = 2, '" + o + "' = [{}, []]}",
        "a = 1 # " + o + "\nb = [1 , +2.5e1,\n\n# " + o + "\n'" + o + "' ]\r\nc = 1979-05-27T00:32:00Z\n"}) {
    const Status status = check_toml_limits(fine, "x");
    EXPECT_TRUE(status) << fine << status.error().message;
    EXPECT_NO_THROW((void)toml::parse(fine)) << fine;
  }
  for (const std::string& wrong :
       {"a = 2\"\"b'" + o + "'", "a = 1.\"" + o + "\"", "a = 1=\"" + o + "\"", "a = 1[\"" + o + "\"]",
        "a = 1{'" + o + "'}", "a = +.'" + o + "'", "a = 2020-01-01.\"" + o + "\"", "v = [1.\"" + o + "\"]",
        "a = 1979-05-27 0#" + o, "a = [1979-05-27 0,\"" + o + "\"]", "a = 1979-05-27 0\n\"" + o + "\" = 1",
        "a = = '" + comma + "'", std::string("a = 2 'x'"), std::string("a = '' ''"), std::string("a = ''\"\""),
        std::string("a = }''"), std::string("[a] 'b' = 1"), std::string("a = [[] 1]"), std::string("a = true'x'")}) {
    const Status refused = check_toml_limits(wrong, "job.toml");
    ASSERT_FALSE(refused) << wrong;
    EXPECT_NE(refused.error().message.find("job.toml:1: a value is not followed by"), std::string::npos) << wrong;
  }
}

TEST(TomlLimits, StringsAndCommentsMayHoldWhatTheyLike) {
  const std::string dots = repeated("../", 40) + repeated("[{", 40);
  for (const std::string& fine :
       {"path = \"" + dots + "\"", "path = '" + dots + "'", "# " + dots, "path = \"\"\"\n" + dots + "\n\"\"\"",
        "path = '''\n'" + dots + "''\n'''", "path = \"\\\"" + dots + "\\\\\" # \"" + dots,
        "path = ''\nq = \"" + dots + "\"", "path = \"\"\"\"" + dots + "\"\"\"\"\" # " + dots,
        "path = \"\"\"\\\"\"\"" + dots + "\"\"\"", "files = [\"" + dots + "\", '" + dots + "']",
        "path = \"\"\"\n\\\n" + dots + "\"\"\"",
        std::string("x = [1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5, 1979-05-27T00:32:00.999999-07:00]"),
        std::string("a.b.c.d.e.f.g.h = 1.5\n[a.b.c.d.e.f.g.i]\nx = 1")}) {
    const Status status = check_toml_limits(fine, "x");
    EXPECT_TRUE(status) << fine << "\n" << status.error().message;
    EXPECT_NO_THROW(toml::parse(fine)) << fine;
  }
}

// A string that the scanner takes for longer than the library does would hide what follows it.
TEST(TomlLimits, NothingHidesBehindAString) {
  const std::string deep = "\n" + repeated("a.", 20) + "a = 1\n";
  for (const char* before : {"x = \"", "x = '", "x = \"\\", "x = \"a\\\"", "x = \"\"", "x = ''", "x = \"\"\"\"\"\"",
                             "x = ''''''", "x = \"\"\"\"\"\"\"", "x = '''a''''", "x = '''a'''''", "# \"\"\"",
                             "x = \"\"\"a\\\\\"\"\"", "x = '''\\'''", "x = \"a", "x = 'a\\"}) {
    EXPECT_FALSE(fits(before + deep)) << before;
  }
}

// Whatever passes parses to a tree that recursion can walk; and what the library takes is refused only if it is deep.
TEST(TomlLimits, WhatPassesIsShallow) {
  std::vector<std::string> pieces = {"a.",  ".a",    "1.5", "[[",   "]]",   "'''",
                                     "'.'", "\"a\"", "'a'", "\r\n", "\\\n", "\\\""};
  for (const char* piece : {"\"\"\"", "x = ", "x = {", "\ny = '", "\nz = \"", "\nv = [\n", "\nv = '''", "\nv = \"\"\""})
    pieces.emplace_back(piece);
  for (const char* piece : {"\n[a.b]\n", "\n[a.a.a.a]\n", "= 1\n", "= 1979-05-27 0", "1979-05-27T00:32:00Z"})
    pieces.emplace_back(piece);
  for (const char piece : std::string_view("ab.=[]{},\n\"'\\#1 +")) pieces.emplace_back(1, piece);
  const size_t ascii = pieces.size();
  for (const char* piece : {"\xc3\xa9", "\"\xc3\xa9\"", "'\xc3\xa9'", "#\xc3\xa9"}) pieces.emplace_back(piece);
  std::mt19937 random(20);
  int parsed = 0, deep = 0;
  for (int i = 0; i < 200000; ++i) {
    std::string text;
    bool foreign = false;
    for (unsigned n = random() % 24; n > 0; --n) {
      const size_t piece = random() % pieces.size();
      foreign |= piece >= ascii;
      text += pieces[piece];
    }
    // What is foreign outside of strings and comments, the library must not see: undefined behaviour.
    if (foreign && !fits(text)) continue;
    toml::table root;
    try {
      root = toml::parse(text);
    } catch (const toml::parse_error&) {
      continue;
    }
    ++parsed;
    const int depth = depth_of(root);
    deep += depth > 4 ? 1 : 0;
    if (depth <= 4) {
      ASSERT_TRUE(fits(text)) << text;
    } else if (depth > kMaxTomlDepth) {
      ASSERT_FALSE(fits(text)) << text;
    }
  }
  EXPECT_GT(parsed, 3000);  // the test has something to say
  EXPECT_GT(deep, 10);
}

// A shallow document of any content, written by the library itself, is never refused. (With ''' in a text of several
// lines it writes what is no TOML.)
RC_GTEST_PROP(TomlLimits, NoShallowDocumentIsRefused, ()) {
  toml::table root;
  const auto text = [] {
    return *rc::gen::container<std::string>(rc::gen::elementOf(std::string("ab.\"'\\#[]{}=,\n\t ")));
  };
  for (const char* name : {"job", "model", "data"}) {
    toml::table table;
    table.insert_or_assign("name", text());
    table.insert_or_assign("files", toml::array{text(), text(), 1.25, text()});
    table.insert_or_assign("numbers", toml::table{{"Conv", 1.5}, {"x", text()}});
    root.insert_or_assign(name, table);
  }
  std::ostringstream out;
  out << root << "\n";
  const Status status = check_toml_limits(out.str(), "x");
  RC_PRE(status || can_be_read(out.str()));
  if (!status) RC_FAIL(status.error().message + "\n" + out.str());
}

TEST(TomlLimits, OverridesThatAreDeepAreTexts) {
  const std::string job =
      "[job]\nsteps = 3\n[model]\nbuilder = \"logistic\"\n[data]\ndataset = \"digits\"\nbatch = 4\n"
      "[optimizer]\nlr = 0.1\n";
  EXPECT_TRUE(parse_job(job, "x", ""));
  for (const std::string& deep :
       {repeated("[", 500000), repeated("{a=", 300000), "{" + repeated("a.", 500000) + "a=1}"}) {
    EXPECT_FALSE(parse_job(job, "x", "", {"job.steps=" + deep}));
  }
  const auto moved = parse_job(
      "[job]\nsteps = 3\n[model]\nbuilder = \"logistic\"\n[data]\ndataset = \"npy\"\nbatch = 4\n"
      "[optimizer]\nlr = 0.1\n",
      "x", "", {"data.path=/a/b.c.d.e.f.g.h.i.j/k.l.m.npy"});
  ASSERT_TRUE(moved);
  EXPECT_EQ(moved->data.path, "/a/b.c.d.e.f.g.h.i.j/k.l.m.npy");
}

TEST(TomlLimits, JobsHaveALimitedSize) {
  const auto large = parse_job("# " + std::string(2 << 20, 'x'), "job.toml", "");
  ASSERT_FALSE(large);
  EXPECT_NE(large.error().message.find("more than the"), std::string::npos);
}

}  // namespace
}  // namespace isobit::train
