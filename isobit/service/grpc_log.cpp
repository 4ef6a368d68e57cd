#include "isobit/service/grpc_log.h"

#include <grpc/support/log.h>

#include <mutex>

namespace isobit::service {
namespace {

std::mutex mutex;
EventLog* current = nullptr;

void take(gpr_log_func_args* line) {
  const std::scoped_lock lock(mutex);
  if (current == nullptr) return;
  current->limited("grpc", {{"severity", gpr_log_severity_string(line->severity)}, {"text", line->message}});
}

}  // namespace

void set_grpc_log(EventLog* log) {
  const std::scoped_lock lock(mutex);
  current = log;
  gpr_set_log_function(take);
}

}  // namespace isobit::service
