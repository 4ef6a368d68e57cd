#include "isobit/cli/value_report.h"

#include <charconv>
#include <cstring>

#include "isobit/base/printable.h"
#include "isobit/base/text.h"

namespace isobit::cli {
namespace {

using nlohmann::ordered_json;

template <class T>
std::string decimal(const uint8_t* at) {
  T x;
  std::memcpy(&x, at, sizeof x);
  char text[64];
  const auto end = std::to_chars(text, text + sizeof text, x);
  return std::string(text, end.ptr);
}

// None for types that no C++ number has.
std::string decimal_of(DType dtype, const uint8_t* at) {
  switch (dtype) {
    case DType::kFloat32:
      return decimal<float>(at);
    case DType::kFloat64:
      return decimal<double>(at);
    case DType::kInt32:
      return decimal<int32_t>(at);
    case DType::kInt64:
      return decimal<int64_t>(at);
    case DType::kBool:
      return *at == 0 ? "false" : "true";
    default:
      return "";
  }
}

// The most significant digit first.
std::string bits_of(const uint8_t* at, size_t size) {
  Bytes bytes(at, at + size);
  std::reverse(bytes.begin(), bytes.end());
  return to_hex(bytes);
}

// Where a tile lies in the value seen as a matrix.
struct TilePlace {
  int64_t row = 0, column = 0, columns = 0;  // of its first element, and of a row of it
};

TilePlace place_of_tile(const verify::ValueOpening& o, uint64_t tile) {
  const commit::TileGrid grid(verify::shape_of(o.entry), verify::layout_of(o.entry));
  const auto number = static_cast<int64_t>(tile);
  const int64_t row = number / grid.tile_cols() * commit::kTileSide,
                column = number % grid.tile_cols() * commit::kTileSide;
  return {row, column, std::min(commit::kTileSide, grid.row_elements(row) - column)};
}

ordered_json tile_json(const verify::ValueOpening& o, const verify::OpenedTile& tile) {
  const TilePlace place = place_of_tile(o, tile.inclusion.index);
  const ByteView elements = verify::elements_of(tile);
  const size_t size = size_of(o.entry.dtype);
  ordered_json values = ordered_json::array(), bits = ordered_json::array();
  for (size_t at = 0; at < elements.size(); at += size) {
    values.push_back(decimal_of(o.entry.dtype, &elements[at]));
    bits.push_back(bits_of(&elements[at], size));
  }
  return {{"tile", tile.inclusion.index}, {"row", place.row}, {"column", place.column},
          {"columns", place.columns},     {"values", values}, {"bits", bits}};
}

void print_tile(const verify::ValueOpening& o, const verify::OpenedTile& tile, Console& console) {
  const TilePlace place = place_of_tile(o, tile.inclusion.index);
  const ByteView elements = verify::elements_of(tile);
  const size_t size = size_of(o.entry.dtype), in_row = static_cast<size_t>(place.columns) * size;
  console.line(text_of("tile ", tile.inclusion.index, "        rows from ", place.row, ", columns from ", place.column,
                       " of the value as a matrix"));
  for (size_t at = 0; at < elements.size(); at += in_row) {
    std::string line = "             ";
    for (size_t e = at; e < std::min(at + in_row, elements.size()); e += size) {
      const std::string number = decimal_of(o.entry.dtype, &elements[e]);
      line += " " + (number.empty() ? bits_of(&elements[e], size) : number);
    }
    console.line(line);
  }
}

}  // namespace

std::string place_of(const train::TraceEntry& e) {
  using Kind = train::TraceEntry::Kind;
  if (e.kind != Kind::kOutput && e.kind != Kind::kStatistic) return train::name_of(e.kind);
  return text_of(train::name_of(e.kind), " ", e.place, " of node ", e.node);
}

void report_opening(const verify::ValueOpening& o, const verify::ValueOpening::Roots& roots, ordered_json& document,
                    Console& console) {
  const train::TraceEntry& e = o.entry;
  document["job_root"] = commit::hex_of(o.job_root);
  document["step"] = o.step;
  document["value"] = o.index();
  document["kind"] = train::name_of(e.kind);
  document["node"] = e.node;
  document["place"] = e.place;
  document["name"] = e.name;
  document["dtype"] = name_of(e.dtype);
  document["shape"] = e.dims;
  document["tensor_root"] = commit::hex_of(o.tensor_root().digest());
  document["trace_root"] = commit::hex_of(roots.trace);
  document["schema_root"] = commit::hex_of(roots.schema);
  document["tiles"] = ordered_json::array();
  for (const verify::OpenedTile& tile : o.opened) document["tiles"].push_back(tile_json(o, tile));

  console.line(text_of("value         ", o.index(), " of step ", o.step, ": ", printable(e.name), ", ", place_of(e),
                       ", ", name_of(e.dtype), " ", verify::shape_of(e).text()));
  for (const verify::OpenedTile& tile : o.opened) print_tile(o, tile, console);
  console.line("tensor root   " + commit::hex_of(o.tensor_root().digest()));
  console.line("trace root    " + commit::hex_of(roots.trace));
  console.line("schema root   " + commit::hex_of(roots.schema));
  console.line("job root      " + commit::hex_of(o.job_root));
}

}  // namespace isobit::cli
