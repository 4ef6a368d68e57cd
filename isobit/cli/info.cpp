#include <nlohmann/json.hpp>

#include "isobit/base/text.h"
#include "isobit/bundle/reader.h"
#include "isobit/cli/commands.h"

namespace isobit::cli {

namespace {

using Json = nlohmann::ordered_json;

std::string steps_text(const std::vector<uint64_t>& steps) {
  std::string text;
  for (uint64_t s : steps) text += text_of(text.empty() ? "" : ", ", s);
  return text.empty() ? "none" : text;
}

Json describe(const bundle::BundleReader& r) {
  const verify::EngagementTerms& terms = r.engagement().terms;
  const verify::Transcript& t = r.transcript();
  Json j = {{"finished", r.finished()},
            {"steps_done", t.steps()},
            {"steps", t.rules().steps},
            {"commit_every", t.rules().commit_every},
            {"job_root", commit::hex_of(terms.job_root)},
            {"run_id", to_hex(terms.run_id)},
            {"client_key", commit::hex_of(terms.client_key)},
            {"trainer_key", commit::hex_of(r.engagement().trainer_key)},
            {"heads", r.heads().size()},
            {"checkpoints", r.checkpoints()}};
  if (t.steps() > 0) j["last_loss"] = t.step(t.steps()).loss.value();
  if (r.finished()) {
    const verify::FinalLeaf& f = t.final();
    j["final_state_root"] = commit::hex_of(f.state_root);
    j["transcript_root"] = commit::hex_of(t.transcript_root());
    j["test_samples"] = f.evaluation.samples;
    j["test_top1"] = f.evaluation.samples == 0
                         ? 0.0
                         : static_cast<double>(f.evaluation.top1) / static_cast<double>(f.evaluation.samples);
    j["facts"] = r.manifest()->facts;
  }
  return j;
}

Expected<int> run(const std::string& folder, Console& console) {
  ISOBIT_TRY(const bundle::BundleReader r, bundle::BundleReader::open(folder, {}));
  const Json j = describe(r);
  console.document(j.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  auto show = [&](const char* label, const std::string& value) { console.line(text_of(label, value)); };
  auto text = [&](const char* key) { return j[key].get<std::string>(); };
  show("state         ", r.finished() ? "finished" : "unfinished (continue it: isobit train --resume)");
  show("steps         ", text_of(r.transcript().steps(), " of ", r.transcript().rules().steps,
                                 ", state committed every ", r.transcript().rules().commit_every));
  if (j.contains("last_loss")) show("last loss     ", text_of(static_cast<float>(j["last_loss"].get<double>())));
  if (r.finished()) {
    const verify::Evaluation& e = r.transcript().final().evaluation;
    if (e.samples > 0)
      show("test          ",
           text_of(percent(static_cast<int64_t>(e.top1), static_cast<int64_t>(e.samples)), " right of ", e.samples));
    show("state root    ", text("final_state_root"));
    show("transcript    ", text("transcript_root"));
    for (const auto& [key, value] : r.manifest()->facts) show("fact          ", printable(text_of(key, " = ", value)));
  }
  show("job root      ", text("job_root"));
  show("run id        ", text("run_id"));
  show("client key    ", text("client_key"));
  show("trainer key   ", text("trainer_key"));
  show("heads         ", text_of(r.heads().size(), " signed"));
  show("checkpoints   ", steps_text(r.checkpoints()));
  console.line(
      "Signatures were checked against the keys that the run itself names; 'isobit verify' and 'isobit audit' use "
      "yours.");
  return kAgreed;
}

}  // namespace

void add_info(Commands& commands) {
  auto folder = std::make_shared<std::string>();
  Command& c = commands.add("info", "show what a run says of itself",
                            "  isobit info digits.run\n  isobit info digits.run --json\n");
  c.positional("RUN", *folder, "folder of the run");
  c.action([folder](Console& console) { return run(*folder, console); });
}

}  // namespace isobit::cli
