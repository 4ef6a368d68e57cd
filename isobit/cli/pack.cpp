#include "isobit/bundle/pack.h"

#include "isobit/base/text.h"
#include "isobit/cli/commands.h"
#include "isobit/cli/interrupt.h"
#include "isobit/cli/json_text.h"
#include "isobit/cli/own_files.h"
#include "isobit/cli/trust.h"

namespace isobit::cli {

namespace {

struct Options {
  std::string from, out;
  Trust trust;
  bool force = false;
};

int report(const Options& o, const bundle::PackSummary& done, bool client_pinned, Console& console) {
  const bundle::Manifest& manifest = done.manifest;
  console.document(json_text({{"from", o.from},
                              {"out", o.out},
                              {"bytes", done.bytes},
                              {"files", manifest.files.size() + 2},
                              {"job_root", commit::hex_of(manifest.job_root)},
                              {"run_id", to_hex(manifest.run_id)},
                              {"transcript_root", commit::hex_of(manifest.transcript_root)},
                              {"client_pinned", client_pinned}}));
  note_unpinned(client_pinned, console);
  console.line(text_of("wrote         ", o.out, ": ", manifest.files.size() + 2, " files, ", human_bytes(done.bytes)));
  console.line(text_of("run id        ", to_hex(manifest.run_id)));
  return kAgreed;
}

// Who stopped it knows.
Expected<int> failed(const Error& error, const Interruptible& interruptible) {
  if (interruptible.stop().load()) return kInterrupted;
  return tl::unexpected<Error>(error);
}

Expected<int> pack(const Options& o, Console& console) {
  ISOBIT_RETURN_IF_ERROR(check_output(o.out, o.force));
  ISOBIT_TRY(const Trusted named, trusted(o.trust));
  const Interruptible interruptible;
  const auto done = bundle::pack_run(o.from, o.out, o.force, {named.client, named.terms}, &interruptible.stop());
  if (!done) return failed(done.error(), interruptible);
  return report(o, *done, named.client.has_value(), console);
}

Expected<int> unpack(const Options& o, Console& console) {
  ISOBIT_RETURN_IF_ERROR(check_output(o.out, false));
  ISOBIT_TRY(const Trusted named, trusted(o.trust));
  const Interruptible interruptible;
  const auto done = bundle::unpack_run(o.from, o.out, {named.client, named.terms}, &interruptible.stop());
  if (!done) return failed(done.error(), interruptible);
  const int code = report(o, *done, named.client.has_value(), console);
  console.line("              signatures and digests are as they should be; 'isobit audit' says whether the run is");
  return code;
}

}  // namespace

void add_pack(Commands& commands) {
  auto o = std::make_shared<Options>();
  Command& p = commands.add("pack", "write a finished run as one file", "  isobit pack digits.run --out digits.tar\n");
  p.positional("RUN", o->from, "folder of the run");
  p.option("-o,--out", "FILE", o->out, "file to write, a tar archive", true);
  p.flag("--force", o->force, "replace a file of that name");
  add_trust_options(p, o->trust);
  p.action([o](Console& console) { return pack(*o, console); });

  auto u = std::make_shared<Options>();
  Command& c = commands.add("unpack", "make the folder of a run from a packed one, if it is what was signed for",
                            "  isobit unpack digits.tar --out digits.run\n");
  c.positional("FILE", u->from, "what isobit pack wrote");
  c.option("-o,--out", "RUN", u->out, "folder to make", true);
  add_trust_options(c, u->trust);
  c.action([u](Console& console) { return unpack(*u, console); });
}

}  // namespace isobit::cli
