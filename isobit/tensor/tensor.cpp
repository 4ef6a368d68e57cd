#include "isobit/tensor/tensor.h"

#include <algorithm>
#include <utility>

#include "isobit/base/text.h"

namespace isobit {

int64_t Shape::elements(int begin, int end) const {
  int64_t n = 1;
  for (int i = begin; i < end; ++i) n *= dims_[static_cast<size_t>(i)];
  return n;
}

std::string Shape::text() const {
  std::string out = "[";
  for (size_t i = 0; i < dims_.size(); ++i) out += text_of(i ? ", " : "", dims_[i]);
  return out + "]";
}

Expected<int64_t> checked_elements(std::span<const int64_t> dims, DType dtype, uint64_t max_bytes) {
  const uint64_t limit = max_bytes / size_of(dtype);
  // A zero anywhere makes the number of elements 0, but products of some of the dimensions are formed too (matrix
  // views, strides): none of them may overflow.
  int64_t product = 1;
  bool empty = false;
  for (int64_t dim : dims) {
    if (dim < 0) return unreadable(text_of("dimension ", dim, " is negative"));
    empty = empty || dim == 0;
    if (dim != 0 && __builtin_mul_overflow(product, dim, &product)) return unreadable("dimensions overflow");
  }
  const uint64_t n = empty ? 0 : static_cast<uint64_t>(product);
  if (n > limit) {
    return unreadable(text_of("dimensions ask for ", n, " elements of ", name_of(dtype), ", over the limit of ",
                              human_bytes(max_bytes)));
  }
  return static_cast<int64_t>(n);
}

Expected<int64_t> checked_extents(std::span<const int64_t> dims, DType dtype, uint64_t max_bytes) {
  std::vector<int64_t> extents(dims.begin(), dims.end());
  std::ranges::replace(extents, 0, 1);
  return checked_elements(extents, dtype, max_bytes);
}

Tensor::Tensor(DType dtype, Shape shape, Device& device)
    : dtype_(dtype),
      shape_(std::move(shape)),
      elements_(shape_.elements()),
      device_(&device == &host() ? nullptr : &device) {
  ISOBIT_CHECK(elements_ >= 0);
  storage_ = device.allocate(std::max<size_t>(bytes(), 1));
}

Tensor& Tensor::operator=(Tensor&& other) noexcept {
  if (this == &other) return *this;
  dtype_ = std::exchange(other.dtype_, DType::kFloat32);
  shape_ = std::exchange(other.shape_, Shape());
  elements_ = std::exchange(other.elements_, 0);
  device_ = std::exchange(other.device_, nullptr);
  storage_ = std::move(other.storage_);
  return *this;
}

Tensor Tensor::copied_to(Device& device) const {
  if (!defined()) return {};
  Tensor there(dtype_, shape_, device);
  if (on_host()) {
    device.copy_in(there.storage_.get(), byte_view());
  } else if (&device == &host()) {
    device_->copy_out({there.storage_.get(), bytes()}, storage_.get());
  } else {
    return copied_to(host()).copied_to(device);
  }
  return there;
}

Tensor Tensor::without_storage(DType dtype, Shape shape) {
  Tensor t;
  t.dtype_ = dtype;
  t.elements_ = shape.elements();
  t.shape_ = std::move(shape);
  return t;
}

Tensor Tensor::zeros(DType dtype, Shape shape) {
  Tensor t(dtype, std::move(shape));
  std::memset(t.raw(), 0, t.bytes());
  return t;
}

Tensor Tensor::reshaped(Shape shape) const {
  ISOBIT_CHECK(shape.elements() == elements_);
  Tensor t = *this;
  t.shape_ = std::move(shape);
  return t;
}

Tensor Tensor::part(uint64_t offset, DType dtype, Shape shape) const {
  Tensor t;
  t.dtype_ = dtype;
  t.shape_ = std::move(shape);
  t.elements_ = t.shape_.elements();
  ISOBIT_CHECK(offset % size_of(dtype) == 0 && offset <= bytes() && t.bytes() <= bytes() - offset);
  t.device_ = device_;
  t.storage_ = std::shared_ptr<uint8_t[]>(storage_, storage_.get() + offset);
  return t;
}

void Tensor::share_storage(const Tensor& other) {
  ISOBIT_CHECK(other.bytes() == bytes());
  device_ = other.device_;
  storage_ = other.storage_;
}

Tensor Tensor::clone() const { return copied_to(device()); }

bool identical(const Tensor& a, const Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined();
  return a.dtype() == b.dtype() && a.shape() == b.shape() && std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

}  // namespace isobit
