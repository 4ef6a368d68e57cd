#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <cstring>

// Needs types of the headers above.
#include <jpeglib.h>

#include "isobit/base/text.h"
#include "isobit/formats/image_internal.h"

namespace isobit::formats::internal {
namespace {

// libjpeg calls the functions below with its own struct, which this one begins with. They jump out of an error to the
// frame that called setjmp last, so nothing between such a frame and the library may have a destructor.
struct Failure {
  jpeg_error_mgr manager;
  std::jmp_buf jump;
  char problem[JMSG_LENGTH_MAX];
};

extern "C" {

[[noreturn]] void isobit_jpeg_fail(j_common_ptr info) {
  auto* failure = reinterpret_cast<Failure*>(info->err);
  info->err->format_message(info, failure->problem);
  std::longjmp(failure->jump, 1);
}

// A warning (below 0) says that something was missing or damaged and made up: that is no image.
void isobit_jpeg_message(j_common_ptr info, int level) {
  if (level < 0) isobit_jpeg_fail(info);
}

void isobit_jpeg_silence(j_common_ptr) {}

void isobit_jpeg_progress(j_common_ptr info) {
  if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number <= kMaxJpegScans) return;
  auto* failure = reinterpret_cast<Failure*>(info->err);
  std::snprintf(failure->problem, sizeof failure->problem, "it has more than %d scans", kMaxJpegScans);
  std::longjmp(failure->jump, 1);
}

}  // extern "C"

class Reader {
 public:
  Reader() {
    info_.err = ::jpeg_std_error(&failure_.manager);
    failure_.manager.error_exit = isobit_jpeg_fail;
    failure_.manager.emit_message = isobit_jpeg_message;
    failure_.manager.output_message = isobit_jpeg_silence;
    progress_.progress_monitor = isobit_jpeg_progress;
  }
  ~Reader() { ::jpeg_destroy_decompress(&info_); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  const char* problem() const { return failure_.problem; }

  // All before the pixels.
  bool read_header(ByteView data) {
    if (setjmp(failure_.jump) != 0) return false;
    jpeg_create_decompress(&info_);
    info_.progress = &progress_;
    ::jpeg_mem_src(&info_, data.data(), static_cast<unsigned long>(data.size()));
    ::jpeg_read_header(&info_, TRUE);
    return true;
  }

  int64_t width() const { return info_.image_width; }
  int64_t height() const { return info_.image_height; }
  bool is_known_colour() const {
    return info_.jpeg_color_space == JCS_GRAYSCALE || info_.jpeg_color_space == JCS_YCbCr ||
           info_.jpeg_color_space == JCS_RGB;
  }
  bool has_scans() { return ::jpeg_has_multiple_scans(&info_) != FALSE; }
  int64_t channels() const { return info_.jpeg_color_space == JCS_GRAYSCALE ? 1 : 3; }

  // pixels: rows of width() * channels() bytes. What is set here is what image.h says.
  bool read_rows(uint8_t* pixels) {
    if (setjmp(failure_.jump) != 0) return false;
    info_.dct_method = JDCT_ISLOW;
    info_.do_fancy_upsampling = FALSE;
    info_.do_block_smoothing = FALSE;
    info_.out_color_space = channels() == 1 ? JCS_GRAYSCALE : JCS_RGB;
    ::jpeg_start_decompress(&info_);
    while (info_.output_scanline < info_.output_height) {
      JSAMPROW row = pixels + static_cast<size_t>(info_.output_scanline) * static_cast<size_t>(width() * channels());
      ::jpeg_read_scanlines(&info_, &row, 1);
    }
    ::jpeg_finish_decompress(&info_);
    return true;
  }

 private:
  Failure failure_{};
  jpeg_progress_mgr progress_{};
  jpeg_decompress_struct info_{};
};

tl::unexpected<Error> damaged(const std::string& name, const Reader& reader) {
  return unreadable(text_of(name, ": is no good JPEG file: ", reader.problem(), "; save it again or fetch it anew"));
}

Status open(Reader& reader, ByteView data, const std::string& name, int64_t max_pixels) {
  if (!reader.read_header(data)) return damaged(name, reader);
  ISOBIT_RETURN_IF_ERROR(check_image_size(reader.width(), reader.height(), max_pixels, name));
  if (!reader.is_known_colour()) {
    return unreadable(
        text_of(name, ": found neither grey, YCbCr nor RGB (CMYK, perhaps), expected one of them; ", "convert it"));
  }
  return {};
}

// The pixels, once as the library gives them and once as planes, a few rows of the library, and where the image comes
// in several scans all its coefficients, of 2 bytes each in blocks of at most 32 by 32 pixels.
uint64_t decoding_bytes(Reader& reader) {
  const auto width = static_cast<uint64_t>(reader.width()), height = static_cast<uint64_t>(reader.height());
  const auto channels = static_cast<uint64_t>(reader.channels());
  const uint64_t coefficients = reader.has_scans() ? 2 * (width + 31) * (height + 31) * channels : 0;
  constexpr uint64_t kOfLibrary = 1 << 18;
  return 2 * width * height * channels + coefficients + 128 * (width + 31) * channels + kOfLibrary;
}

}  // namespace

Expected<ImageHeader> jpeg_header(ByteView data, const std::string& name, int64_t max_pixels) {
  Reader reader;
  ISOBIT_RETURN_IF_ERROR(open(reader, data, name, max_pixels));
  return ImageHeader{Shape{reader.channels(), reader.height(), reader.width()}, decoding_bytes(reader)};
}

Expected<Tensor> decode_jpeg(ByteView data, const std::string& name, int64_t max_pixels) {
  Reader reader;
  ISOBIT_RETURN_IF_ERROR(open(reader, data, name, max_pixels));
  const int64_t width = reader.width(), height = reader.height(), channels = reader.channels();
  Bytes pixels(static_cast<size_t>(width * height * channels));
  if (!reader.read_rows(pixels.data())) return damaged(name, reader);
  return planes_of(pixels, channels, height, width);
}

}  // namespace isobit::formats::internal
