#include "isobit/lab/records/database.h"

#include <sqlite3.h>

#include <cstring>
#include <memory>
#include <utility>

#include "isobit/base/text.h"
#include "isobit/lab/records/lab_vfs.h"

namespace isobit::lab::records {
namespace {

constexpr int kBusyMilliseconds = 30'000;

tl::unexpected<Error> failure(const std::string& what, int code, const std::string& detail) {
  switch (code & 0xff) {
    case SQLITE_FULL:
      return unavailable(text_of(what, ": the disk is full; free some space and try again"));
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return unavailable(text_of(what, ": another process is writing it; try again when that has ended"));
    case SQLITE_READONLY:
      if (code == SQLITE_READONLY_DBMOVED) {
        return unavailable(text_of(what,
                                   ": the file was moved, replaced or removed while it was in use; what was "
                                   "written before is in that file: leave it where it is, and try again"));
      }
      [[fallthrough]];
    case SQLITE_PERM:
      return unavailable(text_of(what, ": it cannot be written (", detail, "); check its permissions"));
    case SQLITE_IOERR:
      return unavailable(
          text_of(what, ": ", detail, "; check the disk, and limits of the size of files (ulimit -f), and try again"));
    case SQLITE_CANTOPEN:
    case SQLITE_NOMEM:
    case SQLITE_NOLFS:
      return unavailable(text_of(what, ": ", detail));
    default:
      return unreadable(text_of(what, ": no whole lab: ", detail));
  }
}

tl::unexpected<Error> failure(const std::string& what, sqlite3* handle) {
  return failure(what, sqlite3_extended_errcode(handle), sqlite3_errmsg(handle));
}

}  // namespace

Statement::Statement(Statement&& other) noexcept
    : statement_(std::exchange(other.statement_, nullptr)),
      what_(other.what_),
      bound_(other.bound_),
      failed_(other.failed_) {}

Statement::~Statement() { sqlite3_finalize(statement_); }

Statement& Statement::bind(int64_t value) {
  failed_ |= sqlite3_bind_int64(statement_, ++bound_, value);
  return *this;
}

Statement& Statement::bind(double value) {
  failed_ |= sqlite3_bind_double(statement_, ++bound_, value);
  return *this;
}

Statement& Statement::bind(const std::string& text) {
  failed_ |= sqlite3_bind_text64(statement_, ++bound_, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8);
  return *this;
}

Statement& Statement::bind(ByteView bytes) {
  // A null pointer would be bound as NULL.
  const void* data = bytes.empty() ? static_cast<const void*>("") : bytes.data();
  failed_ |= sqlite3_bind_blob64(statement_, ++bound_, data, bytes.size(), SQLITE_STATIC);
  return *this;
}

Statement& Statement::bind_null() {
  failed_ |= sqlite3_bind_null(statement_, ++bound_);
  return *this;
}

Expected<bool> Statement::step() {
  if (failed_ != 0) return unavailable(text_of(*what_, ": a value is too large for the lab"));
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return failure(*what_, sqlite3_db_handle(statement_));
}

Status Statement::run() {
  const Expected<bool> row = step();
  reset();
  if (!row) return tl::unexpected<Error>(row.error());
  return {};
}

void Statement::reset() {
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
  bound_ = 0;
  failed_ = 0;
}

tl::unexpected<Error> Statement::wrong(int column, const char* expected) const {
  return unreadable(
      text_of(*what_, ": column '", sqlite3_column_name(statement_, column), "' does not hold ", expected));
}

Expected<int64_t> Statement::integer(int column, int64_t least, int64_t most) const {
  if (sqlite3_column_type(statement_, column) != SQLITE_INTEGER) return wrong(column, "an integer");
  const int64_t value = sqlite3_column_int64(statement_, column);
  if (value < least || value > most) {
    return wrong(column, text_of("an integer from ", least, " to ", most, ": found ", value).c_str());
  }
  return value;
}

Expected<double> Statement::real(int column) const {
  if (sqlite3_column_type(statement_, column) != SQLITE_FLOAT) return wrong(column, "a number");
  return sqlite3_column_double(statement_, column);
}

Expected<std::string> Statement::text(int column, uint64_t most) const {
  if (sqlite3_column_type(statement_, column) != SQLITE_TEXT) return wrong(column, "a text");
  const auto* data = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  const auto size = static_cast<uint64_t>(sqlite3_column_bytes(statement_, column));
  if (size > most) return wrong(column, text_of("a text of at most ", most, " bytes: found ", size).c_str());
  return size == 0 ? std::string() : std::string(data, size);
}

Expected<ByteView> Statement::blob(int column, uint64_t most) const {
  if (sqlite3_column_type(statement_, column) != SQLITE_BLOB) return wrong(column, "bytes");
  const auto* data = static_cast<const uint8_t*>(sqlite3_column_blob(statement_, column));
  const auto size = static_cast<uint64_t>(sqlite3_column_bytes(statement_, column));
  if (size > most) return wrong(column, text_of("at most ", most, " bytes: found ", size).c_str());
  return ByteView(data, size);
}

bool Statement::is_null(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }

Database::Database(sqlite3* handle, std::string what)
    : handle_(handle), what_(std::make_unique<const std::string>(std::move(what))) {}

Database::Database(Database&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)), what_(std::move(other.what_)) {}

Database::~Database() { sqlite3_close_v2(handle_); }

Expected<Database> Database::open(const fs::path& path, Access access) {
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error);
  if (error) return unavailable(text_of(path.string(), ": ", error.message()));
  int flags = SQLITE_OPEN_READONLY;
  if (access == Access::kWrite) flags = SQLITE_OPEN_READWRITE;
  if (access == Access::kCreate) flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  const char* const vfs = lab_vfs();
  if (vfs == nullptr) return unavailable(text_of(path.string(), ": this SQLite cannot be kept from other files"));
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(absolute.c_str(), &handle, flags | SQLITE_OPEN_PRIVATECACHE, vfs);
  Database database(handle, path.string());
  if (code != SQLITE_OK) return failure(database.what(), code, sqlite3_errstr(code));
  ISOBIT_RETURN_IF_ERROR(database.harden());
  return database;
}

Expected<Database> Database::in_memory(const std::optional<ByteView>& bytes, std::string what) {
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(":memory:", &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY, nullptr);
  Database database(handle, std::move(what));
  if (code != SQLITE_OK) return failure(database.what(), code, sqlite3_errstr(code));
  if (bytes) {
    const auto size = static_cast<int64_t>(bytes->size());
    auto* copy = static_cast<uint8_t*>(sqlite3_malloc64(bytes->size() + 1));
    if (copy == nullptr) return unavailable(text_of(database.what(), ": out of memory"));
    if (size > 0) std::memcpy(copy, bytes->data(), bytes->size());
    constexpr unsigned kFlags = SQLITE_DESERIALIZE_READONLY | SQLITE_DESERIALIZE_FREEONCLOSE;
    const int done = sqlite3_deserialize(handle, "main", copy, size, size, kFlags);  // frees the copy if it fails
    if (done != SQLITE_OK) return failure(database.what(), done, sqlite3_errstr(done));
  }
  ISOBIT_RETURN_IF_ERROR(database.harden());
  return database;
}

// A stranger's file runs nothing: no triggers, no views, no functions in its schema, no extensions, no writes to
// SQLite's own tables; and no memory map, behind which a file that shrinks would be a crash.
Status Database::harden() {
  sqlite3_extended_result_codes(handle_, 1);
  sqlite3_busy_timeout(handle_, kBusyMilliseconds);
  int failed = 0;
  const std::pair<int, int> settings[] = {{SQLITE_DBCONFIG_DEFENSIVE, 1},
                                          {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
                                          {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
                                          {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
                                          {SQLITE_DBCONFIG_DQS_DDL, 0},
                                          {SQLITE_DBCONFIG_DQS_DML, 0},
                                          {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0}};
  for (const auto& [setting, on] : settings) failed |= sqlite3_db_config(handle_, setting, on, nullptr);
  if (failed != 0) return unavailable(text_of(what(), ": this SQLite cannot be made defensive"));
  sqlite3_limit(handle_, SQLITE_LIMIT_SQL_LENGTH, 64 * 1024);
  sqlite3_limit(handle_, SQLITE_LIMIT_ATTACHED, 0);
  return execute("PRAGMA mmap_size = 0; PRAGMA cell_size_check = ON; PRAGMA foreign_keys = ON;");
}

Expected<Statement> Database::prepare(const char* sql) const {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(handle_, sql, -1, &statement, nullptr) != SQLITE_OK) return failure(what(), handle_);
  return Statement(statement, *what_);
}

Status Database::execute(const char* sql) const {
  if (sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) return failure(what(), handle_);
  return {};
}

bool Database::writable() const { return sqlite3_db_readonly(handle_, "main") == 0; }

bool Database::is_busy() const { return (sqlite3_errcode(handle_) & 0xff) == SQLITE_BUSY; }

Expected<Transaction> Transaction::begin(const Database& database) {
  ISOBIT_RETURN_IF_ERROR(database.execute("BEGIN IMMEDIATE"));
  return Transaction(&database);
}

Transaction::~Transaction() {
  if (database_ != nullptr) static_cast<void>(database_->execute("ROLLBACK"));
}

Status Transaction::commit() {
  ISOBIT_RETURN_IF_ERROR(database_->execute("COMMIT"));
  database_ = nullptr;
  return {};
}

}  // namespace isobit::lab::records
