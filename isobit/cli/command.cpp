#include "isobit/cli/command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <deque>
#include <map>
#include <new>
#include <sstream>
#include <stdexcept>

#include "isobit/base/file.h"
#include "isobit/base/machine_cannot.h"
#include "isobit/base/text.h"

namespace isobit::cli {

namespace {

using Action = std::function<Expected<int>(Console&)>;

class CliCommand final : public Command {
 public:
  CliCommand(CLI::App* app, CommandInfo info) : app_(app), info_(std::move(info)) {}

  Command& positional(const char* value, std::string& target, const char* help, bool required) override {
    app_->add_option(value, target, help)->required(required)->option_text(" ");
    info_.positionals.push_back({value, "", help});
    return *this;
  }
  Command& positionals(const char* value, std::vector<std::string>& target, const char* help) override {
    app_->add_option(value, target, help)->required()->option_text(" ");
    info_.positionals.push_back({value, "", help});
    return *this;
  }
  Command& option(const char* names, const char* value, std::string& target, const char* help, bool required) override {
    // An empty value is most often a variable that was not set, and is never what an option wants.
    app_->add_option(names, target, help)->required(required)->option_text(value)->check([](const std::string& text) {
      return text.empty() ? std::string("is empty; leave the option out, or give it a value") : std::string();
    });
    return remember(names, value, help);
  }
  Command& option(const char* names, const char* value, std::optional<uint64_t>& target, const char* help) override {
    app_->add_option(names, target, help)->option_text(value)->check([](const std::string& text) {
      const bool digits = std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
      return digits && !text.empty() && text.size() < 20 ? std::string()
                                                         : text_of("found '", text, "', expected a whole number");
    });
    return remember(names, value, help);
  }
  Command& list(const char* names, const char* value, std::vector<std::string>& target, const char* help) override {
    app_->add_option(names, target, help)->option_text(value)->take_all()->allow_extra_args(false);
    return remember(names, value, help);
  }
  Command& flag(const char* names, bool& target, const char* help) override {
    app_->add_flag(names, target, help);
    return remember(names, "", help);
  }
  void action(Action run) override { run_ = std::move(run); }

  CLI::App* app() const { return app_; }
  const CommandInfo& info() const { return info_; }
  const Action& run() const { return run_; }

 private:
  Command& remember(const char* names, const char* value, const char* help) {
    info_.options.push_back({names, value, help});
    return *this;
  }

  CLI::App* app_;
  CommandInfo info_;
  Action run_;
};

}  // namespace

struct Commands::Impl {
  CLI::App app{"isobit controls, proves and explains the bits of neural-network training", "isobit"};
  std::deque<CliCommand> commands;
  std::map<std::string, CLI::App*> groups;
  bool json = false, quiet = false;
  std::string colour = "auto";

  Error usage_of(const std::string& complaint) const;
};

Commands::Commands() : impl_(std::make_unique<Impl>()) {
  CLI::App& app = impl_->app;
  app.set_version_flag("--version", "isobit " ISOBIT_VERSION);
  app.require_subcommand(1);
  app.fallthrough();  // --json and the like may follow the subcommand
  app.add_flag("--json", impl_->json, "machine-readable result on stdout, nothing else there");
  app.add_flag("-q,--quiet", impl_->quiet, "no progress and no remarks");
  app.add_option("--color", impl_->colour, "auto, always or never")
      ->option_text("WHEN")
      ->check([](const std::string& when) {
        const bool known = when == "auto" || when == "always" || when == "never";
        return known ? std::string() : text_of("found '", when, "', expected auto, always or never");
      });
  app.footer(
      "Exit codes: 0 agreed or done; 1 disagreed or rejected; 2 usage; 3 unreadable or unsupported input;\n"
      "4 this machine cannot, or the audit is inconclusive; 130 interrupted (a run of train can be resumed).\n"
      "'isobit COMMAND --help' shows a command's options and examples.");
}

Commands::~Commands() = default;

Command& Commands::add(const char* name, const char* help, const char* examples) {
  CLI::App* parent = &impl_->app;
  std::string words = name;
  if (const size_t space = words.find(' '); space != std::string::npos) {
    const std::string group = words.substr(0, space);
    parent = impl_->groups[group];
    if (parent == nullptr) {
      impl_->groups[group] = parent = impl_->app.add_subcommand(
          group, group == "engage" ? "agree with another party on a run" : "commands about a " + group);
      parent->footer("'isobit " + group + " COMMAND --help' shows a command's options and examples.");
      parent->require_subcommand(1);
      parent->fallthrough();
    }
    words = words.substr(space + 1);
  }
  CLI::App* app = parent->add_subcommand(words, help);
  app->footer(text_of("Examples:\n", examples, "\nEvery command takes --json, --quiet and --color: 'isobit --help'."));
  impl_->commands.emplace_back(app, CommandInfo{name, help, examples, {}, {}});
  return impl_->commands.back();
}

std::vector<CommandInfo> Commands::describe() const {
  std::vector<CommandInfo> infos;
  for (const CliCommand& command : impl_->commands) infos.push_back(command.info());
  return infos;
}

// The parser's complaint as one line of ours, with where to read on.
Error Commands::Impl::usage_of(const std::string& complaint) const {
  std::string message = complaint, command = "isobit";
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) {
    at = at->get_subcommands().front();
    command += " " + at->get_name();
  }
  message = message.substr(0, message.find('\n'));
  if (const size_t twice = message.find(": At Most 1 required"); twice != std::string::npos) {
    message = message.substr(0, twice) + " is given more than once";
  } else if (const size_t missing = message.find(": 1 required"); missing != std::string::npos) {
    message = message.substr(0, missing) + " needs a value";
  }
  // What is missing may be missing because of a misspelt option, which says more.
  const std::vector<std::string> left = app.remaining(true);
  for (const std::string& word : left) {
    if (!word.starts_with('-')) continue;
    std::vector<std::string> names;
    for (const CLI::App* a = at; a != nullptr; a = a->get_parent()) {
      for (const CLI::Option* o : a->get_options()) names.push_back(o->get_name());
    }
    const std::string near = nearest_word(word, names);
    message = text_of("there is no option '", word, "'", near.empty() ? "" : "; did you mean '" + near + "'?");
    break;
  }
  const auto is_lower = [&](size_t i) { return std::islower(static_cast<unsigned char>(message[i])) != 0; };
  if (message.size() > 1 && (message[1] == ' ' || is_lower(1))) {  // a sentence, no name in capitals
    message[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(message[0])));
  }
  // Where a command should stand: "isobit -q aduit x", "isobit job chek x".
  std::vector<std::string> names;
  for (const CLI::App* c : at->get_subcommands([](const CLI::App*) { return true; })) names.push_back(c->get_name());
  const auto word = std::ranges::find_if(left, [](const std::string& w) { return !w.starts_with('-'); });
  if (!names.empty() && word != left.end()) {
    const std::string before = command.substr(std::min(command.find(' '), command.size() - 1) + 1);
    const std::string group = at == &app ? "" : before + " ", near = nearest_word(*word, names);
    message = text_of("there is no command '", group, *word, "'",
                      near.empty() ? "" : "; did you mean '" + group + near + "'?");
  }
  return {ErrorCode::kUsage, text_of(message, message.ends_with('?') ? " See '" : "; see '", command, " --help'")};
}

namespace {

// What is thrown, by the standard library most of the time, as errors like ours.
Expected<int> guarded(const Action& action, Console& console) {
  constexpr const char* kNoMemory = "this machine has not enough memory; 'isobit job check' says how much a job needs";
  try {
    return action(console);
  } catch (const std::bad_alloc&) {
    return unavailable(kNoMemory);
  } catch (const std::length_error&) {
    return unavailable(kNoMemory);
  } catch (const MachineCannot& error) {
    return unavailable(error.what());
  } catch (const fs::filesystem_error& error) {
    // A name that no file can have, a folder that may not be looked into.
    return unreadable(text_of(error.path1().string(), ": ", error.code().message()));
  } catch (const std::exception& error) {
    return unavailable(text_of("internal error, please report it: ", error.what()));
  }
}

// The exit code, once everything is said: a result that could not be written is no success.
int ended(Console& console, int code) {
  const Status finished = console.finish();
  if (finished) return code;
  console.set_json(false);  // there is nowhere to write a document
  console.error(finished.error());
  return code == kAgreed ? static_cast<int>(finished.error().code) : code;
}

}  // namespace

int Commands::run(int argc, char** argv) {
  Console console;
  try {
    impl_->app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // --help and --version end up here with code 0.
    if (error.get_exit_code() == 0) {
      std::ostringstream text;
      impl_->app.exit(error, text, text);
      console.text(text.str());
      return ended(console, kAgreed);
    }
    console.set_json(std::any_of(argv, argv + argc, [](const char* word) { return !std::strcmp(word, "--json"); }));
    console.error(impl_->usage_of(error.what()));
    return static_cast<int>(ErrorCode::kUsage);
  }
  console.set_json(impl_->json);
  console.set_quiet(impl_->quiet);
  console.set_colour(impl_->colour == "always"  ? Console::Colour::kAlways
                     : impl_->colour == "never" ? Console::Colour::kNever
                                                : Console::Colour::kAuto);
  for (const CliCommand& command : impl_->commands) {
    if (!command.app()->parsed()) continue;
    const Expected<int> result = guarded(command.run(), console);
    console.end_progress();
    if (!result) console.error(result.error());
    return ended(console, result ? *result : static_cast<int>(result.error().code));
  }
  return static_cast<int>(ErrorCode::kUsage);
}

}  // namespace isobit::cli
