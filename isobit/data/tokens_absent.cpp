#include "isobit/base/text.h"
#include "isobit/data/tokens.h"

namespace isobit::data {

Expected<Tokens> read_tokens(const DataConfig& config, uint64_t, FileBudget&) {
  return unavailable(text_of(config.path, ": this build has no tokenizer; give it tokens as .npy files"));
}

}  // namespace isobit::data
