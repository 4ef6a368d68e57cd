#include "isobit/report/report.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "isobit/base/file.h"
#include "isobit/base/text.h"
#include "isobit/lab/explain/planted_for_test.h"
#include "isobit/report/comparison_json.h"
#include "isobit/report/document.h"
#include "isobit/report/node_data.h"
#include "isobit/report/page.h"

namespace isobit::report {
namespace {

using lab::explain::Planted;
using nlohmann::ordered_json;

Planted example() {
  Planted p = lab::explain::chain();
  p.run("one/1t", {{"a", 1}, {"b", 1}, {"c", 1}, {"y", 1}});
  p.run("two/1t", {{"a", 1}, {"b", 1}, {"c", 2}, {"y", 2}});
  p.run("three/1t", {{"a", 1}, {"b", 1}, {"c", 2}, {"y", 2}}).values[2].kernel = "gemm_3";
  return p;
}

Layout layout_of(const Planted& p) {
  Layout layout{10, 10, std::vector<Point>(p.graph.size()), {}};
  for (const auto& [from, to] : edges_of(p.graph)) layout.edges.push_back({from, to, {{0, 0}, {1, 1}, {2, 2}, {3, 3}}});
  return layout;
}

TEST(Document, HasWhatTheRecordsSay) {
  const Planted p = example();
  const ordered_json d = document_of(p.explained(), layout_of(p));
  EXPECT_EQ(d["classes"][0], (ordered_json{{"class", 1}, {"platforms", {"one/1t"}}}));
  EXPECT_EQ(d["classes"][1], (ordered_json{{"class", 2}, {"platforms", {"two/1t", "three/1t"}}}));
  EXPECT_EQ(d["first_introduced"], 2);
  EXPECT_EQ(d["values"][2]["origin"], "introduced");
  EXPECT_EQ(d["values"][2]["of"], (ordered_json{1, 2, 2}));
  EXPECT_EQ(d["values"][2]["kernels"], (ordered_json{"gemm_3"}));
  EXPECT_EQ(d["values"][2]["kernel_of"], (ordered_json{-1, -1, 0}));
  EXPECT_EQ(d["values"][2]["figures"]["differing"], 1);
  EXPECT_EQ(d["values"][0]["hashes"].size(), 1u);
  EXPECT_EQ(d["bits"], 23);
  EXPECT_EQ(d["l0"]["pairs"], (ordered_json{{0, 0.5}, {0.5, 0}}));
  EXPECT_EQ(d["graph"]["edges"].size(), 3u);
  EXPECT_TRUE(d["left_out"].empty());
}

TEST(Document, HasThePlatformsAsAComparisonHasThem) {
  Planted p = example();
  p.run("broken", {{"y", 1}}).error = "no converter";
  const auto explained = p.explained();
  const ordered_json d = document_of(explained, layout_of(p)), all = comparison_json(explained.comparison);
  EXPECT_EQ(all["platforms"].size(), 4u);
  EXPECT_EQ(all["platforms"][3]["class"], ordered_json());
  for (const auto& [key, value] : all.items()) EXPECT_EQ(d[key], value) << key;
  // In a report whatever a stranger's lab holds ends.
  const ordered_json two =
      comparison_json(explained.comparison, {2, 64, [](const std::string& t) { return t.substr(0, 1); }});
  EXPECT_EQ(two["platforms"].size(), 2u);
  EXPECT_EQ(two["classes"][1]["platforms"], (ordered_json{"t"}));
}

TEST(Document, RecordsAndReplaysTogetherSettleWhereADifferenceComesFrom) {
  Planted p = example();  // 'c' differs though all inputs agree, 'y' since 'c' does
  lab::explain::Causes causes;
  causes.replays.problem = "not looked at";
  for (const size_t fork : {0, 1}) {
    lab::explain::Replay same;
    same.fork = fork;
    same.platforms = {1, 2};
    same.classes = {1, 1};
    same.reproduced = true;
    causes.replays.forks.push_back(same);
  }
  ordered_json d = document_of(p.explained(), layout_of(p), &causes);
  EXPECT_EQ(causes.replays.forks[0].origin(), lab::explain::Origin::kInherited);
  EXPECT_EQ(d["values"][2]["settled"], "introduced");  // of platform 'one', which was not replayed
  EXPECT_EQ(d["values"][3]["settled"], "inherited");
  EXPECT_EQ(node_data_of(d, NodeMetric::kIntroduced)["results"]["c"]["value"], d["values"][2]["figures"]["absolute"]);
  causes.replays.forks[1].classes = {1, 2};
  d = document_of(p.explained(), layout_of(p), &causes);
  EXPECT_EQ(d["values"][3]["origin"], "inherited");
  EXPECT_EQ(d["values"][3]["settled"], "introduced");
  EXPECT_FALSE(d["values"][0].contains("settled"));
}

TEST(Document, SaysWhyNoGraphIsDrawn) {
  Planted p = example();
  const ordered_json d = document_of(p.explained(), unavailable("Graphviz is not installed"));
  EXPECT_EQ(d["graph"]["absent"], "The graph is not drawn: Graphviz is not installed.");
  p.graph.clear();
  EXPECT_EQ(document_of(p.explained(), Layout())["graph"]["absent"], "The lab has no graph of this model.");
}

TEST(Document, TextsAndListsEnd) {
  Planted p;
  p.node(std::string(5000, 'o'), std::string(5000, 'n'), {});
  for (size_t i = 0; i < kMaxShownPlatforms + 5; ++i) {
    p.run(text_of("p", i, "/", std::string(5000, 'x')), {{std::string(5000, 'n'), static_cast<float>(i)}});
  }
  const ordered_json d = document_of(p.explained(), layout_of(p));
  EXPECT_EQ(d["platforms"].size(), kMaxShownPlatforms);
  EXPECT_EQ(d["values"][0]["of"].size(), kMaxShownPlatforms);
  EXPECT_EQ(d["values"][0]["hashes"].size(), kMaxShownPlatforms);
  EXPECT_EQ(d["values"][0]["name"].get<std::string>().size(), kMaxShownText + 3);
  ASSERT_EQ(d["left_out"].size(), 2u);  // platforms, and a value whose classes are too many to compare in pairs
  EXPECT_NE(d["left_out"][0].get<std::string>().find("first 200 of 205 platforms"), std::string::npos);
}

TEST(Page, NamesAreNeverMarkup) {
  const std::string evil = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\xe2\x80\xa8'\"&amp;\x01\xff";
  Planted p;
  p.node(evil, evil, {evil});
  p.subject.model = evil;
  for (int i = 0; i < 2; ++i) {
    auto& run = p.run(evil, {{evil, static_cast<float>(i)}}, {{evil, evil + std::to_string(i)}});
    run.platform.change([&](auto& record) { record.engine = evil; });
    run.values[0].kernel = evil;
  }
  p.run("broken", {{evil, 0}}).error = evil;
  const std::string page = page_of(document_of(p.explained(), layout_of(p)));
  const std::string script = "<script>";
  EXPECT_EQ(page.find(evil.substr(0, 20)), std::string::npos);
  EXPECT_EQ(page.find("<img"), std::string::npos);
  EXPECT_EQ(page.find("\xe2\x80\xa8"), std::string::npos);
  EXPECT_EQ(page.find('\xff'), std::string::npos);
  EXPECT_EQ(page.find("onerror=alert(1)>"), std::string::npos);
  // The page's own two script elements and their ends.
  const auto occurrences = [&](const std::string& what) {
    size_t count = 0;
    for (size_t at = page.find(what); at != std::string::npos; at = page.find(what, at + 1)) ++count;
    return count;
  };
  EXPECT_EQ(occurrences("<script"), 2u);
  EXPECT_EQ(occurrences("</script"), 2u);
  EXPECT_EQ(occurrences("http"), 2u);  // http-equiv, and the name of the space of SVG
  // What stands in the data is what the document says.
  const size_t begin = page.find("id=\"data\">") + 10;
  const ordered_json data = ordered_json::parse(page.substr(begin, page.find("</script>", begin) - begin));
  EXPECT_EQ(data["values"][0]["op"].get<std::string>().substr(0, 17), evil.substr(0, 17));
}

TEST(Page, EscapesOfHtmlAndJson) {
  EXPECT_EQ(escaped_html(std::string("<a href='x'>\"&\0", 15)), "&lt;a href=&#39;x&#39;&gt;&quot;&amp;\xef\xbf\xbd");
  EXPECT_EQ(escaped_json(ordered_json("</script>&\xe2\x80\xa8\xe2\x80\xa9")),
            "\"\\u003c/script\\u003e\\u0026\\u2028\\u2029\"");
}

TEST(Layout, OfASmallGraph) {
  const auto layout = lay_out(3, {{0, 1}, {1, 2}, {0, 2}});
  if (!layout && layout.error().message.find("not installed") != std::string::npos) {
    GTEST_SKIP() << "skipped: no Graphviz";
  }
  ASSERT_TRUE(layout.has_value()) << layout.error().message;
  EXPECT_EQ(layout->edges.size(), 3u);
  EXPECT_LT(layout->centres[0].y, layout->centres[1].y);  // downwards
  EXPECT_LT(layout->centres[1].y, layout->centres[2].y);
  for (const Point& p : layout->centres) {
    EXPECT_GE(p.x, kNodeWidth / 2 - 0.01);
    EXPECT_LE(p.y, layout->height);
  }
}

// A program of one line.
class Script {
 public:
  explicit Script(const std::string& line)
      : path_(fs::temp_directory_path() / text_of("isobit_script_", getpid(), "_", line.size())) {
    const std::string text = "#!/bin/sh\n" + line + "\n";
    EXPECT_TRUE(write_file_durably(path_, as_bytes(text), {.mode = 0755}).has_value());
  }
  ~Script() { fs::remove(path_); }
  std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

TEST(Layout, OfAProgramThatIsNotThereOrDoesNotAnswer) {
  const auto says = [](const Expected<Layout>& layout, const char* words) {
    ASSERT_FALSE(layout.has_value());
    EXPECT_EQ(layout.error().code, ErrorCode::kUnavailable);
    EXPECT_NE(layout.error().message.find(words), std::string::npos) << layout.error().message;
  };
  says(lay_out(1, {}, 5, "isobit-no-such-program"), "apt-get install graphviz");
  says(lay_out(1, {}, 5, "false"), "it failed");
  const Script silent("exec sleep 60"), endless("exec yes");
  says(lay_out(1, {}, 1, silent.path().c_str()), "no layout within 1 s");
  says(lay_out(1, {}, 60, endless.path().c_str()), "answered with more than");
  says(lay_out(kMaxDrawnNodes + 1, {}), "at most");
}

TEST(Layout, ItsAnswerIsReadAsAStrangers) {
  const std::string good =
      "graph 1 2 3\nnode n0 1 1 1.9 0.4 \"\" solid box black lightgrey\nnode n1 1 2 1.9 0.4 \"\" solid box black "
      "lightgrey\nedge n0 n1 4 1 1 1 1.5 1 1.6 1 2 solid black\nstop\n";
  ASSERT_TRUE(read_plain(good, 2, 1, "dot").has_value());
  EXPECT_DOUBLE_EQ(read_plain(good, 2, 1, "dot")->centres[0].y, 2);
  const auto changed = [&](const std::string& what, const std::string& with) {
    std::string text = good;
    text.replace(text.find(what), what.size(), with);
    return read_plain(text, 2, 1, "dot").has_value();
  };
  for (const auto& [what, with] :
       std::vector<std::pair<std::string, std::string>>{{"n1 1 2", "n7 1 2"},
                                                        {"n1 1 2", "n0 1 2"},
                                                        {"n1 1 2", "n1 nan 2"},
                                                        {"n1 1 2", "n1 1e300 2"},
                                                        {"n0 n1 4", "n0 n9 4"},
                                                        {"n0 n1 4", "n0 n1 5"},
                                                        {"n0 n1 4", "n0 n1 4000000000"},
                                                        {"graph 1 2 3", "graph 1"},
                                                        {"graph 1 2", "graph 1 -2"},
                                                        {"stop\n", ""},
                                                        {"edge", "nonsense"},
                                                        {"edge n0 n1 4 1 1 1 1.5 1 1.6 1 2 solid black\n", ""}}) {
    EXPECT_FALSE(changed(what, with)) << what << " -> " << with;
  }
  for (size_t n = 0; n < good.size(); ++n)
    EXPECT_FALSE(read_plain(good.substr(0, n), 2, 1, "dot").has_value() && n < good.size() - 1);
}

TEST(Layout, EdgesAreThoseOfValues) {
  using Edges = std::vector<std::pair<size_t, size_t>>;
  EXPECT_EQ(edges_of(lab::explain::chain().graph), (Edges{{0, 1}, {1, 2}, {2, 3}}));
  Planted p;
  p.node("Add", "a", {"x", ""})
      .node("Mul", "b", {"a", "a"})
      .node("Add", "b", {"b", "later"})
      .node("Neg", "later", {"b"});
  EXPECT_EQ(edges_of(p.graph), (Edges{{0, 1}, {1, 2}, {1, 3}}));
}

}  // namespace
}  // namespace isobit::report
