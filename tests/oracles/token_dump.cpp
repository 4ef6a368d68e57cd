// The tokens of a text, for another program to make them again.
//
//   token_dump ENCODER MERGES TEXT OUT     OUT: int32, little-endian
#include <cstdio>

#include "isobit/base/file.h"
#include "isobit/data/tokens.h"

namespace isobit {
namespace {

Status dump(const std::vector<std::string>& args) {
  if (args.size() != 4) return usage_error("usage: token_dump ENCODER MERGES TEXT OUT");
  data::DataConfig config;
  config.tokenizer = data::Tokenizer::kGpt2;
  config.encoder = args[0];
  config.merges = args[1];
  config.path = args[2];
  data::FileBudget budget(uint64_t{1} << 32);
  ISOBIT_TRY(const data::Tokens tokens, data::read_tokens(config, uint64_t{1} << 30, budget));
  return write_file_durably(args[3], tokens.bytes);
}

}  // namespace
}  // namespace isobit

int main(int argc, char** argv) {
  const isobit::Status status = isobit::dump({argv + 1, argv + argc});
  if (status) return 0;
  std::fprintf(stderr, "token_dump: %s\n", status.error().message.c_str());
  return static_cast<int>(status.error().code);
}
