// What gRPC itself has to say, which would otherwise go to stderr in a form of its own.
#pragma once

#include "isobit/service/event_log.h"

namespace isobit::service {

// Of the whole process: to this log as events "grpc", which must stay until another is set; to nobody where it is null.
void set_grpc_log(EventLog* log);

}  // namespace isobit::service
