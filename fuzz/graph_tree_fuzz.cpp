// Nodes of graphs and the proofs that show them: what decodes encodes to the very same bytes, and checking a proof does
// not crash, whatever it claims.
#include <algorithm>

#include "isobit/verify/graph_tree.h"

using namespace isobit;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ByteView input(data, size);
  if (const auto node = verify::decode_graph_node(input, "input")) {
    ISOBIT_CHECK(std::ranges::equal(verify::encode(*node), input));
  }
  if (const auto proof = verify::decode_graph_node_proof(input, "input")) {
    ISOBIT_CHECK(std::ranges::equal(verify::encode(*proof), input));
    (void)verify::verify_graph_node(*proof, {});
  }
  return 0;
}
