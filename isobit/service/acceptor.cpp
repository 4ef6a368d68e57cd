#include "isobit/service/acceptor.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "isobit/base/file.h"
#include "isobit/base/machine_cannot.h"
#include "isobit/base/text.h"

namespace isobit::service {
namespace {

constexpr int kBacklog = 1024;  // the system may allow fewer

struct HostPort {
  std::string host, port;
};

Expected<HostPort> split(const std::string& address) {
  const size_t colon = address.rfind(':');
  const auto wrong = [&] {
    return usage_error(text_of("--listen ", address, ": expected HOST:PORT, like 127.0.0.1:7420 or [::1]:7420"));
  };
  if (colon == std::string::npos || colon == 0 || colon + 1 == address.size()) return wrong();
  HostPort out{address.substr(0, colon), address.substr(colon + 1)};
  const bool in_brackets = out.host.size() > 2 && out.host.front() == '[' && out.host.back() == ']';
  if (in_brackets) out.host = out.host.substr(1, out.host.size() - 2);
  if (!in_brackets && out.host.find(':') != std::string::npos) return wrong();
  if (out.port.find_first_not_of("0123456789") != std::string::npos) return wrong();
  return out;
}

// Of a connection's other end, as gRPC writes it (grpc_sockaddr_to_uri).
std::string peer_of(int fd) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  char host[NI_MAXHOST] = "", port[NI_MAXSERV] = "";
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0 ||
      getnameinfo(reinterpret_cast<const sockaddr*>(&address), length, host, sizeof host, port, sizeof port,
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return "";
  }
  constexpr std::string_view kMapped = "::ffff:";
  std::string_view name = host;
  const bool mapped = name.starts_with(kMapped) && name.find('.') != name.npos;
  if (mapped) name.remove_prefix(kMapped.size());
  const bool is_four = mapped || address.ss_family == AF_INET;
  return is_four ? text_of("ipv4:", name, ":", port) : text_of("ipv6:%5B", name, "%5D:", port);
}

std::string text_of_address(const sockaddr_storage& bound) {
  char host[NI_MAXHOST] = "?", port[NI_MAXSERV] = "?";
  getnameinfo(reinterpret_cast<const sockaddr*>(&bound), sizeof bound, host, sizeof host, port, sizeof port,
              NI_NUMERICHOST | NI_NUMERICSERV);
  return bound.ss_family == AF_INET6 ? text_of("[", host, "]:", port) : text_of(host, ":", port);
}

}  // namespace

// A second descriptor of each connection tells when it ends: whoever has the first shuts it down before closing it.
// Only the thread changes what is taken; who is heard is marked by others.
struct Acceptor::Impl {
  Descriptor listener, wake;
  std::string address;
  size_t most = 0;
  Take take;
  struct Taken {
    Descriptor fd;
    std::string peer;
    std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now();
    bool heard = false;
  };
  std::mutex mutex;
  std::vector<Taken> taken;  // as they came
  std::atomic<size_t> count{0};
  std::atomic<bool> stop{false};
  std::thread thread;

  void accept_one() {
    Descriptor fd(::accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!fd) {
      // Out of descriptors or memory: the connection stays where it is, and others end meanwhile.
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) ::usleep(100'000);
      return;
    }
    Descriptor watch(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0));
    if (!watch) return;
    const int one = 1;
    ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    const int handed = ::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0);
    if (handed < 0) return;
    std::string peer = peer_of(handed);
    fd.close();
    {
      const std::scoped_lock lock(mutex);
      taken.push_back({std::move(watch), std::move(peer)});
      count = taken.size();
    }
    take(handed);
  }

  std::vector<Taken>::iterator oldest_silent() {
    return std::ranges::find_if(taken, [](const Taken& t) { return !t.heard; });
  }

  // Whether one more may come, now or in how many milliseconds; -1: when one of the others ends.
  int room_in() {
    const std::scoped_lock lock(mutex);
    if (taken.size() < most) return 0;
    const auto oldest = oldest_silent();
    if (oldest == taken.end()) return -1;
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(oldest->since + kSilence - std::chrono::steady_clock::now());
    return static_cast<int>(std::max<int64_t>(0, left.count()));
  }

  // That one comes makes room: whoever has the connection finds out that it is over.
  void make_room() {
    const std::scoped_lock lock(mutex);
    if (taken.size() < most) return;
    const auto oldest = oldest_silent();
    if (oldest == taken.end()) return;
    ::shutdown(oldest->fd.get(), SHUT_RDWR);
    taken.erase(oldest);
  }

  void run() {
    std::vector<pollfd> polled;
    while (!stop) {
      const int wait = room_in();
      polled.assign({{wake.get(), POLLIN, 0}, {listener.get(), static_cast<short>(wait == 0 ? POLLIN : 0), 0}});
      for (const Taken& t : taken) polled.push_back({t.fd.get(), POLLRDHUP, 0});
      if (::poll(polled.data(), polled.size(), wait == 0 ? -1 : wait) < 0) continue;
      {
        const std::scoped_lock lock(mutex);
        for (size_t i = polled.size(); i > 2; --i) {
          if (polled[i - 1].revents != 0) taken.erase(taken.begin() + static_cast<std::ptrdiff_t>(i - 3));
        }
        count = taken.size();
      }
      if (stop || (polled[1].revents & POLLIN) == 0) continue;
      make_room();
      if (taken.size() < most) accept_one();
    }
  }
};

Acceptor::Acceptor(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Acceptor::~Acceptor() {
  impl_->stop = true;
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(impl_->wake.get(), &one, sizeof one);
  impl_->thread.join();
}

const std::string& Acceptor::address() const { return impl_->address; }
size_t Acceptor::connections() const { return impl_->count; }

void Acceptor::heard(const std::string& peer) {
  const std::scoped_lock lock(impl_->mutex);
  for (Impl::Taken& t : impl_->taken) t.heard |= t.peer == peer;
}

Expected<std::unique_ptr<Acceptor>> Acceptor::listen(const std::string& address, size_t most, Take take) {
  ISOBIT_TRY(const HostPort at, split(address));
  const auto cannot = [&](const char* why) { return unavailable(text_of("cannot listen on ", address, ": ", why)); };
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(at.host.c_str(), at.port.c_str(), &hints, &found); error != 0) {
    return cannot(gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(found, freeaddrinfo);
  auto impl = std::make_unique<Impl>();
  impl->listener =
      Descriptor(::socket(found->ai_family, found->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, found->ai_protocol));
  impl->wake = Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!impl->listener || !impl->wake) return cannot(std::strerror(errno));
  const int one = 1;
  ::setsockopt(impl->listener.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (::bind(impl->listener.get(), found->ai_addr, found->ai_addrlen) != 0 ||
      ::listen(impl->listener.get(), kBacklog) != 0) {
    return cannot(std::strerror(errno));
  }
  sockaddr_storage bound{};
  socklen_t length = sizeof bound;
  if (::getsockname(impl->listener.get(), reinterpret_cast<sockaddr*>(&bound), &length) != 0) {
    return cannot(std::strerror(errno));
  }
  impl->address = text_of_address(bound);
  impl->most = most;
  impl->take = std::move(take);
  try {
    impl->thread = std::thread([at_impl = impl.get()] { at_impl->run(); });
  } catch (const std::system_error&) {
    throw MachineCannot("the system starts no thread to accept connections");
  }
  return std::unique_ptr<Acceptor>(new Acceptor(std::move(impl)));
}

}  // namespace isobit::service
