// Kept tensors of a lab: zstd frames under the hash of what they hold.
#include <xxhash.h>
#include <zstd.h>

#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/lab/records/encoding.h"
#include "isobit/lab/records/lab_file_internal.h"

namespace isobit::lab::records {
namespace {

constexpr int kLevel = 3;
constexpr int kMaxWindowLog = 27;  // 128 MiB, zstd's own default: no frame makes a reader take more

Expected<Bytes> bytes_of(const Hash128& hash) { return from_hex(hex_of(hash)); }

struct DecompressionContext {
  ZSTD_DCtx* context = ZSTD_createDCtx();
  ~DecompressionContext() { ZSTD_freeDCtx(context); }
};

// Decompresses piece by piece; `take` gets every piece. The size and the hash must be those that the row claims.
template <class Take>
Status decompress(ByteView data, uint64_t size, const Hash128& expected, const std::string& what, Take take) {
  const auto damaged = [&](std::string_view problem) {
    return unreadable(text_of(what, ": tensor ", hex_of(expected), ": ", problem, "; the lab is damaged"));
  };
  DecompressionContext zstd;
  if (zstd.context == nullptr) return unavailable(text_of(what, ": out of memory"));
  ZSTD_DCtx_setParameter(zstd.context, ZSTD_d_windowLogMax, kMaxWindowLog);
  XXH3_state_t* state = XXH3_createState();
  if (state == nullptr) return unavailable(text_of(what, ": out of memory"));
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> owner(state, &XXH3_freeState);
  XXH3_128bits_reset(state);
  Bytes piece(ZSTD_DStreamOutSize());
  ZSTD_inBuffer in{data.data(), data.size(), 0};
  uint64_t done = 0;
  for (size_t more = 1; more != 0;) {
    ZSTD_outBuffer out{piece.data(), piece.size(), 0};
    const size_t before = in.pos;
    more = ZSTD_decompressStream(zstd.context, &out, &in);
    if (ZSTD_isError(more) != 0) return damaged(ZSTD_getErrorName(more));
    if (out.pos == 0 && in.pos == before && more != 0) return damaged("its data ends early");
    done += out.pos;
    if (done > size) return damaged(text_of("more than the ", size, " bytes it claims"));
    XXH3_128bits_update(state, piece.data(), out.pos);
    take(ByteView(piece.data(), out.pos));
  }
  if (in.pos != in.size) return damaged("bytes after its data");
  if (done != size) return damaged(text_of("found ", done, " bytes, expected ", size));
  const XXH128_hash_t hash = XXH3_128bits_digest(state);
  if (Hash128{hash.high64, hash.low64} != expected) return damaged("its bytes have another hash");
  return {};
}

}  // namespace

Expected<uint64_t> LabFile::kept_bytes() {
  ISOBIT_TRY(Statement sum, impl_->database.prepare("SELECT coalesce(sum(length(data)), 0) FROM tensors"));
  ISOBIT_TRY(const bool row, sum.step());
  ISOBIT_CHECK(row);
  return sum.integer(0, 0, INT64_MAX).map([](int64_t n) { return static_cast<uint64_t>(n); });
}

Expected<bool> LabFile::keep(ByteView tensor, uint64_t most) {
  if (tensor.size() > kMaxTensor) return false;
  ISOBIT_TRY(const Bytes hash, bytes_of(hash_of(tensor)));
  ISOBIT_TRY(Statement known, impl_->database.prepare("SELECT 1 FROM tensors WHERE hash = ?"));
  ISOBIT_TRY(const bool there, known.bind(ByteView(hash)).step());
  if (there) return true;
  known.reset();
  Bytes data(ZSTD_compressBound(tensor.size()));
  const size_t size = ZSTD_compress(data.data(), data.size(), tensor.data(), tensor.size(), kLevel);
  if (ZSTD_isError(size) != 0) return unavailable(text_of("zstd: ", ZSTD_getErrorName(size)));
  data.resize(size);
  ISOBIT_TRY(Transaction transaction, Transaction::begin(impl_->database));
  ISOBIT_TRY(const uint64_t kept, kept_bytes());
  if (kept > most || size > most - kept) return false;
  ISOBIT_TRY(Statement insert,
             impl_->database.prepare("INSERT OR IGNORE INTO tensors (hash, size, data) VALUES (?, ?, ?)"));
  insert.bind(ByteView(hash)).bind(static_cast<int64_t>(tensor.size()));
  ISOBIT_RETURN_IF_ERROR(insert.bind(ByteView(data)).run());
  ISOBIT_RETURN_IF_ERROR(transaction.commit());
  return true;
}

Expected<std::optional<Bytes>> LabFile::tensor(const Hash128& hash) {
  const Database& database = impl_->database;
  ISOBIT_TRY(Statement find, database.prepare("SELECT size, data FROM tensors WHERE hash = ?"));
  ISOBIT_TRY(const Bytes key, bytes_of(hash));
  ISOBIT_TRY(const bool row, find.bind(ByteView(key)).step());
  if (!row) return std::optional<Bytes>();
  ISOBIT_TRY(const int64_t size, find.integer(0, 0, kMaxTensor));
  ISOBIT_TRY(const ByteView data, find.blob(1, ZSTD_compressBound(kMaxTensor)));
  Bytes bytes;  // grows with what is there, not with what the row claims
  ISOBIT_RETURN_IF_ERROR(decompress(data, static_cast<uint64_t>(size), hash, database.what(),
                                    [&](ByteView piece) { bytes.insert(bytes.end(), piece.begin(), piece.end()); }));
  return std::optional<Bytes>(std::move(bytes));
}

Expected<std::vector<Hash128>> LabFile::kept() {
  const Database& database = impl_->database;
  ISOBIT_TRY(Statement rows, database.prepare("SELECT hash FROM tensors ORDER BY id"));
  std::vector<Hash128> hashes;
  while (true) {
    ISOBIT_TRY(const bool row, rows.step());
    if (!row) return hashes;
    ISOBIT_TRY(const ByteView bytes, rows.blob(0, 16));
    ISOBIT_TRY(const Hash128 hash, hash_from_hex(to_hex(bytes), database.what()));
    hashes.push_back(hash);
    if (hashes.size() > kMaxValues) return unreadable(text_of(database.what(), ": too many tensors"));
  }
}

Expected<uint64_t> LabFile::Impl::add_tensors(Impl& other) {
  ISOBIT_TRY(Statement rows, other.database.prepare("SELECT hash, size, data FROM tensors ORDER BY id"));
  ISOBIT_TRY(Statement known, database.prepare("SELECT 1 FROM tensors WHERE hash = ?"));
  ISOBIT_TRY(Statement insert, database.prepare("INSERT INTO tensors (hash, size, data) VALUES (?, ?, ?)"));
  uint64_t added = 0;
  while (true) {
    ISOBIT_TRY(const bool row, rows.step());
    if (!row) return added;
    ISOBIT_TRY(const ByteView key, rows.blob(0, 16));
    ISOBIT_TRY(const bool there, known.bind(key).step());
    known.reset();
    if (there) continue;
    ISOBIT_TRY(const Hash128 hash, hash_from_hex(to_hex(key), other.database.what()));
    ISOBIT_TRY(const int64_t size, rows.integer(1, 0, kMaxTensor));
    ISOBIT_TRY(const ByteView data, rows.blob(2, ZSTD_compressBound(kMaxTensor)));
    ISOBIT_RETURN_IF_ERROR(decompress(data, static_cast<uint64_t>(size), hash, other.database.what(), [](ByteView) {}));
    ISOBIT_RETURN_IF_ERROR(insert.bind(key).bind(size).bind(data).run());
    ++added;
  }
}

}  // namespace isobit::lab::records
