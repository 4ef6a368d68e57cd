// Calls a party on another machine. One call at a time, on a thread of its own, so that a party that does not answer
// holds up nobody.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "isobit/base/bytes.h"
#include "isobit/base/status.h"
#include "isobit/service/pieces.h"
#include "isobit/service/tls.h"

namespace isobit::service {

class PartyCaller {
 public:
  struct Heard {
    Bytes message;                      // that was said
    Expected<std::vector<Bytes>> said;  // what came back; or why the call failed
  };
  // On the caller's own thread.
  using Hear = std::function<void(Heard)>;

  // Whoever is at `address` ("HOST:PORT") must have a certificate of the authority for that host. call_time: of one
  // call. Connects when first needed, and again whenever it must.
  PartyCaller(const std::string& address, const Tls& tls, std::chrono::milliseconds call_time, Hear hear);
  ~PartyCaller();  // ends a call that is under way
  PartyCaller(const PartyCaller&) = delete;
  PartyCaller& operator=(const PartyCaller&) = delete;

  // Tries for 5 seconds, and for 30 where connections are made and cut. kUnavailable: nobody there who says what it is.
  Expected<About> about();

  // Says it when the call before is over; in place of what else waits. Of what comes back `most` bytes are held. What
  // is being said already is not said twice.
  void say(Bytes message, uint64_t most);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace isobit::service
