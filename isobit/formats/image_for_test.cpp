#include "isobit/formats/image_for_test.h"

#include <gtest/gtest.h>
#include <png.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>

// Needs types of the headers above.
#include <jpeglib.h>

namespace isobit::formats {
namespace {

extern "C" void isobit_test_png_write(png_structp png, png_bytep data, size_t size) {
  auto* out = static_cast<Bytes*>(png_get_io_ptr(png));
  out->insert(out->end(), data, data + size);
}
extern "C" void isobit_test_png_flush(png_structp) {}

}  // namespace

// Errors end the test program: libpng without a frame to jump to aborts, as does libjpeg's standard handler.
Bytes png_of(const PngForTest& p, ByteView pixels) {
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  Bytes out;
  png_set_write_fn(png, &out, isobit_test_png_write, isobit_test_png_flush);
  png_set_IHDR(png, info, static_cast<png_uint_32>(p.width), static_cast<png_uint_32>(p.height), p.bits, p.colour,
               p.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  std::vector<png_color> palette;
  for (size_t i = 0; i + 2 < p.palette.size(); i += 3) {
    palette.push_back({p.palette[i], p.palette[i + 1], p.palette[i + 2]});
  }
  if (!palette.empty()) png_set_PLTE(png, info, palette.data(), static_cast<int>(palette.size()));
  if (!p.transparency.empty()) {
    png_set_tRNS(png, info, p.transparency.data(), static_cast<int>(p.transparency.size()), nullptr);
  }
  png_write_info(png, info);
  const size_t row = pixels.size() / static_cast<size_t>(p.height);
  EXPECT_EQ(row, png_get_rowbytes(png, info));
  std::vector<uint8_t> copy(pixels.begin(), pixels.end());
  std::vector<png_bytep> rows;
  for (size_t y = 0; y < static_cast<size_t>(p.height); ++y) rows.push_back(copy.data() + y * row);
  png_write_image(png, rows.data());
  png_write_end(png, nullptr);
  png_destroy_write_struct(&png, &info);
  return out;
}

Bytes jpeg_of(int64_t width, int64_t height, int channels, ByteView pixels, JpegForTest form) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = ::jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  ::jpeg_mem_dest(&info, &memory, &size);
  info.image_width = static_cast<JDIMENSION>(width);
  info.image_height = static_cast<JDIMENSION>(height);
  info.input_components = channels;
  info.in_color_space = channels == 1 ? JCS_GRAYSCALE : channels == 3 ? JCS_RGB : JCS_CMYK;
  ::jpeg_set_defaults(&info);
  info.dct_method = JDCT_ISLOW;
  if (form == JpegForTest::kProgressive) ::jpeg_simple_progression(&info);
  ::jpeg_start_compress(&info, TRUE);
  std::vector<uint8_t> copy(pixels.begin(), pixels.end());
  while (info.next_scanline < info.image_height) {
    JSAMPROW row = copy.data() + static_cast<size_t>(info.next_scanline) * static_cast<size_t>(width * channels);
    ::jpeg_write_scanlines(&info, &row, 1);
  }
  ::jpeg_finish_compress(&info);
  ::jpeg_destroy_compress(&info);
  const Bytes out(memory, memory + size);
  std::free(memory);
  return out;
}

Bytes as_progressive(ByteView jpeg) {
  jpeg_decompress_struct from{};
  jpeg_compress_struct to{};
  jpeg_error_mgr errors{};
  from.err = to.err = ::jpeg_std_error(&errors);
  jpeg_create_decompress(&from);
  jpeg_create_compress(&to);
  ::jpeg_mem_src(&from, jpeg.data(), static_cast<unsigned long>(jpeg.size()));
  ::jpeg_read_header(&from, TRUE);
  jvirt_barray_ptr* coefficients = ::jpeg_read_coefficients(&from);
  ::jpeg_copy_critical_parameters(&from, &to);
  ::jpeg_simple_progression(&to);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  ::jpeg_mem_dest(&to, &memory, &size);
  ::jpeg_write_coefficients(&to, coefficients);
  ::jpeg_finish_compress(&to);
  ::jpeg_destroy_compress(&to);
  ::jpeg_finish_decompress(&from);
  ::jpeg_destroy_decompress(&from);
  const Bytes out(memory, memory + size);
  std::free(memory);
  return out;
}

}  // namespace isobit::formats
