#include "isobit/lab/records/record.h"

#include ISOBIT_XXHASH_HEADER

#include "isobit/base/text.h"
#include "isobit/lab/records/encoding.h"

namespace isobit::lab::records {
namespace {

void put(ByteWriter& w, const std::optional<commit::Digest>& digest) {
  w.boolean(digest.has_value());
  if (digest) w.fixed(*digest);
}

#ifdef ISOBIT_XXHASH_DISPATCHES
// The library's AVX kernels leave the upper halves of registers as they are, and until these are cleared whatever is
// compiled for the baseline machine runs at a third of its pace.
__attribute__((target("avx"))) void clear_upper_halves() { __builtin_ia32_vzeroupper(); }
void after_hashing() {
  static const bool has_avx = __builtin_cpu_supports("avx") != 0;
  if (has_avx) clear_upper_halves();
}
#else
void after_hashing() {}
#endif

}  // namespace

Hash128 hash_of(ByteView bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  after_hashing();
  return {hash.high64, hash.low64};
}

std::string hex_of(const Hash128& hash) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const uint64_t half : {hash.high, hash.low}) {
    for (int shift = 60; shift >= 0; shift -= 4) text += kDigits[(half >> shift) & 15];
  }
  return text;
}

Expected<Hash128> hash_from_hex(std::string_view text, std::string_view what) {
  const Expected<Bytes> bytes = from_hex(text);
  if (!bytes || bytes->size() != 16) {
    return unreadable(text_of(what, ": found '", text.substr(0, 40), "', expected a hash of 32 hex digits"));
  }
  Hash128 hash;
  for (size_t i = 0; i < 16; ++i) {
    uint64_t& half = i < 8 ? hash.high : hash.low;
    half = half << 8 | (*bytes)[i];
  }
  return hash;
}

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
  w.fixed(digest_of(run.platform));
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
