// Reports that look into the model's file.
#include <sys/inotify.h>

#include <nlohmann/json.hpp>

#include "isobit/lab/explain/recorded_model_for_test.h"
#include "isobit/onnx/model_for_test.h"
#include "isobit/report/report.h"

namespace isobit::report {
namespace {

// How often a file is opened from here on, by whatever process.
class Openings {
 public:
  explicit Openings(const fs::path& file) : events_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
    // Equal events in a row are told as one: the closings keep openings apart.
    EXPECT_GE(::inotify_add_watch(events_, file.c_str(), IN_OPEN | IN_CLOSE), 0);
  }
  ~Openings() { ::close(events_); }
  int count() const {
    int openings = 0;
    alignas(inotify_event) char buffer[64 * sizeof(inotify_event)];
    for (ssize_t n; (n = ::read(events_, buffer, sizeof buffer)) > 0;) {
      for (ssize_t at = 0; at < n; at += static_cast<ssize_t>(sizeof(inotify_event))) {
        openings += (reinterpret_cast<const inotify_event*>(buffer + at)->mask & IN_OPEN) != 0;
      }
    }
    return openings;
  }

 private:
  const int events_;
};

class ReportOfModel : public lab::explain::testing::RecordedModel {};

TEST_F(ReportOfModel, HashesAndLoadsItOnce) {
  onnx::ModelForTest made;
  made.input("x", {1, 2, 8, 8});
  std::vector<float> weights(36);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = 0.1f * static_cast<float>(i % 7) - 0.2f;
  made.initializer("w", onnx::floats({2, 2, 3, 3}, weights));
  made.node("Conv", {"x", "w"}, {"a"}).named("first");
  made.node("Sigmoid", {"a"}, {"y"}).named("last");
  made.output("y");
  made.write(model());
  begin();
  for (const char* name : {"ordered@portable/1t", "ordered@portable/1t+winograd4"}) {
    record(name, platform::parse_platform(name).value(), backends::native());
  }
  std::vector<lab::deviation::OpenLab> labs;
  labs.push_back({"m.lab", lab::records::LabFile::in_memory("m.lab").value(), {}});
  for (const auto& run : runs_) ASSERT_TRUE(labs[0].lab.add_run(run));
  ASSERT_TRUE(labs[0].lab.set_graph(subject_, nodes_));
  const Openings openings(model());
  const auto report = make_report(labs, subject_, request_);
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_EQ(openings.count(), 2);
  // No tensor was kept: what was replayed was fed what the reference made of the model once more.
  const auto& causes = report->document["causes"];
  ASSERT_EQ(causes["replays"].size(), 2u);
  EXPECT_EQ(causes["replays"][0]["origin"], "introduced");
  EXPECT_EQ(causes["replays"][1]["origin"], "inherited");
}

}  // namespace
}  // namespace isobit::report
