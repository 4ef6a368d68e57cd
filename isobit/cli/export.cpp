#include "isobit/base/text.h"
#include "isobit/cli/audited.h"
#include "isobit/cli/commands.h"
#include "isobit/cli/json_text.h"
#include "isobit/cli/limits.h"
#include "isobit/cli/own_files.h"
#include "isobit/cli/trust.h"
#include "isobit/formats/safetensors.h"
#include "isobit/platform/platform.h"
#include "isobit/run/run_weights.h"

namespace isobit::cli {

namespace {

struct Options {
  std::string run, out;
  Trust trust;
  AuditedOptions audited;
  std::optional<uint64_t> step;
  bool all = false, force = false;
  LimitOptions limits;
};

Expected<int> run(const Options& o, Console& console) {
  ISOBIT_RETURN_IF_ERROR(check_output(o.out, o.force));
  ISOBIT_TRY(const Trusted named, trusted(o.trust));
  ThreadPool pool(platform::available_threads());
  run::OpenRequest open;
  open.run = o.run;
  open.client = named.client;
  open.terms = named.terms;
  ISOBIT_TRY(open.limits, limits_of(o.limits));
  ISOBIT_TRY(open.verdict, named_verdict(o.audited, named, home_of(o.trust), o.step.has_value()));
  Deadline deadline(o.limits, console);
  ISOBIT_TRY(const run::Weights weights, run::read_run_weights(open, o.step, pool));
  deadline.finish();
  const std::vector<NamedTensor> tensors = o.all ? weights.state : run::inference_tensors(weights.state);
  const formats::Safetensors file{tensors, {{"builder", weights.job.model.builder}, {"step", text_of(weights.step)}}};
  ISOBIT_RETURN_IF_ERROR(formats::write_safetensors(o.out, file, {.replace = o.force}));
  uint64_t bytes = 0;
  for (const NamedTensor& t : tensors) bytes += t.tensor.bytes();
  console.document(json_text({{"file", o.out},
                              {"tensors", tensors.size()},
                              {"bytes", bytes},
                              {"step", weights.step},
                              {"client_pinned", weights.client_pinned},
                              {"audited", audited_json(open.verdict)}}));
  note_unpinned(weights.client_pinned, console);
  console.line(text_of("wrote         ", o.out, ": ", tensors.size(), " tensors, ", human_bytes(bytes), ", after step ",
                       weights.step));
  print_audited(open.verdict, console);
  return kAgreed;
}

}  // namespace

void add_export(Commands& commands) {
  auto o = std::make_shared<Options>();
  Command& c = commands.add(
      "export", "write the weights of a run as a safetensors file",
      "  isobit export digits.run --out weights.safetensors\n"
      "  isobit export digits.run --verdict digits.verdict --auditor-key auditor.pub --out w.safetensors\n");
  c.positional("RUN", o->run, "folder of the run");
  c.option("-o,--out", "FILE", o->out, "file to write", true);
  c.option("--step", "STEP", o->step, "write the checkpoint of this step instead of the final state");
  add_trust_options(c, o->trust);
  add_audited_options(c, o->audited);
  c.flag("--force", o->force, "replace a file of that name");
  c.flag("--all", o->all, "the optimizer's state as well");
  add_memory_option(c, o->limits);
  add_time_option(c, o->limits);
  c.action([o](Console& console) { return run(*o, console); });
}

}  // namespace isobit::cli
