#include "isobit/cli/interrupt.h"

#include <csignal>

namespace isobit::cli {
namespace {

std::atomic<bool> stop_asked{false};

void note(int) { stop_asked.store(true); }

void note_once(int signal) {
  stop_asked.store(true);
  std::signal(signal, SIG_DFL);
}

}  // namespace

Interruptible::Interruptible(Second second) {
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, second == Second::kEnds ? note_once : note);
}

Interruptible::~Interruptible() {
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, SIG_DFL);
}

const std::atomic<bool>& Interruptible::stop() const { return stop_asked; }

}  // namespace isobit::cli
