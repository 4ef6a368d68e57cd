// SQLite as RAII and Expected. All SQL is a literal of ours; whatever came from elsewhere is bound.
//
// Not thread-safe. Errors: kUnreadable for what a file holds, kUnavailable for what this machine cannot (disk full, no
// permission, somebody else is writing).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "isobit/base/file.h"

struct sqlite3;
struct sqlite3_stmt;

namespace isobit::lab::records {

class Database;

class Statement {
 public:
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&&) = delete;
  ~Statement();

  // The next parameter, in the order of the question marks. Texts and bytes must live until the last step().
  Statement& bind(int64_t value);
  Statement& bind(double value);
  Statement& bind(const std::string& text);
  Statement& bind(ByteView bytes);
  Statement& bind_null();

  // Whether there is a row.
  Expected<bool> step();
  // step() of a statement that gives no rows, after which it may be bound again.
  Status run();
  void reset();

  // Columns of the row. kUnreadable where the file holds another type, or more bytes than `most`.
  Expected<int64_t> integer(int column, int64_t least, int64_t most) const;
  Expected<double> real(int column) const;
  Expected<std::string> text(int column, uint64_t most) const;
  // Valid until the next step().
  Expected<ByteView> blob(int column, uint64_t most) const;
  bool is_null(int column) const;

 private:
  friend class Database;
  Statement(sqlite3_stmt* statement, const std::string& what) : statement_(statement), what_(&what) {}
  tl::unexpected<Error> wrong(int column, const char* expected) const;

  sqlite3_stmt* statement_;
  const std::string* what_;
  int bound_ = 0;
  int failed_ = 0;  // of a bind
};

class Database {
 public:
  enum class Access { kRead, kWrite, kCreate };
  static Expected<Database> open(const fs::path& path, Access access);
  // A database that lies in memory: these bytes, or an empty one.
  static Expected<Database> in_memory(const std::optional<ByteView>& bytes, std::string what);
  Database(Database&& other) noexcept;
  Database& operator=(Database&&) = delete;
  ~Database();

  const std::string& what() const { return *what_; }  // starts every message
  Expected<Statement> prepare(const char* sql) const;
  // Statements of our own without parameters or rows.
  Status execute(const char* sql) const;
  bool writable() const;
  // Whether what was asked last failed because another process was writing.
  bool is_busy() const;

 private:
  Database(sqlite3* handle, std::string what);
  Status harden();

  sqlite3* handle_;
  std::unique_ptr<const std::string> what_;  // stays where it is: statements refer to it
};

// Rolled back when it is destroyed before commit().
class Transaction {
 public:
  static Expected<Transaction> begin(const Database& database);
  Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  Status commit();

 private:
  explicit Transaction(const Database* database) : database_(database) {}
  const Database* database_;
};

}  // namespace isobit::lab::records
