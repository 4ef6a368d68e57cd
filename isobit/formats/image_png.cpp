#include <png.h>

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "isobit/base/text.h"
#include "isobit/formats/image_internal.h"

namespace isobit::formats::internal {
namespace {

// The most that libpng may allocate at once, and of all that it allocates what decoding_bytes() adds to rows: its own
// state, zlib's window and the buffers of both.
constexpr size_t kMostOfLibrary = size_t{1} << 18;

// What libpng is given to read and to complain to. It jumps out of an error to the frame that called setjmp last, so
// nothing between such a frame and the library may have a destructor.
struct Source {
  const uint8_t* data = nullptr;
  size_t left = 0;
  char problem[128] = "";
};

extern "C" {

void isobit_png_error(png_structp png, png_const_charp message) {
  auto* source = static_cast<Source*>(png_get_error_ptr(png));
  std::snprintf(source->problem, sizeof source->problem, "%s", message);
  png_longjmp(png, 1);
}

void isobit_png_warning(png_structp, png_const_charp) {}

void isobit_png_read(png_structp png, png_bytep to, size_t size) {
  auto* source = static_cast<Source*>(png_get_io_ptr(png));
  if (size > source->left) png_error(png, "the file is cut short");
  std::memcpy(to, source->data, size);
  source->data += size;
  source->left -= size;
}

// Some versions of the library allocate what a chunk says of its length, up to 2 GiB, before they read it.
png_voidp isobit_png_allocate(png_structp, png_alloc_size_t size) {
  return size <= kMostOfLibrary ? std::malloc(size) : nullptr;
}

void isobit_png_free(png_structp, png_voidp memory) { std::free(memory); }

}  // extern "C"

class Reader {
 public:
  explicit Reader(ByteView data) : source_{data.data(), data.size(), ""} {
    png_ = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &source_, isobit_png_error, isobit_png_warning, nullptr,
                                    isobit_png_allocate, isobit_png_free);
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
  }
  ~Reader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  bool created() const { return info_ != nullptr; }
  const char* problem() const { return source_.problem; }

  // All before the pixels.
  bool read_info() {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_set_user_limits(png_, static_cast<png_uint_32>(kMaxImageSide), static_cast<png_uint_32>(kMaxImageSide));
    constexpr int kAllButPixelsAndPalette = -1;  // texts, profiles, and what else may be decompressed to much
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, kAllButPixelsAndPalette);
    png_set_read_fn(png_, &source_, isobit_png_read);
    png_read_info(png_, info_);
    return true;
  }

  int64_t width() const { return png_get_image_width(png_, info_); }
  int64_t height() const { return png_get_image_height(png_, info_); }
  int bits() const { return png_get_bit_depth(png_, info_); }
  bool is_transparent() const {
    return (png_get_color_type(png_, info_) & PNG_COLOR_MASK_ALPHA) != 0 ||
           png_get_valid(png_, info_, PNG_INFO_tRNS) != 0;
  }
  int64_t channels() const { return (png_get_color_type(png_, info_) & PNG_COLOR_MASK_COLOR) != 0 ? 3 : 1; }

  // rows: one pointer for each row of width() * channels() bytes.
  bool read_rows(uint8_t** rows) {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    if (png_get_color_type(png_, info_) == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png_);
    if (png_get_color_type(png_, info_) == PNG_COLOR_TYPE_GRAY && bits() < 8) {
      png_set_expand_gray_1_2_4_to_8(png_);
    }
    png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    if (png_get_rowbytes(png_, info_) != static_cast<size_t>(width() * channels())) {
      png_error(png_, "its rows have an unexpected size");
    }
    png_read_image(png_, rows);
    png_read_end(png_, nullptr);
    return true;
  }

 private:
  Source source_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

tl::unexpected<Error> damaged(const std::string& name, const Reader& reader) {
  return unreadable(text_of(name, ": is no good PNG file: ", reader.problem(), "; save it again or fetch it anew"));
}

// What is in front of the pixels, which must be of a kind that is read.
Status open(Reader& reader, const std::string& name, int64_t max_pixels) {
  if (!reader.created()) return unavailable(text_of(name, ": not enough memory to read it"));
  if (!reader.read_info()) return damaged(name, reader);
  ISOBIT_RETURN_IF_ERROR(check_image_size(reader.width(), reader.height(), max_pixels, name));
  if (reader.bits() > 8) {
    return unreadable(text_of(name, ": found ", reader.bits(),
                              " bits a value, expected at most 8; convert it, or save ", "the images as .npy"));
  }
  if (reader.is_transparent()) {
    return unreadable(text_of(name, ": found transparency, expected grey or colour alone; put it on a background"));
  }
  return {};
}

// The pixels, once as the library gives them and once as planes, a pointer for each row, and a few rows of the library.
uint64_t decoding_bytes(const Reader& reader) {
  const auto height = static_cast<uint64_t>(reader.height());
  const uint64_t row = static_cast<uint64_t>(reader.width()) * static_cast<uint64_t>(reader.channels());
  return 2 * height * row + height * sizeof(void*) + 4 * row + kMostOfLibrary;
}

}  // namespace

Expected<ImageHeader> png_header(ByteView data, const std::string& name, int64_t max_pixels) {
  Reader reader(data);
  ISOBIT_RETURN_IF_ERROR(open(reader, name, max_pixels));
  return ImageHeader{Shape{reader.channels(), reader.height(), reader.width()}, decoding_bytes(reader)};
}

Expected<Tensor> decode_png(ByteView data, const std::string& name, int64_t max_pixels) {
  Reader reader(data);
  ISOBIT_RETURN_IF_ERROR(open(reader, name, max_pixels));
  const int64_t width = reader.width(), height = reader.height(), channels = reader.channels();
  const auto row = static_cast<size_t>(width * channels);
  Bytes pixels(row * static_cast<size_t>(height));
  std::vector<uint8_t*> rows;
  for (size_t y = 0; y < static_cast<size_t>(height); ++y) rows.push_back(pixels.data() + y * row);
  if (!reader.read_rows(rows.data())) return damaged(name, reader);
  return planes_of(pixels, channels, height, width);
}

}  // namespace isobit::formats::internal
