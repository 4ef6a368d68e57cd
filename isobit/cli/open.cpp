#include <charconv>
#include <cstdio>

#include "isobit/base/frame.h"
#include "isobit/base/text.h"
#include "isobit/cli/commands.h"
#include "isobit/cli/json_text.h"
#include "isobit/cli/limits.h"
#include "isobit/cli/own_files.h"
#include "isobit/cli/trust.h"
#include "isobit/cli/value_report.h"
#include "isobit/run/trace_run.h"

namespace isobit::cli {
namespace {

using Schema = std::vector<train::TraceEntry>;

struct Options {
  std::string run, platform = "ordered", value, data, out, against, sign;
  std::optional<uint64_t> step, node, output, statistic;
  std::vector<std::string> tiles, overrides;
  Trust trust;
  LimitOptions limits;
};

bool names_a_value(const Options& o) { return !o.value.empty() || o.node.has_value(); }

Status check(const Options& o) {
  if (!o.step) return usage_error("--step: is missing; expected the number of a step of the run, 1 or more");
  if (!o.value.empty() && o.node) return usage_error("--value and --node: name the value by one of them");
  if ((o.output || o.statistic) && !o.node) return usage_error("--output and --statistic: go with --node");
  if (o.output && o.statistic) return usage_error("--output and --statistic: name one of them");
  if (names_a_value(o)) {
    if (!o.sign.empty()) return usage_error("--sign: signs the list of all values; name none");
    return o.against.empty() ? Status() : usage_error("--against: compares all values of the step; name none");
  }
  if (!o.sign.empty() && o.out.empty()) return usage_error("--sign: goes with --out FILE, which gets the list");
  if (!o.tiles.empty()) return usage_error("--tile: name a value with --node or --value");
  return {};
}

// The entry that the options name.
Expected<std::optional<uint64_t>> chosen(const Options& o, const Schema& schema) {
  using Kind = train::TraceEntry::Kind;
  if (!names_a_value(o)) return std::optional<uint64_t>();
  const Kind kind = o.statistic ? Kind::kStatistic : Kind::kOutput;
  const auto place = static_cast<int64_t>(o.statistic.value_or(o.output.value_or(0)));
  std::optional<uint64_t> found;
  for (size_t i = 0; i < schema.size(); ++i) {
    const train::TraceEntry& e = schema[i];
    const bool named =
        o.node ? e.kind == kind && e.node == static_cast<int64_t>(*o.node) && e.place == place : e.name == o.value;
    // A piece of state and what replaces it have one name: the latter is meant.
    if (named) found = i;
  }
  if (found) return found;
  const std::string what = o.node ? text_of("--node ", *o.node, ": has no ", train::name_of(kind), " ", place)
                                  : text_of("--value '", o.value, "': no value of a step has this name");
  return usage_error(what + "; 'isobit open RUN --step T' lists them");
}

// "I,J" -> I, J.
Expected<std::pair<int64_t, int64_t>> pair_of(const std::string& text) {
  const size_t comma = text.find(',');
  std::pair<int64_t, int64_t> pair{-1, -1};
  const auto read = [&](size_t begin, size_t end, int64_t& to) {
    const auto done = std::from_chars(text.data() + begin, text.data() + end, to);
    return done.ec == std::errc() && done.ptr == text.data() + end && to >= 0;
  };
  if (comma != text.npos && read(0, comma, pair.first) && read(comma + 1, text.size(), pair.second)) return pair;
  return usage_error(text_of("--tile: found '", text, "', expected I,J: row and column of a tile, from 0"));
}

Expected<std::vector<uint64_t>> tiles_of(const Options& o, const train::TraceEntry& entry) {
  const commit::TileGrid grid(verify::shape_of(entry), verify::layout_of(entry));
  if (grid.tiles() == 0) return usage_error(text_of("'", entry.name, "' has no elements"));
  const int64_t columns = grid.tile_cols(), rows = grid.tiles() / columns;
  std::vector<uint64_t> tiles;
  for (const std::string& text : o.tiles.empty() ? std::vector<std::string>{"0,0"} : o.tiles) {
    ISOBIT_TRY(const auto tile, pair_of(text));
    if (tile.first >= rows || tile.second >= columns) {
      return usage_error(text_of("--tile ", text, ": '", entry.name, "' has ", rows, " x ", columns, " tiles"));
    }
    tiles.push_back(static_cast<uint64_t>(tile.first * columns + tile.second));
  }
  return tiles;
}

// The list that another party gave, which must be of this job and step and have as many values.
Expected<verify::TraceList> list_against(const Options& o, const verify::TraceList& own) {
  ISOBIT_TRY(const Bytes bytes, read_file(o.against, verify::kMaxTraceListBytes));
  ISOBIT_TRY(verify::TraceList theirs, verify::decode_trace_list(bytes, o.against));
  if (theirs.job_root != own.job_root || theirs.step != own.step ||
      theirs.tensor_roots.size() != own.tensor_roots.size()) {
    return usage_error(text_of("--against: ", o.against, " lists ", theirs.tensor_roots.size(), " values of step ",
                               theirs.step, " of the job ", commit::hex_of(theirs.job_root), "; expected ",
                               own.tensor_roots.size(), " of step ", own.step, " of the job ",
                               commit::hex_of(own.job_root)));
  }
  return theirs;
}

// What a trainer signs it must have computed: a step that is the run's.
Status write_list(const Options& o, const run::TracedStep& traced) {
  verify::TraceList list = traced.trace.list();
  if (!o.sign.empty()) {
    if (!traced.differs.empty()) return rejected(text_of("--sign: ", traced.differs));
    ISOBIT_TRY(const commit::SecretKey key, commit::read_secret_key(o.sign));
    list.sign(traced.engagement.terms.run_id, key);
    if (const Status engaged = verify::verify_trace_list(list, traced.engagement); !engaged) {
      return usage_error(text_of("--sign ", o.sign, ": ", engaged.error().message));
    }
  }
  return write_file_durably(o.out, encode(list));
}

// Where the two part: exit code 1, or 0 where they do not.
Expected<int> compare(const Options& o, const run::TracedStep& traced, Console& console) {
  const verify::TraceList own = traced.trace.list();
  ISOBIT_TRY(const verify::TraceList theirs, list_against(o, own));
  if (theirs.signed_by) ISOBIT_RETURN_IF_ERROR(verify::verify_trace_list(theirs, traced.engagement));
  const auto first = own.first_difference(theirs);
  const std::string signer = theirs.signed_by ? commit::hex_of(theirs.signed_by->key) : "";
  console.line(signer.empty() ? "their list is not signed: nobody stands by it"
                              : "signed by     " + signer + ", an engaged trainer of this run");
  nlohmann::ordered_json document = {
      {"step", own.step},
      {"trace_root", commit::hex_of(own.root().digest())},
      {"their_trace_root", commit::hex_of(theirs.root().digest())},
      {"signed_by", signer.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(signer)},
      {"step_is_that_of_the_run", traced.differs.empty()},
      {"first_difference", nullptr}};
  if (!first) {
    console.line(text_of("all ", own.tensor_roots.size(), " values of step ", own.step, " are the same"));
    console.document(json_text(document));
    return kAgreed;
  }
  const train::TraceEntry& e = traced.trace.schema()[*first];
  const std::string here = commit::hex_of(own.tensor_roots[*first]),
                    there = commit::hex_of(theirs.tensor_roots[*first]);
  const std::string op = traced.operator_of(*first);
  document["first_difference"] = {{"value", *first},     {"kind", train::name_of(e.kind)},
                                  {"node", e.node},      {"place", e.place},
                                  {"name", e.name},      {"operator", op},
                                  {"tensor_root", here}, {"their_tensor_root", there}};
  console.line(text_of("first differs value ", *first, ": ", printable(e.name), ", ", place_of(e),
                       op.empty() ? "" : text_of(" (", op, ")"), "; ", *first, " values before it are the same"));
  console.line("  here        " + here);
  console.line("  theirs      " + there);
  if (!traced.differs.empty()) console.line("              the step as computed here is not the run's");
  console.document(json_text(document));
  return kDisagreed;
}

void list(const run::TracedStep& traced, Console& console) {
  const verify::StepTrace& trace = traced.trace;
  nlohmann::ordered_json values = nlohmann::ordered_json::array();
  console.line("value   root              what");
  for (size_t i = 0; i < trace.schema().size(); ++i) {
    const train::TraceEntry& e = trace.schema()[i];
    const std::string root = commit::hex_of(trace.roots()[i].digest());
    values.push_back({{"value", i},
                      {"kind", train::name_of(e.kind)},
                      {"node", e.node},
                      {"place", e.place},
                      {"name", e.name},
                      {"dtype", name_of(e.dtype)},
                      {"shape", e.dims},
                      {"tensor_root", root}});
    char line[64];
    std::snprintf(line, sizeof line, "%-6zu  %s  ", i, root.substr(0, 16).c_str());
    console.line(
        text_of(line, printable(e.name), ", ", place_of(e), ", ", name_of(e.dtype), " ", verify::shape_of(e).text()));
  }
  const verify::TraceRoot root = trace.root();
  console.document(json_text({{"job_root", commit::hex_of(root.job_root)},
                              {"step", root.step},
                              {"trace_root", commit::hex_of(root.digest())},
                              {"schema_root", commit::hex_of(traced.schema)},
                              {"replayed_from", traced.from},
                              {"state_committed", traced.settled},
                              {"values", values}}));
  console.line("trace root    " + commit::hex_of(root.digest()));
  console.line("schema root   " + commit::hex_of(traced.schema));
}

Status show(const Options& o, const run::TracedStep& traced, Console& console) {
  ISOBIT_TRY(const std::vector<uint64_t> tiles, tiles_of(o, traced.trace.schema()[*traced.chosen]));
  ThreadPool pool(1);
  const verify::ValueOpening opening = run::open_value(traced, tiles, pool);
  ISOBIT_TRY(const auto roots, opening.roots());
  const Bytes bytes = encode(opening);
  if (bytes.size() > verify::kMaxOpeningBytes) {
    return usage_error(text_of("--tile: so many tiles come to ", bytes.size(), " bytes, more than ",
                               verify::kMaxOpeningBytes, "; show them in several files"));
  }
  if (!o.out.empty()) ISOBIT_RETURN_IF_ERROR(write_file_durably(o.out, bytes));
  nlohmann::ordered_json document;
  document["bytes"] = bytes.size();
  document["replayed_from"] = traced.from;
  document["state_committed"] = traced.settled;
  report_opening(opening, roots, document, console);
  if (!traced.settled) {
    console.line("              the run commits to no state after this step: only its batch and loss were compared");
  }
  if (!o.out.empty()) console.line(text_of("wrote         ", o.out, ", ", human_bytes(bytes.size())));
  console.document(json_text(document));
  return {};
}

// An older list or shown value may be replaced; anything else, such as a key, was not meant.
Status check_out(const Options& o) {
  if (o.out.empty()) return {};
  ISOBIT_RETURN_IF_ERROR(check_output(o.out, true));
  std::error_code error;
  if (!fs::exists(o.out, error)) return {};
  const auto file = PlainFile::open(o.out, Links::kFollow);
  Bytes begin(64);
  const auto got = file ? file->read_at(0, begin) : tl::unexpected<Error>(file.error());
  if (got) begin.resize(*got);
  if (got && (has_tag(begin, verify::kTraceListTag) || has_tag(begin, verify::kValueOpeningTag))) return {};
  return usage_error(text_of("--out: ", o.out,
                             " is there already, and is neither a list nor a shown value; name "
                             "another file"));
}

Expected<int> run(const Options& o, Console& console) {
  ISOBIT_RETURN_IF_ERROR(check(o));
  ISOBIT_RETURN_IF_ERROR(check_out(o));
  std::vector<std::string> read = values_of(o.overrides);
  read.insert(read.end(), {o.data, o.trust.client_key, o.trust.engagement, o.against, o.sign});
  ISOBIT_RETURN_IF_ERROR(check_apart({{"--out", o.out}}, read));
  ISOBIT_TRY(const Trusted named, trusted(o.trust));
  run::TraceRequest request;
  request.open.run = o.run;
  request.open.client = named.client;
  request.open.terms = named.terms;
  request.open.home = home_of(o.trust);
  request.open.overrides = with_data_path(o.overrides, o.data);
  ISOBIT_TRY(request.open.limits, limits_of(o.limits));
  ISOBIT_TRY(request.platform, platform::parse_platform(o.platform));
  request.step = *o.step;
  request.as_computed_here = !o.against.empty();
  request.choose = [&](const Schema& schema) { return chosen(o, schema); };
  request.progress = [&](uint64_t done, uint64_t total) {
    console.progress(text_of("step ", done, " of ", total, " on the way"));
  };
  Deadline deadline(o.limits, console);
  const auto traced = run::trace_step(request);
  console.end_progress();
  if (!traced) return tl::unexpected<Error>(traced.error());
  deadline.finish();
  if (!traced->chosen) {
    if (!o.out.empty()) ISOBIT_RETURN_IF_ERROR(write_list(o, *traced));
    if (!o.against.empty()) return compare(o, *traced, console);
    list(*traced, console);
    if (!o.out.empty()) console.line("wrote         " + o.out);
    return kAgreed;
  }
  ISOBIT_RETURN_IF_ERROR(show(o, *traced, console));
  return kAgreed;
}

}  // namespace

void add_open(Commands& commands) {
  auto o = std::make_shared<Options>();
  Command& c = commands.add("open", "compute a step of a run again and show values of it, each with its proof",
                            "  isobit open digits.run --step 12\n"
                            "  isobit open digits.run --step 12 --node 4\n"
                            "  isobit open digits.run --step 12 --value fc1.weight --tile 0,1 --out fc.opening\n"
                            "  isobit verify fc.opening\n"
                            "  isobit open digits.run --step 12 --out here.trace\n"
                            "  isobit open digits.run --step 12 --against theirs.trace\n");
  c.positional("RUN", o->run, "folder of the run");
  c.option("--step", "T", o->step, "the step, 1 for the first; without a value, all of its values are listed");
  c.option("--node", "N", o->node, "the value that node N of the step's graph makes");
  c.option("--output", "K", o->output, "which of its outputs (default: 0)");
  c.option("--statistic", "K", o->statistic, "instead, one of its statistics (docs/formats/trace-schema.md)");
  c.option("--value", "NAME", o->value, "the value of this name; of a piece of state, what replaces it");
  c.list("--tile", "I,J", o->tiles, "row and column of a tile of 16 x 16 elements (default: 0,0); may be repeated");
  c.option("-p,--platform", "P", o->platform, "where to compute (default: ordered)");
  c.option("-o,--out", "FILE", o->out,
           "write value, tiles and proofs there, for isobit verify; without a value, the list");
  c.option("--against", "FILE", o->against,
           "another party's list of this step: the first value in which the two differ");
  c.option("--sign", "KEY", o->sign, "sign the list that is written, with the secret key of the run's trainer");
  c.option("--data", "PATH", o->data, "where your copy of the data lies, like --set data.path=PATH");
  c.list("--set", "T.KEY=VALUE", o->overrides, "where other files of the job lie; may be repeated");
  add_trust_options(c, o->trust);
  add_memory_option(c, o->limits);
  add_recompute_option(c, o->limits);
  add_time_option(c, o->limits);
  c.action([o](Console& console) { return run(*o, console); });
}

}  // namespace isobit::cli
