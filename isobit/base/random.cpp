#include "isobit/base/random.h"

#include <sys/random.h>

#include <cerrno>
#include <cstring>

#include "isobit/base/text.h"

namespace isobit {

Status fill_random(std::span<uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::getrandom(bytes.data(), bytes.size(), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return unavailable(text_of("the operating system gives no random bytes: ", std::strerror(errno)));
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
  return {};
}

}  // namespace isobit
