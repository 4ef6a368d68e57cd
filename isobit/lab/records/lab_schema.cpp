#include "isobit/lab/records/lab_schema.h"

#include <set>

#include "isobit/base/text.h"

namespace isobit::lab::records {
namespace {

// STRICT: a column holds its type, and quick_check says so of a stranger's file.
constexpr char kSchema[] = R"(
CREATE TABLE subjects (
  id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, kind INTEGER NOT NULL, model TEXT NOT NULL,
  model_sha256 BLOB, input_sha256 BLOB, settings TEXT NOT NULL) STRICT;
CREATE TABLE platforms (
  id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, name TEXT NOT NULL, engine TEXT NOT NULL,
  cores INTEGER NOT NULL, fields BLOB NOT NULL, cpu_flags BLOB NOT NULL) STRICT;
CREATE TABLE runs (
  id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, subject INTEGER NOT NULL REFERENCES subjects (id),
  platform INTEGER NOT NULL REFERENCES platforms (id), repeat INTEGER NOT NULL, tapped INTEGER NOT NULL,
  seconds REAL NOT NULL, error TEXT NOT NULL) STRICT;
CREATE INDEX runs_of_subject ON runs (subject, platform);
CREATE TABLE run_values (
  run INTEGER NOT NULL REFERENCES runs (id), place INTEGER NOT NULL, step INTEGER NOT NULL, name TEXT NOT NULL,
  op TEXT NOT NULL, dtype TEXT NOT NULL, dims BLOB NOT NULL, hash BLOB NOT NULL, kernel TEXT NOT NULL,
  is_output INTEGER NOT NULL, PRIMARY KEY (run, place)) STRICT, WITHOUT ROWID;
CREATE TABLE nodes (
  subject INTEGER NOT NULL REFERENCES subjects (id), place INTEGER NOT NULL, op TEXT NOT NULL, name TEXT NOT NULL,
  inputs BLOB NOT NULL, outputs BLOB NOT NULL, PRIMARY KEY (subject, place)) STRICT, WITHOUT ROWID;
CREATE TABLE tensors (
  id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, size INTEGER NOT NULL, data BLOB NOT NULL) STRICT;
)";

Expected<int64_t> pragma(const Database& database, const char* sql) {
  ISOBIT_TRY(Statement statement, database.prepare(sql));
  ISOBIT_TRY(const bool row, statement.step());
  if (!row) return unreadable(text_of(database.what(), ": no lab"));
  return statement.integer(0, INT64_MIN, INT64_MAX);
}

// Everything that a schema holds, indices that SQLite makes by itself included.
Expected<std::set<std::string>> schema_of(const Database& database) {
  ISOBIT_TRY(Statement rows, database.prepare("SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema"));
  std::set<std::string> schema;
  while (true) {
    ISOBIT_TRY(const bool row, rows.step());
    if (!row) return schema;
    std::string entry;
    for (int column = 0; column < 4; ++column) {
      ISOBIT_TRY(const std::string text, rows.text(column, 64 * 1024));
      entry += text_of(text, "\n");
    }
    schema.insert(std::move(entry));
    if (schema.size() > 100) return unreadable(text_of(database.what(), ": more tables than a lab has"));
  }
}

}  // namespace

Status make_schema(const Database& database) {
  ISOBIT_TRY(Transaction transaction, Transaction::begin(database));
  ISOBIT_RETURN_IF_ERROR(database.execute(kSchema));
  static_assert(kLabApplicationId == 1769172066 && kLabVersion == 1);
  ISOBIT_RETURN_IF_ERROR(database.execute("PRAGMA application_id = 1769172066; PRAGMA user_version = 1;"));
  return transaction.commit();
}

Status make_own_runs(const Database& database) {
  return database.execute("CREATE TABLE IF NOT EXISTS own_runs (run INTEGER PRIMARY KEY REFERENCES runs (id)) STRICT;");
}

Expected<bool> has_own_runs(const Database& database) {
  ISOBIT_TRY(Statement find,
             database.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'own_runs'"));
  return find.step();
}

Status check_schema(const Database& database) {
  ISOBIT_TRY(const int64_t id, pragma(database, "PRAGMA application_id"));
  if (id != kLabApplicationId) {
    return unreadable(text_of(database.what(), ": a database, but no lab: found application_id ", id, ", expected ",
                              kLabApplicationId));
  }
  ISOBIT_TRY(const int64_t version, pragma(database, "PRAGMA user_version"));
  if (version != kLabVersion) {
    return unreadable(text_of(database.what(), ": a lab of version ", version, ", expected ", kLabVersion,
                              version > kLabVersion ? "; a newer isobit reads it" : ""));
  }
  // lab_safety.h has looked before; a journal that was rolled back since then may have brought it.
  ISOBIT_TRY(Statement mode, database.prepare("PRAGMA journal_mode"));
  ISOBIT_TRY(const bool has_mode, mode.step());
  if (has_mode) {
    ISOBIT_TRY(const std::string name, mode.text(0, 64));
    if (name == "wal") return unreadable(text_of(database.what(), ": a database in WAL mode, and so no lab"));
  }
  ISOBIT_TRY(const Database own, Database::in_memory({}, "a new lab"));
  ISOBIT_RETURN_IF_ERROR(make_schema(own));
  ISOBIT_TRY(const bool has_own, has_own_runs(database));
  if (has_own) ISOBIT_RETURN_IF_ERROR(make_own_runs(own));
  ISOBIT_TRY(const auto expected, schema_of(own));
  ISOBIT_TRY(const auto found, schema_of(database));
  for (const std::string& entry : found) {
    if (expected.contains(entry)) continue;
    const size_t type = entry.find('\n'), name = entry.find('\n', type + 1);
    return unreadable(text_of(database.what(), ": its schema has the ", entry.substr(0, type), " '",
                              entry.substr(type + 1, name - type - 1), "', which a lab has not, or not so"));
  }
  if (found != expected) return unreadable(text_of(database.what(), ": tables of a lab are missing"));
  ISOBIT_TRY(Statement check, database.prepare("PRAGMA quick_check(1)"));
  ISOBIT_TRY(const bool row, check.step());
  if (!row) return unreadable(text_of(database.what(), ": no whole lab"));
  ISOBIT_TRY(const std::string answer, check.text(0, 64 * 1024));
  if (answer != "ok") return unreadable(text_of(database.what(), ": damaged: ", answer));
  return {};
}

}  // namespace isobit::lab::records
