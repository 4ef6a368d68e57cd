#include "isobit/lab/measure/protocol.h"

#include <algorithm>

#include "isobit/lab/measure/protocol_internal.h"
#include "isobit/lab/records/encoding.h"

namespace isobit::lab::measure {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using records::ValueRecord;

constexpr uint64_t kMaxInputs = 4096;
constexpr uint64_t kMaxPath = 1 << 16;
constexpr int kMaxThreads = 4096;

std::string dumped(const ordered_json& document) {
  return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

ordered_json hex_list(const std::vector<records::Hash128>& hashes) {
  ordered_json list = ordered_json::array();
  for (const records::Hash128& hash : hashes) list.push_back(records::hex_of(hash));
  return list;
}

ordered_json json_of(const ValueRecord& v) {
  ordered_json value = {{"name", v.name},         {"op", v.op},         {"dtype", v.dtype},     {"dims", v.dims},
                        {"hash", hex_of(v.hash)}, {"kernel", v.kernel}, {"output", v.is_output}};
  if (v.step != 0) value["step"] = v.step;
  return value;
}

}  // namespace

std::string file_of(const records::Hash128& hash) { return hex_of(hash) + ".bin"; }

std::string encode(const WorkerRequest& r) {
  ordered_json document = {{"isobit_request", kProtocol}, {"engine", r.engine},   {"setting", r.setting},
                           {"platform", r.platform},      {"threads", r.threads}, {"model", r.model.string()}};
  document["inputs"] = ordered_json::array();
  for (const WorkerInput& input : r.inputs) {
    document["inputs"].push_back({{"name", input.name}, {"file", input.file.string()}});
  }
  document["untapped"] = r.untapped;
  document["tapped"] = r.tapped;
  document["keep"] = hex_list(r.keep);
  document["keep_bytes"] = r.keep_bytes;
  document["max_memory"] = r.max_memory;
  document["steps"] = r.steps;
  document["overrides"] = r.overrides;
  return dumped(document);
}

Expected<WorkerRequest> decode_request(ByteView bytes, const std::string& what) {
  ISOBIT_TRY(const json document, parse_json(bytes, kMaxRequest, kDepth, what));
  const JsonFields fields(document, what);
  ISOBIT_RETURN_IF_ERROR(check_version(fields, "isobit_request"));
  WorkerRequest r;
  ISOBIT_TRY(r.engine, fields.text("engine", kMaxWords));
  ISOBIT_TRY(r.setting, fields.text("setting", kMaxWords));
  ISOBIT_TRY(r.platform, fields.text("platform", kMaxWords));
  ISOBIT_TRY(const uint64_t threads, fields.count("threads", kMaxThreads));
  r.threads = static_cast<int>(threads);
  ISOBIT_TRY(r.model, fields.text("model", kMaxPath));
  ISOBIT_TRY(const json* inputs, fields.list("inputs", kMaxInputs));
  for (const json& item : *inputs) {
    const JsonFields input(item, what + ": inputs");
    ISOBIT_TRY(std::string name, input.text("name", records::kMaxText));
    ISOBIT_TRY(std::string file, input.text("file", kMaxPath));
    r.inputs.push_back({std::move(name), std::move(file)});
  }
  ISOBIT_TRY(r.untapped, fields.boolean("untapped"));
  ISOBIT_TRY(r.tapped, fields.boolean("tapped"));
  ISOBIT_TRY(r.keep, fields.hashes("keep", kMaxKept));
  ISOBIT_TRY(r.keep_bytes, fields.count("keep_bytes", UINT64_MAX));
  ISOBIT_TRY(r.max_memory, fields.count("max_memory", UINT64_MAX));
  ISOBIT_TRY(const uint64_t steps, fields.count("steps", INT32_MAX));
  r.steps = static_cast<int64_t>(steps);
  ISOBIT_TRY(r.overrides, fields.texts("overrides", kMaxInputs, kMaxPath));
  return r;
}

WorkerAnswer silent(WorkerAnswer::Outcome outcome, const std::string& words) {
  WorkerAnswer answer;
  answer.outcome = outcome;
  answer.words = words.empty() ? "no reason is given" : words;
  return answer;
}

WorkerAnswer silent(const Error& error) {
  const bool lacks = error.code == ErrorCode::kUnavailable;
  return silent(lacks ? WorkerAnswer::Outcome::kFailed : WorkerAnswer::Outcome::kRefused, error.message);
}

std::string encode(const WorkerAnswer& answer) {
  ordered_json document = {{"isobit_answer", kProtocol}};
  for (const Silence& s : kSilences) {
    if (answer.outcome == s.outcome) document[s.field] = answer.words.substr(0, kMaxWords);
  }
  if (answer.outcome != WorkerAnswer::Outcome::kRan) return dumped(document);
  const records::PlatformRecord& p = answer.platform;
  document["platform"] = {
      {"name", p.name}, {"engine", p.engine}, {"fields", p.fields}, {"cpu_flags", p.cpu_flags}, {"cores", p.cores}};
  document["runs"] = ordered_json::array();
  for (const WorkerRun& run : answer.runs) {
    ordered_json values = ordered_json::array();
    for (const ValueRecord& value : run.values) values.push_back(json_of(value));
    document["runs"].push_back({{"tapped", run.tapped}, {"seconds", run.seconds}, {"values", std::move(values)}});
  }
  document["kept"] = hex_list(answer.kept);
  if (!answer.job_root.empty()) document["job_root"] = answer.job_root;
  return dumped(document);
}

}  // namespace isobit::lab::measure
