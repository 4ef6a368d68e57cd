#include "isobit/base/text.h"
#include "isobit/formats/gpt2_words.h"

namespace isobit::formats {

Status for_each_gpt2_word(ByteView, const std::string& name, const std::function<Status(std::string_view)>&) {
  return unavailable(text_of(name, ": this build has no tokenizer; give it tokens as .npy files"));
}

}  // namespace isobit::formats
