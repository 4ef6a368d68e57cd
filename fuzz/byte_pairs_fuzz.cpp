// The two files of a tokenizer, the first up to the line "====". What is accepted cuts every word into tokens that it
// has.
#include <string_view>

#include "isobit/formats/byte_pairs.h"

using namespace isobit;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr std::string_view kBetween = "\n====\n";
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const size_t at = all.find(kBetween);
  if (at == all.npos) return 0;
  const std::string_view merges = all.substr(at + kBetween.size());
  const auto pairs = formats::BytePairs::parse(as_bytes(all.substr(0, at)), "encoder", as_bytes(merges), "merges");
  if (!pairs) return 0;
  std::vector<int32_t> tokens;
  pairs->encode(merges, tokens);
  ISOBIT_CHECK(tokens.size() <= merges.size() && tokens.empty() == merges.empty());
  for (const int32_t token : tokens) ISOBIT_CHECK(token >= 0 && token < pairs->vocabulary());
  return 0;
}
