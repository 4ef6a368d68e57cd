#include "isobit/lab/records/lab_vfs.h"

#include <sqlite3.h>

#include <mutex>
#include <set>
#include <string>

namespace isobit::lab::records {
namespace {

constexpr const char* kName = "isobit-lab";

// Names of the journals of databases that were opened.
class Journals {
 public:
  void add(const char* database) {
    const std::lock_guard lock(mutex_);
    names_.insert(std::string(database) + "-journal");
  }
  bool contains(const char* name) {
    const std::lock_guard lock(mutex_);
    return name != nullptr && names_.contains(name);
  }

 private:
  std::mutex mutex_;
  std::set<std::string> names_;
};

Journals& journals() {
  static Journals all;
  return all;
}

sqlite3_vfs* base(sqlite3_vfs* vfs) { return static_cast<sqlite3_vfs*>(vfs->pAppData); }

int open_file(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out) {
  constexpr int kTemporary =
      SQLITE_OPEN_TEMP_DB | SQLITE_OPEN_TEMP_JOURNAL | SQLITE_OPEN_SUBJOURNAL | SQLITE_OPEN_TRANSIENT_DB;
  file->pMethods = nullptr;  // nothing to close where it is refused
  if ((flags & SQLITE_OPEN_MAIN_DB) != 0) {
    journals().add(name);
  } else if ((flags & SQLITE_OPEN_MAIN_JOURNAL) != 0 ? !journals().contains(name) : (flags & kTemporary) == 0) {
    return SQLITE_CANTOPEN;
  }
  return base(vfs)->xOpen(base(vfs), name, file, flags, out);
}

int delete_file(sqlite3_vfs* vfs, const char* name, int sync) {
  if (!journals().contains(name)) return SQLITE_IOERR_DELETE;
  return base(vfs)->xDelete(base(vfs), name, sync);
}

// SQLite's own, which must be given itself.
int access_file(sqlite3_vfs* v, const char* name, int flags, int* out) {
  return base(v)->xAccess(base(v), name, flags, out);
}
int full_name(sqlite3_vfs* v, const char* name, int size, char* out) {
  return base(v)->xFullPathname(base(v), name, size, out);
}
int randomness(sqlite3_vfs* v, int size, char* out) { return base(v)->xRandomness(base(v), size, out); }
int sleep(sqlite3_vfs* v, int microseconds) { return base(v)->xSleep(base(v), microseconds); }
int current_time(sqlite3_vfs* v, double* out) { return base(v)->xCurrentTime(base(v), out); }
int last_error(sqlite3_vfs* v, int size, char* out) { return base(v)->xGetLastError(base(v), size, out); }

bool register_vfs() {
  sqlite3_vfs* const own = sqlite3_vfs_find(nullptr);
  if (own == nullptr) return false;
  static sqlite3_vfs vfs{};
  vfs.iVersion = 1;  // what later versions have is optional: loading code, and replacing system calls
  vfs.szOsFile = own->szOsFile;
  vfs.mxPathname = own->mxPathname;
  vfs.zName = kName;
  vfs.pAppData = own;
  vfs.xOpen = open_file;
  vfs.xDelete = delete_file;
  vfs.xAccess = access_file;
  vfs.xFullPathname = full_name;
  vfs.xRandomness = randomness;
  vfs.xSleep = sleep;
  vfs.xCurrentTime = current_time;
  vfs.xGetLastError = last_error;
  return sqlite3_vfs_register(&vfs, 0) == SQLITE_OK;
}

}  // namespace

const char* lab_vfs() {
  static const bool registered = register_vfs();
  return registered ? kName : nullptr;
}

}  // namespace isobit::lab::records
