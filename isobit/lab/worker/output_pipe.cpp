#include "isobit/lab/worker/output_pipe.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "isobit/base/text.h"

namespace isobit::lab::worker {

Expected<OutputPipe> OutputPipe::make(uint64_t most) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return unavailable(text_of("no pipe: ", std::strerror(errno)));
  OutputPipe made{Descriptor(ends[0]), Descriptor(ends[1]), most};
  // Our end only: whoever writes waits until there is room.
  if (fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0) return unavailable(text_of("no pipe: ", std::strerror(errno)));
  return made;
}

void OutputPipe::drain() {
  constexpr int kMostReads = 16;
  std::array<char, 1 << 16> part;
  for (int i = 0; i < kMostReads; ++i) {
    const ssize_t n = read(read_.get(), part.data(), part.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    text_.append(part.data(), static_cast<size_t>(n));
    if (text_.size() <= most_) continue;
    lost_ = true;
    text_.erase(0, text_.size() - most_);
  }
}

}  // namespace isobit::lab::worker
