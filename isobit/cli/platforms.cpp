#include <cstdio>

#include "isobit/base/text.h"
#include "isobit/cli/commands.h"
#include "isobit/cli/engine_places.h"
#include "isobit/cli/interrupt.h"
#include "isobit/cli/json_text.h"
#include "isobit/kernels/vendor/vendor.h"
#include "isobit/lab/convolutions.h"
#include "isobit/lab/probe.h"

namespace isobit::cli {

namespace {

Expected<int> run(Console& console) {
  nlohmann::ordered_json document = nlohmann::ordered_json::array();
  console.line("platform                digest of its bits (a probe of two training steps)");
  const std::string best = platform::parse_platform("ordered")->text();
  for (const platform::Platform& p : platform::available_platforms()) {
    ISOBIT_TRY(const commit::Digest digest, lab::probe(p));
    document.push_back({{"platform", p.text()}, {"digest", commit::hex_of(digest)}, {"default", p.text() == best}});
    char line[160];
    std::snprintf(line, sizeof line, "%-22s  %s%s", p.text().c_str(), commit::hex_of(digest).substr(0, 32).c_str(),
                  p.text() == best ? "  (ordered)" : "");
    console.line(line);
  }
  std::vector<std::string> integer;
  for (const std::string& kind : platform::integer_products())
    integer.push_back(text_of(platform::kInteger, "@", kind));
  console.line(text_of("For arithmetic correct-1 alone, by integer products: ", join_or(integer)));
  console.document(json_text(document));
  return kAgreed;
}

// Settings of vendors' libraries, each tried in a process of its own, since a core type holds for a process.
Expected<int> run_vendors(Console& console) {
  nlohmann::ordered_json document = nlohmann::ordered_json::array();
  console.line("platform                float32 product   float64 product   library");
  for (const kernels::VendorId& id : kernels::known_vendors()) {
    const auto probe = kernels::probe_vendor(id);
    char line[400];
    if (!probe) {
      document.push_back({{"platform", id.text()}, {"error", probe.error().message}});
      std::snprintf(line, sizeof line, "%-22s  not here", id.text().c_str());
      console.line(line);
      continue;
    }
    document.push_back({{"platform", id.text()},
                        {"library", probe->record.version},
                        {"core", probe->record.core},
                        {"float32_digest", probe->f32_digest},
                        {"float64_digest", probe->f64_digest}});
    std::snprintf(line, sizeof line, "%-22s  %-16s  %-16s  %s", id.text().c_str(),
                  probe->f32_digest.empty() ? "none" : probe->f32_digest.substr(0, 16).c_str(),
                  probe->f64_digest.empty() ? "none" : probe->f64_digest.substr(0, 16).c_str(),
                  printable(probe->record.version).c_str());
    console.line(line);
  }
  console.document(json_text(document));
  return kAgreed;
}

// Engines that live in a Python, and how to get those that are not there.
Expected<int> run_engines(const EngineOptions& o, Console& console) {
  ISOBIT_TRY(const auto workers, lab::measure::Workers::prepare(places_of(o)));
  const Interruptible interruptible(Interruptible::Second::kIgnored);  // the interpreter ends, and the folder goes
  const auto listed = workers.list([&] { return interruptible.stop().load(); });
  if (!listed && interruptible.stop().load()) {
    console.error(listed.error());
    return kInterrupted;
  }
  ISOBIT_TRY(const auto engines, listed);
  nlohmann::ordered_json document = nlohmann::ordered_json::array();
  console.line("engine        version       platforms (each also with /Nt, N threads)");
  for (const lab::measure::EngineInfo& e : engines) {
    std::vector<std::string> names;
    for (const std::string& s : e.settings) names.push_back(s.empty() ? e.engine : text_of(e.engine, "@", s));
    document.push_back({{"engine", e.engine},
                        {"about", e.about},
                        {"installed", e.installed()},
                        {"version", e.version},
                        {"platforms", names},
                        {"install", e.install}});
    char line[80];
    std::snprintf(line, sizeof line, "%-12s  %-12s  ", printable(e.engine).c_str(),
                  e.installed() ? printable(e.version).c_str() : "not here");
    console.line(line + (e.installed() ? join_or(names) : e.install));
  }
  console.document(json_text(document));
  const std::string python = python_of(o.python);
  console.line(
      text_of("Engines of ", python, ". To measure: isobit measure MODEL.onnx --python ", python, " --out LAB"));
  return kAgreed;
}

// What may stand behind the '~' of a platform, and how to get what is missing.
Expected<int> run_processors(const EngineOptions& o, Console& console) {
  ISOBIT_TRY(const auto workers, lab::measure::Workers::prepare(places_of(o)));
  nlohmann::ordered_json document = nlohmann::ordered_json::array();
  console.line("processor       here  what it is");
  for (const lab::measure::EmulatedCpu& cpu : lab::measure::emulated_cpus()) {
    const auto here = workers.emulator_of(cpu);
    document.push_back({{"processor", cpu.name},
                        {"about", cpu.about},
                        {"emulator", cpu.emulator},
                        {"machine", cpu.machine},
                        {"here", here.has_value()},
                        {"problem", here ? "" : here.error().message}});
    char line[80];
    std::snprintf(line, sizeof line, "~%-13s  %-4s  ", cpu.name.c_str(), here ? "yes" : "no");
    console.line(line + (here ? cpu.about : here.error().message));
  }
  console.document(json_text(document));
  console.line("To measure: isobit measure MODEL.onnx --platforms ordered/1t,ordered/1t~haswell --out LAB");
  return kAgreed;
}

// What may stand behind the plus of a platform.
Expected<int> run_algorithms(Console& console) {
  nlohmann::ordered_json document = nlohmann::ordered_json::array();
  console.line("algorithm             digest of its bits  computes convolutions with                  how");
  for (const lab::ConvolutionAlgorithm& a : lab::convolution_algorithms()) {
    document.push_back({{"algorithm", a.name}, {"how", a.words}, {"applies", a.applies}});
    if (!a.digest.empty()) document.back()["digest"] = a.digest;
    if (!a.error.empty()) document.back()["error"] = a.error;
    const std::string digest = !a.error.empty()   ? "not here"
                               : a.digest.empty() ? "one of these"
                                                  : a.digest.substr(0, 16);
    char line[400];
    std::snprintf(line, sizeof line, "+%-19s  %-18s  %-42s  %s", a.name.c_str(), digest.c_str(), a.applies.c_str(),
                  a.words.c_str());
    console.line(line);
  }
  console.document(json_text(document));
  console.line("for arithmetic float32: isobit run MODEL.onnx --arithmetic float32 --platform ordered/1t+winograd4");
  return kAgreed;
}

}  // namespace

void add_platforms(Commands& commands) {
  Command& c = commands.add("platforms", "list what this machine can run, each with a digest of its bits",
                            "  isobit platforms\n  isobit platforms --vendors\n  isobit platforms --algorithms\n"
                            "  isobit platforms --engines --python venv/bin/python\n"
                            "  isobit platforms --processors\n");
  auto vendors = std::make_shared<bool>(false);
  c.flag("--vendors", *vendors,
         "instead, vendors' libraries with digests of their products: what arithmetic correct-1 makes equal");
  auto algorithms = std::make_shared<bool>(false);
  c.flag("--algorithms", *algorithms,
         "instead, algorithms of convolution that a platform may name, each with a digest of its bits");
  auto engines = std::make_shared<bool>(false);
  c.flag("--engines", *engines, "instead, engines that live in a Python, and how to get those that are not there");
  auto processors = std::make_shared<bool>(false);
  c.flag("--processors", *processors, "instead, processors that 'isobit measure' can have emulated");
  auto places = std::make_shared<EngineOptions>();
  c.option("--python", "PY", places->python, "interpreter that has the engines (default: $ISOBIT_PYTHON, or python3)");
  add_emulated_option(c, *places);
  c.action([vendors, algorithms, engines, processors, places](Console& console) -> Expected<int> {
    if (*vendors + *algorithms + *engines + *processors > 1) {
      return usage_error("--vendors, --algorithms, --engines and --processors: choose one of them");
    }
    if (!places->python.empty() && !*engines) return usage_error("--python: goes with --engines");
    if (!places->emulated.empty() && !*processors) return usage_error("--emulated: goes with --processors");
    if (*engines) return run_engines(*places, console);
    if (*processors) return run_processors(*places, console);
    return *vendors ? run_vendors(console) : *algorithms ? run_algorithms(console) : run(console);
  });
}

}  // namespace isobit::cli
