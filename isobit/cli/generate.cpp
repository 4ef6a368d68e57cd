// Shell completion and the manual page, made from the same descriptions as --help.

#include "isobit/base/text.h"
#include "isobit/cli/commands.h"
#include "isobit/cli/json_text.h"

namespace isobit::cli {

namespace {

std::string long_name(const std::string& names) {
  const size_t comma = names.rfind(',');
  return comma == std::string::npos ? names : names.substr(comma + 1);
}

std::string bash_completion(const std::vector<CommandInfo>& commands) {
  std::string first, cases;
  for (const CommandInfo& c : commands) {
    const std::string word = c.name.substr(0, c.name.find(' '));
    if (text_of(" ", first, " ").find(text_of(" ", word, " ")) == std::string::npos) {
      first += text_of(first.empty() ? "" : " ", word);
    }
    std::string options = "--json --quiet --color --help";
    for (const OptionInfo& o : c.options) options += text_of(" ", long_name(o.names));
    const size_t space = c.name.find(' ');
    if (space != std::string::npos) options += text_of(" ", c.name.substr(space + 1));
    cases += text_of("    ", word, ") words=\"", options, "\" ;;\n");
  }
  return text_of(
      "# bash completion of isobit: source it, or put it in ~/.local/share/bash-completion/completions/isobit\n",
      "_isobit() {\n  local words=\"", first, " --help --version\"\n  case ${COMP_WORDS[1]} in\n", cases,
      "  esac\n  ((COMP_CWORD == 1)) && words=\"", first, " --help --version\"\n",
      "  COMPREPLY=($(compgen -W \"$words\" -- \"${COMP_WORDS[COMP_CWORD]}\"))\n}\n",
      "complete -o default -F _isobit isobit\n");
}

std::string roff(std::string text) {
  std::string out;
  for (char c : text) {
    if (c == '\\' || c == '-') out += '\\';
    out += c;
  }
  return out;
}

std::string manual_page(const std::vector<CommandInfo>& commands) {
  std::string out =
      text_of(".TH ISOBIT 1 \"\" \"isobit ", ISOBIT_VERSION,
              "\"\n.SH NAME\nisobit \\- control, prove and explain the bits of neural\\-network training\n",
              ".SH SYNOPSIS\n.B isobit\n[\\-\\-json] [\\-q] [\\-\\-color WHEN] COMMAND [OPTIONS]\n.SH COMMANDS\n");
  for (const CommandInfo& c : commands) {
    out += text_of(".SS ", c.name, "\n", roff(c.help), ".\n");
    for (const OptionInfo& p : c.positionals) out += text_of(".TP\n.I ", roff(p.names), "\n", roff(p.help), "\n");
    for (const OptionInfo& o : c.options)
      out += text_of(".TP\n.B ", roff(o.names), " ", roff(o.value), "\n", roff(o.help), "\n");
    if (!c.examples.empty()) out += text_of(".PP\nExamples:\n.nf\n", roff(c.examples), ".fi\n");
  }
  return out +
         ".SH EXIT STATUS\n0 agreed or done; 1 disagreed or rejected; 2 usage; 3 unreadable or unsupported input; 4 "
         "this machine cannot, or an audit is inconclusive; 130 interrupted.\n"
         ".SH ENVIRONMENT\n.TP\nISOBIT_HOME\nfolder of your keys\n.TP\nNO_COLOR\nno colour\n";
}

void print(const std::string& text, const Console& console) {
  console.text(text);
  console.document(json_text(nlohmann::ordered_json{{"text", text}}));
}

}  // namespace

void add_generate(Commands& commands) {
  commands
      .add("completion", "print the completion script for bash",
           "  isobit completion > ~/.local/share/bash-completion/completions/isobit\n")
      .action([&commands](Console& console) -> Expected<int> {
        print(bash_completion(commands.describe()), console);
        return kAgreed;
      });
  commands.add("man", "print the manual page", "  isobit man > isobit.1 && man ./isobit.1\n")
      .action([&commands](Console& console) -> Expected<int> {
        print(manual_page(commands.describe()), console);
        return kAgreed;
      });
}

}  // namespace isobit::cli
