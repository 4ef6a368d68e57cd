#include "isobit/lab/records/encoding.h"

#include <algorithm>
#include <set>

#include "isobit/base/text.h"

namespace isobit::lab::records {
namespace {

// A count that the bytes left can hold, each item taking at least `least` of them.
Expected<uint64_t> count_of(ByteReader& reader, uint64_t most, uint64_t least) {
  ISOBIT_TRY(const uint64_t count, reader.u64("count"));
  if (count > most || count > reader.remaining() / least) {
    return reader.fail("count", text_of("found ", count, ", expected at most ", most, " and no more than follow"));
  }
  return count;
}

Status check_text(const std::string& text, const char* field) {
  if (text.size() <= kMaxText) return {};
  return usage_error(text_of("lab: ", field, " has ", text.size(), " bytes, expected at most ", kMaxText));
}

Status check_count(uint64_t count, uint64_t most, const char* field) {
  if (count <= most) return {};
  return usage_error(text_of("lab: ", count, " ", field, ", expected at most ", most));
}

Status check(const PlatformRecord& p) {
  ISOBIT_RETURN_IF_ERROR(check_text(p.name, "the name of a platform"));
  ISOBIT_RETURN_IF_ERROR(check_text(p.engine, "the name of an engine"));
  ISOBIT_RETURN_IF_ERROR(check_count(p.fields.size(), kMaxList, "fields of a platform"));
  ISOBIT_RETURN_IF_ERROR(check_count(p.cpu_flags.size(), kMaxList, "CPU flags"));
  ISOBIT_RETURN_IF_ERROR(check_count(encode(p.fields).size(), kMaxColumn, "bytes of fields of a platform"));
  ISOBIT_RETURN_IF_ERROR(check_count(encode(p.cpu_flags).size(), kMaxColumn, "bytes of CPU flags"));
  for (const auto& [key, value] : p.fields) {
    ISOBIT_RETURN_IF_ERROR(check_text(key, "the name of a field of a platform"));
    ISOBIT_RETURN_IF_ERROR(check_text(value, "a field of a platform"));
  }
  for (const std::string& flag : p.cpu_flags) ISOBIT_RETURN_IF_ERROR(check_text(flag, "a CPU flag"));
  if (!std::ranges::is_sorted(p.cpu_flags) || std::ranges::adjacent_find(p.cpu_flags) != p.cpu_flags.end()) {
    return usage_error("lab: CPU flags of a platform must be sorted, each once");
  }
  if (p.cores < 0) return usage_error(text_of("lab: found ", p.cores, " cores, expected 0 (not known) or more"));
  return {};
}

}  // namespace

Bytes encode(const std::vector<std::string>& texts) {
  ByteWriter w;
  w.u64(texts.size());
  for (const std::string& text : texts) w.text(text);
  return w.take();
}

Bytes encode(const std::map<std::string, std::string>& fields) {
  ByteWriter w;
  w.u64(fields.size());
  for (const auto& [key, value] : fields) {
    w.text(key);
    w.text(value);
  }
  return w.take();
}

Bytes encode(const std::vector<int64_t>& dims) {
  ByteWriter w;
  w.u64(dims.size());
  for (const int64_t dim : dims) w.i64(dim);
  return w.take();
}

Expected<std::vector<std::string>> decode_texts(ByteView bytes, const std::string& what) {
  ByteReader reader(bytes, what);
  ISOBIT_TRY(const uint64_t count, count_of(reader, kMaxList, 8));
  std::vector<std::string> texts;
  for (uint64_t i = 0; i < count; ++i) {
    ISOBIT_TRY(std::string text, reader.text("text", kMaxText));
    texts.push_back(std::move(text));
  }
  ISOBIT_RETURN_IF_ERROR(reader.finish());
  return texts;
}

Expected<std::map<std::string, std::string>> decode_fields(ByteView bytes, const std::string& what) {
  ByteReader reader(bytes, what);
  ISOBIT_TRY(const uint64_t count, count_of(reader, kMaxList, 16));
  std::map<std::string, std::string> fields;
  for (uint64_t i = 0; i < count; ++i) {
    ISOBIT_TRY(std::string key, reader.text("key", kMaxText));
    ISOBIT_TRY(std::string value, reader.text("value", kMaxText));
    if (!fields.empty() && key <= fields.rbegin()->first) {
      return reader.fail("key", "found keys out of order, expected each once and sorted by its bytes");
    }
    fields.emplace_hint(fields.end(), std::move(key), std::move(value));
  }
  ISOBIT_RETURN_IF_ERROR(reader.finish());
  return fields;
}

Expected<std::vector<int64_t>> decode_dims(ByteView bytes, const std::string& what) {
  ByteReader reader(bytes, what);
  ISOBIT_TRY(const uint64_t count, count_of(reader, kMaxRank, 8));
  std::vector<int64_t> dims(count);
  for (int64_t& dim : dims) {
    ISOBIT_TRY(dim, reader.i64("dimension"));
    if (dim < 0) return reader.fail("dimension", text_of("found ", dim, ", expected 0 or more"));
  }
  ISOBIT_RETURN_IF_ERROR(reader.finish());
  return dims;
}

Status check(const RunRecord& run) {
  ISOBIT_RETURN_IF_ERROR(check_text(run.subject.model, "the name of a model"));
  ISOBIT_RETURN_IF_ERROR(check_text(run.subject.settings, "the settings of a subject"));
  ISOBIT_RETURN_IF_ERROR(check(*run.platform));
  ISOBIT_RETURN_IF_ERROR(check_text(run.error, "the error of a run"));
  ISOBIT_RETURN_IF_ERROR(check_count(run.values.size(), kMaxValues, "values of a run"));
  if (!(run.seconds >= 0)) return usage_error("lab: the seconds of a run must be 0 or more");
  for (const ValueRecord& v : run.values) {
    ISOBIT_RETURN_IF_ERROR(check_text(v.name, "the name of a value"));
    ISOBIT_RETURN_IF_ERROR(check_text(v.op, "an operator"));
    ISOBIT_RETURN_IF_ERROR(check_text(v.dtype, "a type"));
    ISOBIT_RETURN_IF_ERROR(check_text(v.kernel, "the name of a kernel"));
    ISOBIT_RETURN_IF_ERROR(check_count(v.dims.size(), kMaxRank, "dimensions of a value"));
    if (v.step < 0) return usage_error(text_of("lab: found step ", v.step, ", expected 0 or more"));
    for (const int64_t dim : v.dims) {
      if (dim < 0) return usage_error(text_of("lab: found a dimension of ", dim, ", expected 0 or more"));
    }
  }
  return {};
}

uint64_t memory_of(const PlatformRecord& platform) {
  uint64_t bytes = sizeof platform;
  for (const auto& [name, value] : platform.fields) bytes += 128 + name.size() + value.size();
  for (const std::string& flag : platform.cpu_flags) bytes += 32 + flag.size();
  return bytes;
}

uint64_t memory_of(const Subject& subject) { return sizeof subject + subject.model.size() + subject.settings.size(); }

uint64_t memory_of(const std::vector<RunRecord>& runs) {
  std::set<const PlatformRecord*> seen;
  uint64_t bytes = 0;
  for (const RunRecord& run : runs) {
    bytes += memory_of(run.subject);
    if (seen.insert(&*run.platform).second) bytes += memory_of(*run.platform);
  }
  return bytes;
}

uint64_t memory_of(const GraphNode& node) {
  uint64_t bytes = sizeof node + node.op.size() + node.name.size();
  for (const auto* list : {&node.inputs, &node.outputs}) {
    for (const std::string& name : *list) bytes += 32 + name.size();
  }
  return bytes;
}

Status check(const std::vector<GraphNode>& nodes, uint64_t most_memory) {
  ISOBIT_RETURN_IF_ERROR(check_count(nodes.size(), kMaxValues, "nodes of a graph"));
  uint64_t memory = 0;
  for (const GraphNode& node : nodes) {
    memory += memory_of(node);
    ISOBIT_RETURN_IF_ERROR(check_count(memory, most_memory, "bytes of a graph"));
    ISOBIT_RETURN_IF_ERROR(check_text(node.op, "an operator"));
    ISOBIT_RETURN_IF_ERROR(check_text(node.name, "the name of a node"));
    for (const auto* list : {&node.inputs, &node.outputs}) {
      ISOBIT_RETURN_IF_ERROR(check_count(list->size(), kMaxList, "inputs or outputs of a node"));
      ISOBIT_RETURN_IF_ERROR(check_count(encode(*list).size(), kMaxColumn, "bytes of names of a node"));
      for (const std::string& name : *list) ISOBIT_RETURN_IF_ERROR(check_text(name, "the name of a value"));
    }
  }
  return {};
}

}  // namespace isobit::lab::records
