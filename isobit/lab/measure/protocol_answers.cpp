// Reading what workers answer. Apart from the rest, since a worker itself reads no answers and lacks what records are
// checked with.
#include <algorithm>

#include "isobit/lab/measure/protocol_internal.h"
#include "isobit/lab/records/encoding.h"

namespace isobit::lab::measure {
namespace {

using nlohmann::json;
using records::ValueRecord;

Expected<ValueRecord> value_of(const JsonFields& fields) {
  ValueRecord value;
  ISOBIT_TRY(value.name, fields.text("name", records::kMaxText));
  ISOBIT_TRY(value.op, fields.text("op", records::kMaxText));
  ISOBIT_TRY(value.dtype, fields.text("dtype", records::kMaxText));
  ISOBIT_TRY(const json* dims, fields.list("dims", records::kMaxRank));
  for (const json& dim : *dims) {
    if (!dim.is_number_unsigned() || dim.get<uint64_t>() > INT64_MAX) {
      return fields.wrong("dims", "whole numbers of 0 or more");
    }
    value.dims.push_back(dim.get<int64_t>());
  }
  ISOBIT_TRY(const std::string hash, fields.text("hash", 32));
  ISOBIT_TRY(value.hash, records::hash_from_hex(hash, text_of(fields.what(), ": field 'hash'")));
  ISOBIT_TRY(value.kernel, fields.text("kernel", records::kMaxText));
  ISOBIT_TRY(value.is_output, fields.boolean("output"));
  if (!fields.has("step")) return value;
  ISOBIT_TRY(const uint64_t step, fields.count("step", INT64_MAX));
  value.step = static_cast<int64_t>(step);
  return value;
}

Expected<WorkerRun> run_of(const JsonFields& fields) {
  WorkerRun run;
  ISOBIT_TRY(run.tapped, fields.boolean("tapped"));
  ISOBIT_TRY(run.seconds, fields.seconds("seconds"));
  ISOBIT_TRY(const json* values, fields.list("values", records::kMaxValues));
  for (size_t i = 0; i < values->size(); ++i) {
    ISOBIT_TRY(ValueRecord value, value_of({(*values)[i], text_of(fields.what(), ": value ", i)}));
    run.values.push_back(std::move(value));
  }
  return run;
}

Expected<records::PlatformRecord> platform_of(const JsonFields& answer) {
  if (!answer.has("platform")) return answer.wrong("platform", "an object");
  const JsonFields fields = answer.inner("platform");
  records::PlatformRecord platform;
  ISOBIT_TRY(platform.name, fields.text("name", records::kMaxText));
  ISOBIT_TRY(platform.engine, fields.text("engine", records::kMaxText));
  ISOBIT_TRY(platform.fields, fields.map("fields", records::kMaxList, records::kMaxText));
  ISOBIT_TRY(platform.cpu_flags, fields.texts("cpu_flags", records::kMaxList, records::kMaxText));
  ISOBIT_TRY(const uint64_t cores, fields.count("cores", INT32_MAX));
  platform.cores = static_cast<int64_t>(cores);
  return platform;
}

// Operators may be folded away, so that a tapped run may have seen none; what a model makes is in the untapped one.
Status check_runs(const std::vector<WorkerRun>& runs, const JsonFields& fields) {
  const bool fits = runs.size() == 1 || (runs.size() == 2 && !runs[0].tapped && runs[1].tapped);
  if (!fits) return fields.wrong("runs", "one run or two, an untapped one and then a tapped one");
  if (runs[0].values.empty()) return fields.wrong("runs", "values in the first of them");
  return {};
}

}  // namespace

Expected<WorkerAnswer> decode_answer(ByteView bytes, const std::string& what) {
  ISOBIT_TRY(const json document, parse_json(bytes, kMaxAnswer, kDepth, what));
  const JsonFields fields(document, what);
  ISOBIT_RETURN_IF_ERROR(check_version(fields, "isobit_answer"));
  WorkerAnswer answer;
  for (const Silence& s : kSilences) {
    if (!fields.has(s.field)) continue;
    answer.outcome = s.outcome;
    ISOBIT_TRY(answer.words, fields.text(s.field, kMaxWords));
    if (answer.words.empty()) return fields.wrong(s.field, "the reason");
    return answer;
  }
  ISOBIT_TRY(answer.platform, platform_of(fields));
  ISOBIT_TRY(const json* runs, fields.list("runs", 2));
  for (const json& item : *runs) {
    ISOBIT_TRY(WorkerRun run, run_of({item, text_of(what, ": run ", answer.runs.size())}));
    answer.runs.push_back(std::move(run));
  }
  ISOBIT_RETURN_IF_ERROR(check_runs(answer.runs, fields));
  if (fields.has("job_root")) {
    ISOBIT_TRY(answer.job_root, fields.text("job_root", 64));
  }
  ISOBIT_TRY(answer.kept, fields.hashes("kept", kMaxKept));
  // A lab takes it: flags sorted, lists within their limits.
  for (const WorkerRun& run : answer.runs) {
    const records::RunRecord record{{}, answer.platform, 0, run.tapped, run.seconds, "", run.values};
    if (const Status fits = records::check(record); !fits) {
      return unreadable(text_of(what, ": ", fits.error().message));
    }
  }
  return answer;
}

Expected<std::vector<EngineInfo>> decode_engines(ByteView bytes, const std::string& what) {
  ISOBIT_TRY(const json document, parse_json(bytes, kMaxRequest, kDepth, what));
  const JsonFields fields(document, what);
  ISOBIT_RETURN_IF_ERROR(check_version(fields, "isobit_engines"));
  ISOBIT_TRY(const json* list, fields.list("engines", kMaxEngines));
  std::vector<EngineInfo> engines;
  for (const json& item : *list) {
    const JsonFields engine(item, text_of(what, ": engine ", engines.size()));
    EngineInfo info;
    ISOBIT_TRY(info.engine, engine.text("engine", 64));
    ISOBIT_TRY(info.about, engine.text("about", kMaxWords));
    ISOBIT_TRY(info.settings, engine.texts("settings", 64, 64));
    ISOBIT_TRY(info.defaults, engine.texts("default_settings", 64, 64));
    ISOBIT_TRY(info.version, engine.text("version", 256));
    ISOBIT_TRY(info.install, engine.text("install", kMaxWords));
    const auto known = [&](const std::string& s) { return std::ranges::find(info.settings, s) != info.settings.end(); };
    if (info.engine.empty() || info.settings.empty() || !std::ranges::all_of(info.defaults, known)) {
      return engine.wrong("default_settings", "a name, and some of its settings");
    }
    engines.push_back(std::move(info));
  }
  return engines;
}

}  // namespace isobit::lab::measure
