// How SQLite reaches the files of labs: a lab and its journal, and no other file.
//
// SQLite believes what a journal names as its super-journal: it opens that file and then deletes it. lab_safety.h looks
// at a journal before SQLite does; whoever exchanges it in between finds that nothing else can be opened or deleted.
//
// Thread-safe.
#pragma once

namespace isobit::lab::records {

// The name of a VFS for sqlite3_open_v2, which is SQLite's own but for this: no file is opened but databases that are
// named to SQLite, their rollback journals and temporary files, and none deleted but those journals. Super-journals and
// write-ahead logs are neither. Null where SQLite cannot have it (out of memory).
const char* lab_vfs();

}  // namespace isobit::lab::records
