// Listens for connections, of which there are so many at a time at most. Those beyond it wait where the system keeps
// them until one of the others ends: nobody is turned away for coming at the same time as others. But who comes and
// says nothing gives way: whoever reaches the port could keep all others from it so.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "isobit/base/status.h"

namespace isobit::service {

class Acceptor {
 public:
  // Owns the descriptor from then on, and shuts the connection down before it closes it.
  using Take = std::function<void(int connection)>;
  // Where others wait, the oldest connection of which nobody was heard is shut down when it is as old as this.
  static constexpr auto kSilence = std::chrono::milliseconds(2000);
  // address: "HOST:PORT", "[::1]:PORT"; port 0: any that is free. kUsage for what is no such address; kUnavailable
  // where this machine cannot listen there.
  static Expected<std::unique_ptr<Acceptor>> listen(const std::string& address, size_t most, Take take);
  ~Acceptor();  // takes no more; what was taken goes on

  const std::string& address() const;  // with the port that it is
  size_t connections() const;          // now
  // The connection from this address has called. peer: as gRPC has it, "ipv4:127.0.0.1:7420".
  void heard(const std::string& peer);

 private:
  struct Impl;
  explicit Acceptor(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace isobit::service
