#include "isobit/graph/ops/windows.h"

#include <algorithm>

#include "isobit/base/text.h"

namespace isobit::graph::ops {
namespace {

constexpr int64_t kMost = 1 << 24;  // of every number, which keeps every product of them far from overflow
constexpr int64_t kMostWindowPlaces = (int64_t{1} << 31) - 1;

Status check_range(const char* what, std::span<const int64_t> numbers, int64_t least) {
  for (int64_t v : numbers) {
    if (v < least || v > kMost) {
      return unreadable(text_of(what, ": found ", v, ", expected ", least, " to ", kMost));
    }
  }
  return {};
}

// How auto_pad shares out the padding of an axis that needs `total` of it.
void share_out(int64_t total, bool upper, AxisWindow& w) {
  w.pad_begin = upper ? total / 2 : total - total / 2;
  w.pad_end = total - w.pad_begin;
}

struct AutoPad {
  bool same = false, upper = false, valid = false;
};

Expected<AutoPad> read_auto_pad(const Attributes& a) {
  const std::string text = a.text("auto_pad", "NOTSET");
  if (text == "NOTSET") return AutoPad{};
  if (text == "VALID") return AutoPad{.valid = true};
  if (text == "SAME_UPPER") return AutoPad{.same = true, .upper = true};
  if (text == "SAME_LOWER") return AutoPad{.same = true};
  return unreadable(text_of("auto_pad '", text, "': expected NOTSET, VALID, SAME_UPPER or SAME_LOWER"));
}

// All but what auto_pad says.
Expected<Windows> read_numbers(const Attributes& a, size_t rank, std::span<const int64_t> kernel) {
  const auto size = a.integers("kernel_shape", {kernel.begin(), kernel.end()});
  const auto strides = a.integers("strides", std::vector<int64_t>(rank, 1)),
             dilations = a.integers("dilations", std::vector<int64_t>(rank, 1)),
             pads = a.integers("pads", std::vector<int64_t>(2 * rank, 0));
  if (size.size() != rank || strides.size() != rank || dilations.size() != rank || pads.size() != 2 * rank) {
    return unreadable(text_of("kernel_shape, strides and dilations need ", rank, " numbers and pads ", 2 * rank));
  }
  for (const auto* list : {&size, &strides, &dilations}) {
    ISOBIT_RETURN_IF_ERROR(check_range("kernel_shape, strides and dilations", *list, 1));
  }
  ISOBIT_RETURN_IF_ERROR(check_range("pads", pads, 0));
  Windows windows(rank);
  for (size_t i = 0; i < rank; ++i) {
    windows[i] = {.size = size[i],
                  .stride = strides[i],
                  .dilation = dilations[i],
                  .pad_begin = pads[i],
                  .pad_end = pads[rank + i]};
  }
  return windows;
}

// Padding and result along one axis of a transposed convolution. wanted: of output_shape, or -1.
Status transpose(AxisWindow& w, const AutoPad& auto_pad, int64_t src, int64_t output_padding, int64_t wanted,
                 int64_t& image) {
  image = wanted;
  if (src < 0) return {};
  const int64_t whole = w.stride * (src - 1) + output_padding + w.reach();
  if (wanted < 0 && !auto_pad.same) {
    if (auto_pad.valid) w.pad_begin = w.pad_end = 0;
    image = whole - w.pad_begin - w.pad_end;
  } else {
    if (wanted < 0) {
      image = src * w.stride;
      // ONNX's text, its shape inference and its reference differ in what less than no padding means.
      if (whole < image) {
        return unreadable(text_of("auto_pad SAME asks for ", image,
                                  " places along an axis, of which the windows reach ", whole,
                                  ": say output_shape or pads instead"));
      }
    }
    share_out(std::max<int64_t>(0, whole - image), auto_pad.upper, w);
  }
  if (image < 1) return unreadable(text_of("the result has ", image, " places along an axis, expected 1 or more"));
  // The window at the source's last place ends `needed` places behind the image, or leaves places behind it.
  const int64_t needed = w.stride * (src - 1) + w.reach() - image - w.pad_begin;
  if (-needed >= w.stride) {
    return unreadable(text_of("the result's last ", -needed,
                              " places along an axis are reached by no window, which is ",
                              "possible for less than the stride, ", w.stride));
  }
  w.pad_end = std::max<int64_t>(0, needed);
  return {};
}

}  // namespace

int64_t AxisWindow::count(int64_t in) const {
  if (in < 0) return -1;
  const int64_t room = in + pad_begin + pad_end - reach();
  if (room < 0) return 0;
  int64_t windows = (room + (ceil ? stride - 1 : 0)) / stride + 1;
  if (ceil && (windows - 1) * stride >= in + pad_begin) --windows;
  return windows;
}

Expected<Windows> read_windows(const Attributes& a, std::span<const int64_t> image, std::span<const int64_t> kernel) {
  ISOBIT_TRY(Windows windows, read_numbers(a, image.size(), kernel));
  ISOBIT_TRY(const AutoPad auto_pad, read_auto_pad(a));
  for (size_t i = 0; i < windows.size(); ++i) {
    AxisWindow& w = windows[i];
    if (!auto_pad.same && !auto_pad.valid) {
      w.ceil = a.integer("ceil_mode", 0) != 0;
      continue;
    }
    w.pad_begin = w.pad_end = 0;
    if (!auto_pad.same || image[i] < 0) continue;
    const int64_t count = image[i] == 0 ? 0 : (image[i] - 1) / w.stride + 1;
    share_out(std::max<int64_t>(0, (count - 1) * w.stride + w.reach() - image[i]), auto_pad.upper, w);
  }
  return windows;
}

Expected<TransposedWindows> read_transposed_windows(const Attributes& a, std::span<const int64_t> src,
                                                    std::span<const int64_t> kernel) {
  const size_t rank = src.size();
  TransposedWindows t;
  ISOBIT_TRY(t.windows, read_numbers(a, rank, kernel));
  ISOBIT_TRY(const AutoPad auto_pad, read_auto_pad(a));
  const auto padding = a.integers("output_padding", std::vector<int64_t>(rank, 0)),
             wanted = a.integers("output_shape", {});
  if (padding.size() != rank || (!wanted.empty() && wanted.size() != rank)) {
    return unreadable(
        text_of("output_padding and output_shape need ", rank, " numbers, one for each axis of the image"));
  }
  ISOBIT_RETURN_IF_ERROR(check_range("output_padding", padding, 0));
  for (int64_t v : wanted) {
    if (v < 1 || v > kMostWindowPlaces) {
      return unreadable(text_of("output_shape: found ", v, ", expected 1 to ", kMostWindowPlaces));
    }
  }
  t.image.resize(rank);
  for (size_t i = 0; i < rank; ++i) {
    ISOBIT_RETURN_IF_ERROR(
        transpose(t.windows[i], auto_pad, src[i], padding[i], wanted.empty() ? -1 : wanted[i], t.image[i]));
  }
  ISOBIT_RETURN_IF_ERROR(check_plane(t.image));
  return t;
}

Status check_plane(std::span<const int64_t> image) {
  int64_t places = 1;
  bool few = true;
  for (int64_t d : image) {
    few = few && d <= kMostWindowPlaces && (d <= 0 || places <= kMostWindowPlaces / d);
    if (few && d > 0) places *= d;
  }
  if (few) return {};
  std::string extents;
  for (int64_t d : image) extents += text_of(extents.empty() ? "" : " x ", d);
  return unreadable(text_of("a plane of ", extents, " places; windows are computed on up to ", kMostWindowPlaces));
}

Status check_counts(const Windows& windows, std::span<const int64_t> image) {
  for (size_t i = 0; i < windows.size(); ++i) {
    if (image[i] >= 0 && windows[i].count(image[i]) < 1) {
      return unreadable("the window is larger than the padded source");
    }
  }
  return {};
}

Expected<std::vector<int64_t>> unpooled_dims(const Attributes& attributes, const std::vector<int64_t>& src) {
  if (src.size() < 3) return unreadable("the pooled values need rank 3 or more");
  const std::span<const int64_t> image = image_of(src);
  ISOBIT_RETURN_IF_ERROR(check_plane(image));
  ISOBIT_TRY(const Windows windows, read_windows(attributes, image, {}));
  std::vector<int64_t> dims = src;
  for (size_t i = 0; i < windows.size(); ++i) {
    int64_t& d = dims[i + 2];
    if (d < 0) continue;
    d = (d - 1) * windows[i].stride + windows[i].size - windows[i].pad_begin - windows[i].pad_end;
    if (d < 1) return unreadable(text_of("the unpooled plane has ", d, " places along an axis, expected 1 or more"));
  }
  ISOBIT_RETURN_IF_ERROR(check_plane(image_of(dims)));
  return dims;
}

Attributes attributes_of(const Windows& windows) {
  std::vector<int64_t> size, strides, dilations, pads, ends;
  for (const AxisWindow& w : windows) {
    size.push_back(w.size);
    strides.push_back(w.stride);
    dilations.push_back(w.dilation);
    pads.push_back(w.pad_begin);
    ends.push_back(w.pad_end);
  }
  pads.insert(pads.end(), ends.begin(), ends.end());
  return {{"kernel_shape", size}, {"strides", strides}, {"dilations", dilations}, {"pads", pads}};
}

std::vector<int64_t> dims_of_windows(int64_t n, int64_t c, const Windows& windows, std::span<const int64_t> image) {
  std::vector<int64_t> dims = {n, c};
  for (size_t i = 0; i < windows.size(); ++i) dims.push_back(windows[i].count(image[i]));
  return dims;
}

}  // namespace isobit::graph::ops
