// What must be so of a lab's files before SQLite touches them.
//
// SQLite believes what lies beside a database: it rolls back a journal, and then deletes the file that the journal
// names as its super-journal; it plays a write-ahead log into the database. Who sends a lab can send these, too. What
// is looked at here may be another file when SQLite opens it: lab_vfs.h keeps it from those that are none of the lab's.
#pragma once

#include "isobit/base/file.h"

namespace isobit::lab::records {

// kUnreadable for a lab in WAL mode, one with a write-ahead log beside it, and one whose journal names a super-journal
// or is no plain file; with what to do. `file` is the lab, open, and `path` its name.
Status check_safe(const PlainFile& file, const fs::path& path);

// kUsage where a journal or a write-ahead log of a lab of that name is there without the lab: it would be played into
// the one that is made; and where the name is that of a journal or log of a file that is there.
Status check_nothing_beside(const fs::path& path);

// kUsage where the file is a lab, or where the name is that of a journal or log of a file that is there: for whoever is
// about to write something else there.
Status check_no_lab(const fs::path& path);

}  // namespace isobit::lab::records
