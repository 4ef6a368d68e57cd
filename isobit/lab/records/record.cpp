#include "isobit/lab/records/record.h"

#include "isobit/lab/records/encoding.h"

namespace isobit::lab::records {
namespace {

void put(ByteWriter& w, const std::optional<commit::Digest>& digest) {
  w.boolean(digest.has_value());
  if (digest) w.fixed(*digest);
}

}  // namespace

SharedPlatform::SharedPlatform() {
  static const SharedPlatform empty{PlatformRecord()};
  held_ = empty.held_;
}

SharedPlatform::SharedPlatform(PlatformRecord record) {
  const commit::Digest digest = digest_of(record);
  held_ = std::make_shared<const Held>(Held{std::move(record), digest});
}

SharedPlatform::SharedPlatform(std::string name, std::string engine, std::map<std::string, std::string> fields,
                               std::vector<std::string> cpu_flags, int64_t cores)
    : SharedPlatform(
          PlatformRecord{std::move(name), std::move(engine), std::move(fields), std::move(cpu_flags), cores}) {}

const char* name_of(SubjectKind kind) {
  switch (kind) {
    case SubjectKind::kInference:
      return "inference";
    case SubjectKind::kTraining:
      return "training";
    case SubjectKind::kDumps:
      return "dumps";
    case SubjectKind::kPublished:
      return "published";
  }
  ISOBIT_CHECK(!"kind of subject");
}

commit::Digest digest_of(const Subject& subject) {
  ByteWriter w;
  w.u8(static_cast<uint8_t>(subject.kind));
  w.text(subject.model);
  put(w, subject.model_sha256);
  put(w, subject.input_sha256);
  w.text(subject.settings);
  return commit::tagged_hash("isobit.lab.subject", 1, w.view());
}

commit::Digest digest_of(const PlatformRecord& platform) {
  ByteWriter w;
  w.text(platform.name);
  w.text(platform.engine);
  w.i64(platform.cores);
  w.bytes(encode(platform.fields));
  w.bytes(encode(platform.cpu_flags));
  return commit::tagged_hash("isobit.lab.platform", 1, w.view());
}

commit::Digest digest_of(const RunRecord& run) {
  ByteWriter w;
  w.fixed(digest_of(run.subject));
  w.fixed(run.platform.digest());
  w.u32(run.repeat);
  w.boolean(run.tapped);
  w.text(run.error);
  w.u64(run.values.size());
  for (const ValueRecord& v : run.values) {
    w.i64(v.step);
    w.text(v.name);
    w.text(v.op);
    w.text(v.dtype);
    w.bytes(encode(v.dims));
    w.u64(v.hash.high);
    w.u64(v.hash.low);
    w.text(v.kernel);
    w.boolean(v.is_output);
  }
  return commit::tagged_hash("isobit.lab.run", 1, w.view());
}

}  // namespace isobit::lab::records
