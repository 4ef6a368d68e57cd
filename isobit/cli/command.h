// Subcommands and their options, without the parser's own header (which is slow to compile and stays in command.cpp).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "isobit/base/status.h"
#include "isobit/cli/console.h"

namespace isobit::cli {

inline constexpr int kAgreed = 0;
inline constexpr int kDisagreed = 1;
inline constexpr int kInconclusive = 4;
inline constexpr int kInterrupted = 130;

// One subcommand being described. Values are written through the references when the command line is parsed, so they
// must outlive the parse (a shared_ptr captured by the action does).
class Command {
 public:
  // `names` as "-o,--out" or "--out"; `value` is how help shows the argument ("FILE").
  virtual Command& positional(const char* value, std::string& target, const char* help, bool required = true) = 0;
  // One or more words.
  virtual Command& positionals(const char* value, std::vector<std::string>& target, const char* help) = 0;
  virtual Command& option(const char* names, const char* value, std::string& target, const char* help,
                          bool required = false) = 0;
  virtual Command& option(const char* names, const char* value, std::optional<uint64_t>& target, const char* help) = 0;
  virtual Command& list(const char* names, const char* value, std::vector<std::string>& target, const char* help) = 0;
  virtual Command& flag(const char* names, bool& target, const char* help) = 0;
  // What runs. Returns the exit code; an error is printed and becomes its code.
  virtual void action(std::function<Expected<int>(Console&)> run) = 0;

 protected:
  ~Command() = default;
};

// What is known of the commands, for completions and the manual page.
struct OptionInfo {
  std::string names, value, help;
};
struct CommandInfo {
  std::string name, help, examples;
  std::vector<OptionInfo> positionals, options;
};

class Commands {
 public:
  Commands();
  ~Commands();
  // `name` may be two words ("job check"). `examples`: lines shown under the help.
  Command& add(const char* name, const char* help, const char* examples);
  std::vector<CommandInfo> describe() const;
  // Parses and runs. Usage errors: exit code 2.
  int run(int argc, char** argv);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace isobit::cli
