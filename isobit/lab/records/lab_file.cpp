#include "isobit/lab/records/lab_file.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "isobit/base/durable_file.h"
#include "isobit/base/text.h"
#include "isobit/lab/records/encoding.h"
#include "isobit/lab/records/lab_file_internal.h"
#include "isobit/lab/records/lab_safety.h"
#include "isobit/lab/records/lab_schema.h"

namespace isobit::lab::records {
namespace {

constexpr int64_t kMostRows = INT64_MAX;

Statement& bind(Statement& statement, const std::optional<commit::Digest>& digest) {
  return digest ? statement.bind(ByteView(*digest)) : statement.bind_null();
}

Expected<commit::Digest> digest_column(const Statement& row, int column) {
  ISOBIT_TRY(const ByteView bytes, row.blob(column, 32));
  commit::Digest digest{};
  if (bytes.size() != digest.size()) return unreadable("lab: a digest of other than 32 bytes");
  std::ranges::copy(bytes, digest.begin());
  return digest;
}

// A row is found by its digest, so that one which is not its own would hide it.
template <class Record>
Status check_digest(const Statement& row, int column, const Record& record, const std::string& what, const char* name) {
  ISOBIT_TRY(const commit::Digest digest, digest_column(row, column));
  if (digest == digest_of(record)) return {};
  return unreadable(text_of(what, ": the digest of a ", name, " is not that of what it holds; the lab is damaged"));
}

Expected<std::optional<commit::Digest>> optional_digest(const Statement& row, int column) {
  if (row.is_null(column)) return std::optional<commit::Digest>();
  return digest_column(row, column).map([](const commit::Digest& d) { return std::optional(d); });
}

Expected<Hash128> hash_column(const Statement& row, int column, const std::string& what) {
  ISOBIT_TRY(const ByteView bytes, row.blob(column, 16));
  return hash_from_hex(to_hex(bytes), what);
}

// The id that `find` gives for the digest, or that of the row that `insert` makes.
Expected<std::optional<int64_t>> find(const Database& database, const char* sql, const commit::Digest& digest) {
  ISOBIT_TRY(Statement statement, database.prepare(sql));
  ISOBIT_TRY(const bool row, statement.bind(ByteView(digest)).step());
  if (!row) return std::optional<int64_t>();
  return statement.integer(0, INT64_MIN, kMostRows).map([](int64_t id) { return std::optional(id); });
}

constexpr char kSubjectColumns[] =
    "SELECT kind, model, model_sha256, input_sha256, settings, digest FROM subjects ORDER BY id";
constexpr char kPlatformColumns[] = "SELECT name, engine, cores, fields, cpu_flags, digest FROM platforms WHERE id = ?";

}  // namespace

LabFile::LabFile(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LabFile::LabFile(LabFile&&) noexcept = default;
LabFile& LabFile::operator=(LabFile&&) noexcept = default;
LabFile::~LabFile() = default;

Status LabFile::make(const fs::path& path, const std::function<Status(LabFile&)>& fill) {
  ISOBIT_RETURN_IF_ERROR(check_writable_name(path, false));
  ISOBIT_RETURN_IF_ERROR(check_nothing_beside(path));
  ISOBIT_TRY(const std::string random, random_name());
  fs::path temporary = path;
  temporary += text_of(".", random, ".tmp");
  Status made = [&]() -> Status {
    ISOBIT_TRY(Database database, Database::open(temporary, Database::Access::kCreate));
    ISOBIT_RETURN_IF_ERROR(make_schema(database));
    LabFile lab(std::make_unique<Impl>(std::move(database)));
    return fill(lab);
  }();
  if (made) made = rename_durably(temporary, path);
  std::error_code ignored;
  fs::remove(temporary, ignored);
  temporary += "-journal";  // of one that could not be closed in order
  fs::remove(temporary, ignored);
  return made;
}

Expected<LabFile> LabFile::create(const fs::path& path) {
  ISOBIT_RETURN_IF_ERROR(make(path, [](LabFile&) -> Status { return {}; }));
  return open(path, Mode::kWrite);
}

Expected<LabFile> LabFile::open_or_create(const fs::path& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) {
    auto made = create(path);
    // Somebody else may have been faster.
    if (made || made.error().code != ErrorCode::kUsage || !fs::exists(path, ignored)) return made;
  }
  return open(path, Mode::kWrite);
}

Expected<LabFile> LabFile::open(const fs::path& path, Mode mode) {
  ISOBIT_TRY(const PlainFile file, PlainFile::open(path, Links::kFollow));
  if (file.size() > kMaxLab) {
    return unreadable(text_of(path.string(), ": has ", file.size(), " bytes, expected a lab of at most ", kMaxLab));
  }
  ISOBIT_RETURN_IF_ERROR(check_safe(file, path));
  const bool write = mode == Mode::kWrite;
  Expected<Database> opened = Database::open(path, write ? Database::Access::kWrite : Database::Access::kRead);
  if (!opened) return tl::unexpected<Error>(opened.error());
  Status whole = check_schema(*opened);
  if (!whole && !write && whole.error().code == ErrorCode::kUnavailable && !opened->is_busy()) {
    // A process was killed while it wrote: the journal must be rolled back, for which the file is opened to be written.
    // The journal names no other file (check_safe), so that nothing but the lab is changed.
    ISOBIT_RETURN_IF_ERROR(check_safe(file, path));
    ISOBIT_TRY(const Database recovered, Database::open(path, Database::Access::kWrite));
    whole = check_schema(recovered);
  }
  if (!whole) return tl::unexpected<Error>(whole.error());
  auto impl = std::make_unique<Impl>(*std::move(opened));
  if (write) ISOBIT_RETURN_IF_ERROR(impl->check_writable());
  return LabFile(std::move(impl));
}

Expected<LabFile> LabFile::in_memory(const std::string& what) {
  ISOBIT_TRY(Database database, Database::in_memory({}, what));
  ISOBIT_RETURN_IF_ERROR(make_schema(database));
  return LabFile(std::make_unique<Impl>(std::move(database)));
}

Expected<LabFile> LabFile::from_bytes(ByteView bytes, const std::string& what) {
  ISOBIT_TRY(Database database, Database::in_memory(bytes, what));
  ISOBIT_RETURN_IF_ERROR(check_schema(database));
  return LabFile(std::make_unique<Impl>(std::move(database)));
}

Status LabFile::Impl::check_writable() const {
  if (database.writable()) return {};
  return unavailable(text_of(database.what(), ": it cannot be written; check its permissions"));
}

Expected<std::optional<int64_t>> LabFile::Impl::find_subject(const commit::Digest& digest) {
  return find(database, "SELECT id FROM subjects WHERE digest = ?", digest);
}

Expected<int64_t> LabFile::Impl::row_of(const Subject& subject) {
  const commit::Digest digest = digest_of(subject);
  ISOBIT_TRY(const auto known, find_subject(digest));
  if (known) return *known;
  ISOBIT_TRY(Statement insert,
             database.prepare("INSERT INTO subjects (digest, kind, model, model_sha256, input_sha256, "
                              "settings) VALUES (?, ?, ?, ?, ?, ?)"));
  insert.bind(ByteView(digest)).bind(static_cast<int64_t>(subject.kind)).bind(subject.model);
  bind(bind(insert, subject.model_sha256), subject.input_sha256).bind(subject.settings);
  ISOBIT_RETURN_IF_ERROR(insert.run());
  ISOBIT_TRY(const auto made, find_subject(digest));
  ISOBIT_CHECK(made.has_value());
  return *made;
}

Expected<int64_t> LabFile::Impl::row_of(const SharedPlatform& shared) {
  constexpr char kFind[] = "SELECT id FROM platforms WHERE digest = ?";
  const PlatformRecord& platform = *shared;
  const commit::Digest& digest = shared.digest();
  ISOBIT_TRY(const auto known, find(database, kFind, digest));
  if (known) return *known;
  ISOBIT_TRY(Statement insert,
             database.prepare("INSERT INTO platforms (digest, name, engine, cores, fields, cpu_flags) "
                              "VALUES (?, ?, ?, ?, ?, ?)"));
  const Bytes fields = encode(platform.fields), flags = encode(platform.cpu_flags);
  insert.bind(ByteView(digest)).bind(platform.name).bind(platform.engine).bind(platform.cores);
  ISOBIT_RETURN_IF_ERROR(insert.bind(ByteView(fields)).bind(ByteView(flags)).run());
  ISOBIT_TRY(const auto made, find(database, kFind, digest));
  ISOBIT_CHECK(made.has_value());
  return *made;
}

Expected<bool> LabFile::Impl::insert(const RunRecord& run) {
  constexpr char kFind[] = "SELECT id FROM runs WHERE digest = ?";
  const commit::Digest digest = digest_of(run);
  ISOBIT_TRY(const auto known, find(database, kFind, digest));
  if (known) return false;
  ISOBIT_TRY(const int64_t subject, row_of(run.subject));
  ISOBIT_TRY(const int64_t platform, row_of(run.platform));
  ISOBIT_TRY(Statement head, database.prepare("INSERT INTO runs (digest, subject, platform, repeat, tapped, seconds, "
                                              "error) VALUES (?, ?, ?, ?, ?, ?, ?)"));
  head.bind(ByteView(digest)).bind(subject).bind(platform).bind(static_cast<int64_t>(run.repeat));
  ISOBIT_RETURN_IF_ERROR(head.bind(static_cast<int64_t>(run.tapped)).bind(run.seconds).bind(run.error).run());
  ISOBIT_TRY(const auto row, find(database, kFind, digest));
  ISOBIT_CHECK(row.has_value());
  ISOBIT_TRY(Statement each, database.prepare("INSERT INTO run_values (run, place, step, name, op, dtype, dims, hash, "
                                              "kernel, is_output) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
  int64_t place = 0;
  for (const ValueRecord& v : run.values) {
    ISOBIT_TRY(const Bytes hash, from_hex(hex_of(v.hash)));
    const Bytes dims = encode(v.dims);
    each.bind(*row).bind(place++).bind(v.step).bind(v.name).bind(v.op).bind(v.dtype).bind(ByteView(dims));
    ISOBIT_RETURN_IF_ERROR(each.bind(ByteView(hash)).bind(v.kernel).bind(static_cast<int64_t>(v.is_output)).run());
  }
  return true;
}

Status LabFile::add_run(const RunRecord& run, Whose whose) {
  ISOBIT_RETURN_IF_ERROR(check(run));
  ISOBIT_TRY(Transaction transaction, Transaction::begin(impl_->database));
  ISOBIT_RETURN_IF_ERROR(impl_->insert(run).map([](bool) {}));
  if (whose == Whose::kOwn) {
    ISOBIT_RETURN_IF_ERROR(make_own_runs(impl_->database));
    ISOBIT_TRY(Statement mark,
               impl_->database.prepare("INSERT OR IGNORE INTO own_runs (run) SELECT id FROM runs WHERE digest = ?"));
    const commit::Digest digest = digest_of(run);
    ISOBIT_RETURN_IF_ERROR(mark.bind(ByteView(digest)).run());
  }
  return transaction.commit();
}

Expected<std::set<commit::Digest>> LabFile::own_runs() {
  std::set<commit::Digest> own;
  ISOBIT_TRY(const bool any, has_own_runs(impl_->database));
  if (!any) return own;
  ISOBIT_TRY(Statement rows,
             impl_->database.prepare("SELECT digest FROM own_runs JOIN runs ON runs.id = own_runs.run"));
  while (true) {
    ISOBIT_TRY(const bool row, rows.step());
    if (!row) return own;
    ISOBIT_TRY(const commit::Digest digest, digest_column(rows, 0));
    own.insert(digest);
  }
}

Expected<std::vector<Subject>> LabFile::subjects() {
  ISOBIT_TRY(Statement rows, impl_->database.prepare(kSubjectColumns));
  std::vector<Subject> subjects;
  while (true) {
    ISOBIT_TRY(const bool row, rows.step());
    if (!row) return subjects;
    Subject s;
    ISOBIT_TRY(const int64_t kind, rows.integer(0, 1, 4));
    s.kind = static_cast<SubjectKind>(kind);
    ISOBIT_TRY(s.model, rows.text(1, kMaxText));
    ISOBIT_TRY(s.model_sha256, optional_digest(rows, 2));
    ISOBIT_TRY(s.input_sha256, optional_digest(rows, 3));
    ISOBIT_TRY(s.settings, rows.text(4, kMaxText));
    ISOBIT_RETURN_IF_ERROR(check_digest(rows, 5, s, impl_->database.what(), "subject"));
    subjects.push_back(std::move(s));
    if (subjects.size() > kMaxRuns) return unreadable(text_of(impl_->database.what(), ": too many subjects"));
  }
}

Expected<PlatformRecord> LabFile::Impl::platform(int64_t id) {
  ISOBIT_TRY(Statement row, database.prepare(kPlatformColumns));
  ISOBIT_TRY(const bool found, row.bind(id).step());
  if (!found) return unreadable(text_of(database.what(), ": a run of a platform that is not there"));
  PlatformRecord p;
  ISOBIT_TRY(p.name, row.text(0, kMaxText));
  ISOBIT_TRY(p.engine, row.text(1, kMaxText));
  ISOBIT_TRY(p.cores, row.integer(2, 0, INT64_MAX));
  ISOBIT_TRY(const ByteView fields, row.blob(3, kMaxColumn));
  ISOBIT_TRY(p.fields, decode_fields(fields, text_of(database.what(), ": fields of a platform")));
  ISOBIT_TRY(const ByteView flags, row.blob(4, kMaxColumn));
  ISOBIT_TRY(p.cpu_flags, decode_texts(flags, text_of(database.what(), ": CPU flags of a platform")));
  ISOBIT_RETURN_IF_ERROR(check_digest(row, 5, p, database.what(), "platform"));
  return p;
}

Expected<std::vector<PlatformRecord>> LabFile::platforms() {
  ISOBIT_TRY(Statement rows, impl_->database.prepare("SELECT id FROM platforms ORDER BY id"));
  std::vector<PlatformRecord> platforms;
  while (true) {
    ISOBIT_TRY(const bool row, rows.step());
    if (!row) return platforms;
    ISOBIT_TRY(const int64_t id, rows.integer(0, INT64_MIN, kMostRows));
    ISOBIT_TRY(PlatformRecord p, impl_->platform(id));
    platforms.push_back(std::move(p));
    if (platforms.size() > kMaxRuns) return unreadable(text_of(impl_->database.what(), ": too many platforms"));
  }
}

Expected<std::vector<ValueRecord>> LabFile::Impl::values_of(int64_t run, uint64_t& left) {
  ISOBIT_TRY(Statement rows, database.prepare("SELECT step, name, op, dtype, dims, hash, kernel, is_output "
                                              "FROM run_values WHERE run = ? ORDER BY place"));
  rows.bind(run);
  std::vector<ValueRecord> values;
  while (true) {
    ISOBIT_TRY(const bool row, rows.step());
    if (!row) return values;
    if (left-- == 0) {
      return unreadable(text_of(database.what(), ": more than ", kMaxValues, " values; compare fewer runs at a time"));
    }
    ValueRecord v;
    ISOBIT_TRY(v.step, rows.integer(0, 0, INT64_MAX));
    ISOBIT_TRY(v.name, rows.text(1, kMaxText));
    ISOBIT_TRY(v.op, rows.text(2, kMaxText));
    ISOBIT_TRY(v.dtype, rows.text(3, kMaxText));
    ISOBIT_TRY(const ByteView dims, rows.blob(4, kMaxColumn));
    ISOBIT_TRY(v.dims, decode_dims(dims, text_of(database.what(), ": dimensions of a value")));
    ISOBIT_TRY(v.hash, hash_column(rows, 5, database.what()));
    ISOBIT_TRY(v.kernel, rows.text(6, kMaxText));
    ISOBIT_TRY(const int64_t output, rows.integer(7, 0, 1));
    v.is_output = output == 1;
    values.push_back(std::move(v));
  }
}

Expected<std::vector<RunRecord>> LabFile::runs(const Subject& subject, uint64_t most_memory) {
  std::vector<RunRecord> runs;
  ISOBIT_TRY(const auto subject_row, impl_->find_subject(digest_of(subject)));
  if (!subject_row) return runs;
  ISOBIT_TRY(Statement rows,
             impl_->database.prepare("SELECT id, platform, repeat, tapped, seconds, error, digest FROM runs "
                                     "WHERE subject = ? ORDER BY id"));
  rows.bind(*subject_row);
  std::map<int64_t, SharedPlatform> platforms;  // by row
  uint64_t left = kMaxValues, memory = 0;
  while (true) {
    ISOBIT_TRY(const bool row, rows.step());
    if (!row) return runs;
    RunRecord run{.subject = subject, .platform = {}, .error = {}, .values = {}};
    ISOBIT_TRY(const int64_t id, rows.integer(0, INT64_MIN, kMostRows));
    ISOBIT_TRY(const int64_t platform, rows.integer(1, INT64_MIN, kMostRows));
    auto known = platforms.find(platform);
    if (known == platforms.end()) {
      ISOBIT_TRY(PlatformRecord record, impl_->platform(platform));
      memory += memory_of(record);
      known = platforms.emplace(platform, std::move(record)).first;
    }
    run.platform = known->second;
    memory += memory_of(subject);
    if (memory > most_memory) {
      return unreadable(text_of(impl_->database.what(),
                                ": what its runs say of platforms and of their subject takes more than ",
                                human_bytes(most_memory), "; compare fewer runs at a time"));
    }
    ISOBIT_TRY(const int64_t repeat, rows.integer(2, 0, UINT32_MAX));
    run.repeat = static_cast<uint32_t>(repeat);
    ISOBIT_TRY(const int64_t tapped, rows.integer(3, 0, 1));
    run.tapped = tapped == 1;
    if (subject.kind == SubjectKind::kDumps && !run.tapped) {
      return unreadable(text_of(impl_->database.what(), ": a run of dumps that is not tapped, which no import writes"));
    }
    ISOBIT_TRY(run.seconds, rows.real(4));
    ISOBIT_TRY(run.error, rows.text(5, kMaxText));
    ISOBIT_TRY(run.values, impl_->values_of(id, left));
    ISOBIT_RETURN_IF_ERROR(check_digest(rows, 6, run, impl_->database.what(), "run"));
    runs.push_back(std::move(run));
    if (runs.size() > kMaxRuns) return unreadable(text_of(impl_->database.what(), ": too many runs"));
  }
}

}  // namespace isobit::lab::records
