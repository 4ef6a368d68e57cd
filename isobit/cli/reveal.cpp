#include <algorithm>
#include <cstdio>

#include "isobit/base/file.h"
#include "isobit/base/text.h"
#include "isobit/cli/commands.h"
#include "isobit/cli/engine_places.h"
#include "isobit/cli/interrupt.h"
#include "isobit/cli/json_text.h"
#include "isobit/cli/own_files.h"
#include "isobit/lab/records/lab_safety.h"
#include "isobit/lab/reveal/revelation.h"
#include "isobit/lab/reveal/svg.h"
#include "isobit/lab/reveal/words.h"
#include "isobit/lab/reveal/worker.h"

namespace isobit::cli {

namespace {

namespace reveal = lab::reveal;

constexpr int64_t kMostPrintedLeaves = 128;

struct Options {
  std::string target, platform = "ordered", type, python, svg;
  std::optional<uint64_t> k, m, n, column, window, seed, max_seconds;
  bool probes = false;
};

int64_t number(const std::optional<uint64_t>& given, int64_t otherwise) {
  return given ? static_cast<int64_t>(std::min<uint64_t>(*given, INT32_MAX)) : otherwise;
}

bool is_engine(const Options& o) {
  return std::ranges::count(reveal::worker_engines(), o.platform.substr(0, o.platform.find_first_of("@/"))) > 0;
}

// Which options go together.
Status check(const Options& o, std::optional<reveal::Target> sum) {
  const auto only = [](bool given, const char* option, const char* with) -> Status {
    return given ? usage_error(text_of(option, ": goes with ", with)) : Status();
  };
  if (!sum) {
    const bool asks = o.k || o.seed || o.probes || !o.type.empty() || !o.svg.empty();
    ISOBIT_RETURN_IF_ERROR(only(asks, "--k, --type, --probes, --svg and --seed", "sums, not with functions"));
  }
  const std::string engines = text_of("a platform of a Python: ", join_or(reveal::worker_engines()));
  ISOBIT_RETURN_IF_ERROR(only(!o.python.empty() && !is_engine(o), "--python", engines.c_str()));
  ISOBIT_RETURN_IF_ERROR(only(o.max_seconds && !is_engine(o), "--max-seconds", engines.c_str()));
  const bool mean_of_doubles = sum == reveal::Target::kMean && o.type == reveal::name_of(reveal::Format::kFloat64);
  const bool no_probes = sum == reveal::Target::kSoftmax || mean_of_doubles;
  ISOBIT_RETURN_IF_ERROR(only(o.probes && no_probes, "--probes", "sums, not with softmax or a mean in float64"));
  if (sum != reveal::Target::kMatmul) {
    ISOBIT_RETURN_IF_ERROR(only(o.m || o.n || o.column, "--m, --n and --column", "matmul"));
  }
  return only(o.window && sum != reveal::Target::kConv, "--window", "conv");
}

reveal::Patience patience_of(const Options& o, const std::atomic<bool>& stop) {
  return reveal::Patience::of(static_cast<double>(o.max_seconds.value_or(600)), &stop);
}

Expected<reveal::RevealRequest> request_of(const Options& o, const std::atomic<bool>& stop) {
  reveal::RevealRequest request;
  ISOBIT_TRY(request.sum.target, reveal::parse_target(o.target));
  ISOBIT_RETURN_IF_ERROR(check(o, request.sum.target));
  ISOBIT_TRY(request.sum.format, reveal::parse_format("--type", o.type.empty() ? "float32" : o.type));
  request.sum.window = number(o.window, request.sum.window);
  // A convolution of 64 channels, a sum of 64 terms.
  const bool conv = request.sum.target == reveal::Target::kConv;
  request.sum.k = number(o.k, conv ? 64 * request.sum.window * request.sum.window : request.sum.k);
  request.sum.m = number(o.m, request.sum.m);
  request.sum.n = number(o.n, request.sum.n);
  request.sum.column = number(o.column, request.sum.column);
  request.platform = o.platform;
  request.python = python_of(o.python);
  request.patience = patience_of(o, stop);
  request.probes = o.probes;
  request.seed = o.seed.value_or(1);
  return request;
}

nlohmann::ordered_json json_of(const reveal::Revelation& r) {
  nlohmann::ordered_json document;
  document["target"] = reveal::name_of(r.sum.target);
  document["platform"] = r.platform;
  document["version"] = r.version;
  document["call"] = r.call;
  document["type"] = reveal::name_of(r.sum.format);
  document["k"] = r.sum.k;
  if (r.sum.target == reveal::Target::kMatmul) {
    document["m"] = r.sum.m;
    document["n"] = r.sum.n;
    document["column"] = r.sum.column;
    document["rows_alike"] = r.sum.rows_at_once;
    if (r.last_column_alike) document["last_column_alike"] = *r.last_column_alike;
  }
  if (r.sum.target == reveal::Target::kConv) document["window"] = r.sum.window;
  document["verdict"] = reveal::name_of(r.revealed.verdict);
  document["words"] = r.words();
  document["queries"] = r.revealed.queries;
  if (r.revealed.tree) {
    const reveal::SumTree& tree = *r.revealed.tree;
    document["tree"] = reveal::text_of_tree(tree);
    document["digest"] = commit::hex_of(reveal::digest_of_tree(tree));
    document["depth"] = tree.depth();
    document["widest_node"] = tree.widest();
    document["nodes"] = tree.nodes();
  }
  const reveal::Confirmation& c = r.confirmation;
  if (c.sums > 0) {
    document["confirmation"] = {{"sums", c.sums},
                                {"tree", c.plain},
                                {"tree_in_float64", c.wide},
                                {"correctly_rounded", c.correct},
                                {"repeats", c.repeats},
                                {"words", c.words(r.sum.format)},
                                {"bits", commit::hex_of(c.bits)}};
  }
  for (const reveal::Probe& p : r.probes) {
    document["probes"].push_back({{"name", p.name}, {"finding", p.finding}, {"shown_by", p.shown_by}});
  }
  return document;
}

void print(const reveal::Revelation& r, Console& console) {
  console.line(text_of("platform      ", r.platform, r.version.empty() ? "" : ", " + r.version, ": ", r.call, ", ",
                       reveal::name_of(r.sum.format), ", K = ", r.sum.k));
  console.line(text_of("order         ", r.words()));
  if (r.revealed.tree) {
    const reveal::SumTree& tree = *r.revealed.tree;
    if (tree.leaves() <= kMostPrintedLeaves) console.line("tree          " + reveal::text_of_tree(tree));
    console.line(text_of("tree digest   ", commit::hex_of(reveal::digest_of_tree(tree)).substr(0, 32), ", depth ",
                         tree.depth()));
  }
  if (r.confirmation.sums > 0) {
    console.line("arithmetic    " + r.confirmation.words(r.sum.format));
    console.line("bits digest   " + commit::hex_of(r.confirmation.bits).substr(0, 32));
  }
  if (!r.sum.rows_at_once) console.line("rows          not computed alike: this is row 0");
  if (r.last_column_alike) {
    console.line(*r.last_column_alike ? "last column   the same tree"
                                      : "last column   another tree; see it with --column");
  }
  console.line(text_of("queries       ", r.revealed.queries));
  for (const reveal::Probe& p : r.probes) {
    char name[32];
    std::snprintf(name, sizeof name, "%-19s", p.name.c_str());
    console.line(text_of(name, p.finding, " (", p.shown_by, ")"));
  }
}

Expected<int> run_functions(const Options& o, const std::atomic<bool>& stop, Console& console) {
  ISOBIT_RETURN_IF_ERROR(check(o, {}));
  ISOBIT_TRY(const auto reports, reveal::reveal_functions(o.platform, python_of(o.python), patience_of(o, stop)));
  nlohmann::ordered_json document = {{"platform", o.platform}, {"functions", nlohmann::ordered_json::array()}};
  console.line("function      right     1 ulp   2 ulps      more  largest  digest of the results");
  for (const reveal::FunctionReport& f : reports) {
    nlohmann::ordered_json entry = {{"function", reveal::name_of(f.function)}};
    char line[200];
    if (!f.missing.empty()) {
      entry["missing"] = f.missing;
      std::snprintf(line, sizeof line, "%-9s  %s", reveal::name_of(f.function),
                    printable(f.missing).substr(0, 150).c_str());
    } else {
      entry["arguments"] = f.arguments;
      entry["ulps"] = f.ulps;
      entry["largest"] = f.largest;
      entry["at"] = f.at;
      if (f.function == reveal::Function::kPow) entry["at_exponent"] = f.at_y;
      if (f.function == reveal::Function::kDivide6) {
        entry["reciprocal_differs"] = f.reciprocal_differs;
        entry["like_reciprocal"] = f.like_reciprocal;
      }
      entry["digest"] = commit::hex_of(f.digest);
      std::snprintf(line, sizeof line, "%-9s %9lld %9lld %8lld %9lld %8llu  %s", reveal::name_of(f.function),
                    static_cast<long long>(f.ulps[0]), static_cast<long long>(f.ulps[1]),
                    static_cast<long long>(f.ulps[2]), static_cast<long long>(f.ulps[3]),
                    static_cast<unsigned long long>(f.largest), commit::hex_of(f.digest).substr(0, 16).c_str());
    }
    document["functions"].push_back(std::move(entry));
    console.line(line);
    if (f.like_reciprocal > 0) {
      console.line(text_of("          of ", f.reciprocal_differs, " x whose x / 6 is not x * (1/6), ",
                           f.like_reciprocal, " come out as x * (1/6)"));
    }
  }
  console.document(json_text(document));
  return kAgreed;
}

Status write_svg(const std::string& file, const reveal::Revelation& r) {
  if (!r.revealed.tree) return unavailable(text_of("--svg '", file, "': there is no tree to draw: ", r.words()));
  const std::string title = text_of(reveal::name_of(r.sum.target), " of ", r.platform, ", ",
                                    reveal::name_of(r.sum.format), ", K = ", r.sum.k);
  return write_file_durably(file, as_bytes(reveal::svg_of_tree(*r.revealed.tree, title)));
}

Expected<int> run_sum(const Options& o, const std::atomic<bool>& stop, Console& console) {
  if (!o.svg.empty()) {
    ISOBIT_RETURN_IF_ERROR(check_output(o.svg, true));
    ISOBIT_RETURN_IF_ERROR(lab::records::check_no_lab(o.svg));
  }
  ISOBIT_TRY(const reveal::RevealRequest request, request_of(o, stop));
  ISOBIT_TRY(const reveal::Revelation revelation, reveal::reveal(request));
  if (!o.svg.empty()) ISOBIT_RETURN_IF_ERROR(write_svg(o.svg, revelation));
  console.document(json_text(json_of(revelation)));
  print(revelation, console);
  if (!o.svg.empty()) console.line("wrote         " + o.svg);
  return kAgreed;
}

Expected<int> run(const Options& o, Console& console) {
  // An engine is ended before this program ends; kernels of this program itself end with it.
  std::optional<Interruptible> interruptible;
  if (is_engine(o)) interruptible.emplace(Interruptible::Second::kIgnored);
  const std::atomic<bool> never = false;
  const std::atomic<bool>& stop = interruptible ? interruptible->stop() : never;
  Expected<int> done = o.target == "functions" ? run_functions(o, stop, console) : run_sum(o, stop, console);
  if (done || !stop.load()) return done;
  console.error(done.error());
  return kInterrupted;
}

}  // namespace

void add_reveal(Commands& commands) {
  auto o = std::make_shared<Options>();
  Command& c = commands.add("reveal", "the order in which a kernel adds, and what its arithmetic does",
                            "  isobit reveal matmul --platform openblas@haswell/1t --k 512\n"
                            "  isobit reveal sum --platform pytorch/1t --python venv/bin/python --probes\n"
                            "  isobit reveal conv --platform onednn/1t --k 576 --window 3 --svg tree.svg\n"
                            "  isobit reveal functions --platform numpy\n");
  c.positional("TARGET", o->target, "sum, dot, matmul, conv, mean, softmax or functions");
  c.option("-p,--platform", "P", o->platform,
           "whose kernel (default: ordered); also numpy, pytorch, onnxruntime and tensorflow, and for functions libm");
  c.option("--k", "K", o->k, "terms of the sum (default: 64; of a convolution 64 channels), at most 4096, softmax 512");
  c.option("--type", "T", o->type, "float32 (default) or float64");
  c.option("--m", "M", o->m, "rows of a matrix product (default: 64)");
  c.option("--n", "N", o->n, "its columns (default: 64)");
  c.option("--column", "J", o->column, "the column that is looked at (default: 0)");
  c.option("--window", "N", o->window, "height and width of a convolution's window (default: 3)");
  c.option("--python", "PY", o->python, "interpreter that has the engine (default: $ISOBIT_PYTHON, or python3)");
  c.flag("--probes", o->probes, "also rounding, width of accumulators, fused products, subnormal numbers, division");
  c.option("--svg", "FILE", o->svg, "draw the tree there");
  c.option("--max-seconds", "S", o->max_seconds, "of an engine of a Python: end it after so long (default: 600)");
  c.option("--seed", "SEED", o->seed, "of the questions (default: 1); the answer does not depend on it");
  c.action([o](Console& console) { return run(*o, console); });
}

}  // namespace isobit::cli
