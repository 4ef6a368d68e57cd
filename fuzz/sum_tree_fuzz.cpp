// What is read is written as a text that reads as the same tree; words and pictures of it are made without a fault.
#include "isobit/lab/reveal/svg.h"
#include "isobit/lab/reveal/tree.h"
#include "isobit/lab/reveal/words.h"

using namespace isobit;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto tree = lab::reveal::parse_tree(text, "input");
  if (!tree) return 0;
  const auto again = lab::reveal::parse_tree(lab::reveal::text_of_tree(*tree), "again");
  ISOBIT_CHECK(again && *again == *tree);
  ISOBIT_CHECK(!lab::reveal::words_of(*tree).empty());
  ISOBIT_CHECK(!lab::reveal::svg_of_tree(*tree, "title").empty());
  return 0;
}
