#include "isobit/service/acceptor.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
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

std::string text_of_address(const sockaddr_storage& bound) {
  char host[NI_MAXHOST] = "?", port[NI_MAXSERV] = "?";
  getnameinfo(reinterpret_cast<const sockaddr*>(&bound), sizeof bound, host, sizeof host, port, sizeof port,
              NI_NUMERICHOST | NI_NUMERICSERV);
  return bound.ss_family == AF_INET6 ? text_of("[", host, "]:", port) : text_of(host, ":", port);
}

}  // namespace

// A second descriptor of each connection tells when it ends: whoever has the first shuts it down before closing it.
struct Acceptor::Impl {
  Descriptor listener, wake;
  std::string address;
  size_t most = 0;
  Take take;
  std::vector<Descriptor> taken;
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
    fd.close();
    taken.push_back(std::move(watch));
    count = taken.size();
    take(handed);
  }

  void run() {
    std::vector<pollfd> polled;
    while (!stop) {
      polled.assign(
          {{wake.get(), POLLIN, 0}, {listener.get(), static_cast<short>(taken.size() < most ? POLLIN : 0), 0}});
      for (const Descriptor& fd : taken) polled.push_back({fd.get(), POLLRDHUP, 0});
      if (::poll(polled.data(), polled.size(), -1) < 0) continue;
      for (size_t i = polled.size(); i > 2; --i) {
        if (polled[i - 1].revents != 0) taken.erase(taken.begin() + static_cast<std::ptrdiff_t>(i - 3));
      }
      count = taken.size();
      if (!stop && taken.size() < most && (polled[1].revents & POLLIN) != 0) accept_one();
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
