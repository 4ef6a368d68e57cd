// Who one is on a network, and whom one believes: certificates in PEM files.
#pragma once

#include <string>

#include "isobit/base/file.h"

namespace isobit::service {

struct Tls {
  std::string certificate;  // with those between it and its authority, if there are any
  std::string key;
  std::string authority;  // whose certificates are believed, of those who call or are called; one or several
};

// kUnreadable, naming the file, where one holds no such thing, the key is not the certificate's, or its time is over or
// has not begun. Whom the authority certified is for each handshake.
Expected<Tls> read_tls(const fs::path& certificate, const fs::path& key, const fs::path& authority);

}  // namespace isobit::service
