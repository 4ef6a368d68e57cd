// The games of a party behind gRPC and TLS, for referees whose certificate the authority signed.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "isobit/service/event_log.h"
#include "isobit/service/games.h"
#include "isobit/service/pieces.h"
#include "isobit/service/tls.h"

namespace isobit::service {

struct ServerSettings {
  std::string listen;  // "HOST:PORT"
  Tls tls;
  size_t connections = 64;                      // at once; others wait until one ends
  std::chrono::milliseconds call_time{20'000};  // a call that waits for an answer ends then, and is to be made again
};

class PartyServer {
 public:
  // Errors: those of Acceptor::listen; kUnavailable where gRPC takes the certificate or the settings for no good.
  static Expected<std::unique_ptr<PartyServer>> start(const ServerSettings& settings, Games& games, const About& about,
                                                      EventLog& log);
  ~PartyServer();  // as stop()

  const std::string& address() const;
  size_t connections() const;
  // Lets calls go whose time is over. To be called a few times a second.
  void tick();
  // Health says "not serving"; no connection is taken any more. Calls go on: then stop the games, then this.
  void drain();
  void stop();

 private:
  struct Impl;
  explicit PartyServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace isobit::service
