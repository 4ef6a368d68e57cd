#include "isobit/cli/own_files.h"

#include "isobit/base/text.h"
#include "isobit/bundle/disk.h"
#include "isobit/cli/console.h"
#include "isobit/run/keys.h"
#include "isobit/train/job_fields.h"

namespace isobit::cli {

std::vector<std::string> with_data_path(std::vector<std::string> overrides, const std::string& path) {
  if (path.empty()) return overrides;
  // As a text of TOML, whatever characters it has.
  std::string quoted = "\"";
  for (const char c : path) {
    const auto byte = static_cast<uint8_t>(c);
    if (c == '"' || c == '\\') quoted += '\\';
    if (byte < 0x20 || byte == 0x7f) {
      quoted += "\\u00" + to_hex({&byte, 1});
    } else {
      quoted += c;
    }
  }
  overrides.push_back("data.path=" + quoted + "\"");
  return overrides;
}

std::vector<std::string> values_of(const std::vector<std::string>& overrides) {
  std::vector<std::string> values;
  for (const std::string& text : overrides) values.push_back(text.substr(text.find('=') + 1));
  return values;
}

Expected<commit::SecretKey> trainer_key(const std::string& file, const fs::path& home) {
  return file.empty() ? run::existing_key(home, "trainer") : commit::read_secret_key(file);
}

std::string with_job_fields(const char* examples) {
  return text_of(examples, "\nFields of a job, for --set TABLE.KEY=VALUE (docs/formats/job.md says what they mean):\n",
                 train::job_fields_help());
}

Status check_output(const fs::path& out, bool force) {
  if (out.empty()) return usage_error("--out: is empty; expected the name of a file");
  ISOBIT_RETURN_IF_ERROR(check_writable_name(out, force));
  ISOBIT_RETURN_IF_ERROR(bundle::check_outside_runs(out));
  // Asked before a long computation, whose result would be lost.
  const fs::path folder = out.has_parent_path() ? out.parent_path() : fs::path(".");
  std::error_code error;
  if (fs::is_directory(folder, error)) return {};
  return unavailable(text_of(out.string(), ": there is no folder ", folder.string(), "; make it first"));
}

namespace {

// One file, by device and inode; of files that are not there yet, one name in one folder.
bool are_one(const fs::path& a, const fs::path& b) {
  if (a.empty() || b.empty()) return false;
  std::error_code error;
  if (fs::exists(a, error) || fs::exists(b, error)) return fs::equivalent(a, b, error) && !error;
  const fs::path x = fs::weakly_canonical(fs::absolute(a, error), error);
  const fs::path y = fs::weakly_canonical(fs::absolute(b, error), error);
  return !error && x == y;
}

}  // namespace

Status check_apart(const std::vector<std::pair<std::string, std::string>>& outputs,
                   const std::vector<std::string>& inputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto& [option, file] = outputs[i];
    for (const std::string& input : inputs) {
      if (!are_one(file, input)) continue;
      return usage_error(text_of(option, ": ", file, " is ", input, ", which is read; name another file"));
    }
    for (size_t j = 0; j < i; ++j) {
      if (!are_one(file, outputs[j].second)) continue;
      return usage_error(
          text_of(outputs[j].first, " and ", option, ": both are ", file, "; one would replace the other"));
    }
  }
  return {};
}

std::vector<std::string> files_beside_lab(const std::string& lab) {
  std::error_code error;
  const fs::path real = fs::weakly_canonical(lab, error);  // SQLite looks beside the file that a link leads to
  const std::string name = error ? lab : real.string();
  return {name + "-journal", name + "-wal"};
}

std::vector<std::string> files_named_by(const train::Job& job) {
  std::vector<std::string> files;
  train::Job whole = job;
  for (const train::Field& field : train::job_fields()) {
    if (!field.rules.path) continue;
    const train::Place place = field.in(whole);
    if (const auto* text = std::get_if<std::string*>(&place)) files.push_back(**text);
    if (const auto* list = std::get_if<std::vector<std::string>*>(&place)) {
      files.insert(files.end(), (*list)->begin(), (*list)->end());
    }
    if (const auto* named = std::get_if<data::InputFiles*>(&place)) {
      for (const auto& [name, file] : **named) files.push_back(file);
    }
  }
  return files;
}

Status sign_with_own_keys(const std::string& key_folder, const std::string& engagement, run::TrainRequest& request,
                          Console& console) {
  ISOBIT_TRY(request.home, run::key_folder(key_folder, environment));
  if (!engagement.empty()) {
    ISOBIT_TRY(request.trainer, run::existing_key(request.home, "trainer"));
    ISOBIT_TRY(const Bytes bytes, read_file(engagement, verify::kMaxEngagementBytes));
    ISOBIT_TRY(request.engagement, verify::decode_engagement(bytes, engagement));
    return {};
  }
  ISOBIT_TRY(const run::OwnKey client, run::own_key(request.home, "client"));
  ISOBIT_TRY(const run::OwnKey trainer, run::own_key(request.home, "trainer"));
  if (client.created || trainer.created) {
    const char* made = client.created && trainer.created ? "a client's and a trainer's key"
                       : client.created                  ? "a client's key"
                                                         : "a trainer's key";
    console.note(text_of("made ", made, " in ", request.home.string(), " (kept for later runs)"));
  }
  request.client = client.key;
  request.trainer = trainer.key;
  return {};
}

}  // namespace isobit::cli
