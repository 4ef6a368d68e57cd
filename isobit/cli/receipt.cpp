#include "isobit/cli/receipt.h"

#include "isobit/base/frame.h"
#include "isobit/base/random.h"
#include "isobit/base/text.h"
#include "isobit/cli/own_files.h"
#include "isobit/run/keys.h"

namespace isobit::cli {

void add_receipt_options(Command& c, ReceiptOptions& o) {
  c.option("--receipt", "FILE", o.file,
           "sign what was computed: model, inputs, arithmetic and outputs (docs/receipts.md)");
  c.option("--key", "FILE", o.key, "of --receipt: the secret key that signs (default: server.key of your own)");
  c.option("--keys", "FOLDER", o.key_folder, kKeysHelp);
  c.option("--challenge", "HEX", o.challenge, "of --receipt: 16 to 64 bytes by whoever asked (default: drawn)");
  c.flag("--trace", o.trace, "of --receipt: commit to every value of the inference as well, which takes time");
}

Expected<Bytes> challenge_of(const std::string& hex) {
  const auto bytes = from_hex(hex);
  if (!bytes) return usage_error(text_of("--challenge ", hex, ": ", bytes.error().message));
  if (bytes->size() < verify::kMinChallenge || bytes->size() > verify::kMaxChallenge) {
    return usage_error(text_of("--challenge: found ", bytes->size(), " bytes, expected ", verify::kMinChallenge, " to ",
                               verify::kMaxChallenge));
  }
  return *bytes;
}

Expected<std::optional<ReceiptWriter>> receipt_writer(const ReceiptOptions& o, const std::string& arithmetic,
                                                      Console& console) {
  if (o.file.empty()) {
    if (o.key.empty() && o.challenge.empty() && o.key_folder.empty() && !o.trace) return std::nullopt;
    return usage_error("run: --key, --keys, --challenge and --trace go with --receipt FILE");
  }
  if (!platform::arithmetic_of(arithmetic).promises) {
    return usage_error(text_of("--receipt: ", arithmetic,
                               " promises no bits, so nobody could check it; expected ordered-1 or correct-1"));
  }
  ISOBIT_RETURN_IF_ERROR(check_output(o.file, false));
  lab::ReceiptTerms terms{Bytes(32), std::string("isobit ") + ISOBIT_VERSION, o.trace};
  if (o.challenge.empty()) {
    ISOBIT_RETURN_IF_ERROR(fill_random(terms.challenge));
  } else {
    ISOBIT_TRY(terms.challenge, challenge_of(o.challenge));
  }
  if (!o.key.empty()) {
    ISOBIT_TRY(commit::SecretKey key, commit::read_secret_key(o.key));
    return ReceiptWriter{std::move(terms), std::move(key)};
  }
  ISOBIT_TRY(const fs::path home, run::key_folder(o.key_folder, environment));
  ISOBIT_TRY(run::OwnKey own, run::own_key(home, "server"));
  if (own.created) console.note(text_of("made the keys that sign receipts: ", (home / "server.key").string()));
  return ReceiptWriter{std::move(terms), std::move(own.key)};
}

bool is_receipt_file(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error) || fs::file_size(path, error) > verify::kMaxReceiptBytes) return false;
  const auto bytes = read_file(path, verify::kMaxReceiptBytes);
  return bytes && has_tag(*bytes, verify::kReceiptTag);
}

Expected<verify::InferenceReceipt> read_receipt(const fs::path& path) {
  ISOBIT_TRY(const Bytes bytes, read_file(path, verify::kMaxReceiptBytes));
  return verify::decode_receipt(bytes, path.string());
}

nlohmann::ordered_json receipt_json(const verify::InferenceReceipt& receipt, const std::string& file) {
  nlohmann::ordered_json json = {{"file", file},
                                 {"id", to_hex(receipt.id())},
                                 {"computation", commit::hex_of(receipt.of.digest())},
                                 {"files", commit::hex_of(receipt.of.files)},
                                 {"graph", commit::hex_of(receipt.of.graph)},
                                 {"arithmetic", receipt.of.arithmetic},
                                 {"challenge", to_hex(receipt.challenge)},
                                 {"trace", nullptr},
                                 {"made_by", receipt.made_by},
                                 {"server", commit::hex_of(receipt.server)}};
  if (receipt.trace) json["trace"] = commit::hex_of(*receipt.trace);
  for (const auto& [key, tensors] : {std::pair("inputs", &receipt.of.inputs), std::pair("outputs", &receipt.outputs)}) {
    json[key] = nlohmann::ordered_json::array();
    for (const verify::ReceiptTensor& t : *tensors) {
      json[key].push_back(
          {{"name", t.name}, {"shape", t.dims}, {"dtype", name_of(t.dtype)}, {"digest", commit::hex_of(t.root)}});
    }
  }
  return json;
}

void print_receipt(const verify::InferenceReceipt& receipt, const std::string& file, Console& console) {
  console.line(text_of("receipt       ", file, ", ", to_hex(receipt.id())));
  console.line(text_of("computation   ", commit::hex_of(receipt.of.digest())));
  console.line(text_of("challenge     ", to_hex(receipt.challenge)));
  if (receipt.trace) console.line(text_of("trace         ", commit::hex_of(*receipt.trace)));
  console.line(text_of("server        ", commit::hex_of(receipt.server)));
}

}  // namespace isobit::cli
