// Shape, type and storage. No arithmetic.
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "isobit/base/bytes.h"
#include "isobit/base/status.h"
#include "isobit/tensor/device.h"
#include "isobit/tensor/dtype.h"

namespace isobit {

// Row-major dimensions, each >= 0. A scalar has rank 0.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<int64_t> dims) : dims_(dims) {}
  explicit Shape(std::vector<int64_t> dims) : dims_(std::move(dims)) {}

  int rank() const { return static_cast<int>(dims_.size()); }
  // Negative axes count from the end. REQUIRES -rank <= axis < rank.
  int64_t operator[](int axis) const { return dims_[static_cast<size_t>(axis < 0 ? axis + rank() : axis)]; }
  const std::vector<int64_t>& dims() const { return dims_; }
  int64_t elements() const { return elements(0, rank()); }
  // Product of the dimensions begin <= axis < end.
  int64_t elements(int begin, int end) const;
  std::string text() const;  // "[2, 3]"
  bool operator==(const Shape&) const = default;

 private:
  std::vector<int64_t> dims_;
};

// Number of elements, or an error when a dimension is negative or the product (or its size in bytes) overflows or is
// over `max_bytes`. For dimensions that come from outside.
Expected<int64_t> checked_elements(std::span<const int64_t> dims, DType dtype, uint64_t max_bytes);

// The same, but a dimension of 0 counts as 1. A limit on this one holds for tensors without elements, too: there is
// nothing in [2^60, 0], but whoever goes through its rows never comes to an end.
Expected<int64_t> checked_extents(std::span<const int64_t> dims, DType dtype, uint64_t max_bytes);

// A dense row-major array on a device, the host unless said. Copies share storage (64-byte aligned); clone() does not.
// Only on the host can the elements be looked at: data(), span(), raw() and byte_view() REQUIRE on_host().
//
// Undefined is a tensor without storage: one never made, moved from, or made by without_storage. Its copies are
// undefined, too.
class Tensor {
 public:
  Tensor() = default;
  Tensor(const Tensor&) = default;
  Tensor& operator=(const Tensor&) = default;
  // Leaves a tensor as if it had never been made.
  Tensor(Tensor&& other) noexcept { *this = std::move(other); }
  Tensor& operator=(Tensor&& other) noexcept;
  // Contents undefined until written.
  Tensor(DType dtype, Shape shape, Device& device = host());
  static Tensor zeros(DType dtype, Shape shape);
  template <class T>
  static Tensor of(Shape shape, std::span<const T> values) {
    Tensor t(dtype_of<T>(), std::move(shape));
    ISOBIT_CHECK(t.elements() == static_cast<int64_t>(values.size()));
    if (!values.empty()) std::memcpy(t.raw(), values.data(), values.size_bytes());
    return t;
  }
  template <class T>
  static Tensor scalar(T value) {
    return of<T>(Shape{}, std::span<const T>(&value, 1));
  }

  // What share_storage gives a storage to; undefined until then.
  static Tensor without_storage(DType dtype, Shape shape);
  // Whether type and dimensions are these, storage or not.
  bool has_type(DType dtype, const std::vector<int64_t>& dims) const {
    return dtype_ == dtype && shape_.dims() == dims;
  }

  Device& device() const { return device_ == nullptr ? host() : *device_; }
  bool on_host() const { return device_ == nullptr; }
  // A copy there, never shared, the way between two devices being over the host.
  Tensor copied_to(Device& device) const;

  bool defined() const { return storage_ != nullptr; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  int64_t elements() const { return elements_; }
  size_t bytes() const { return static_cast<size_t>(elements_) * size_of(dtype_); }

  template <class T>
  T* data() {
    ISOBIT_CHECK(dtype_ == dtype_of<T>() && on_host());
    return reinterpret_cast<T*>(storage_.get());
  }
  template <class T>
  const T* data() const {
    ISOBIT_CHECK(dtype_ == dtype_of<T>() && on_host());
    return reinterpret_cast<const T*>(storage_.get());
  }
  template <class T>
  std::span<T> span() {
    return {data<T>(), static_cast<size_t>(elements_)};
  }
  template <class T>
  std::span<const T> span() const {
    return {data<T>(), static_cast<size_t>(elements_)};
  }
  void* raw() {
    ISOBIT_CHECK(on_host());
    return storage_.get();
  }
  const void* raw() const {
    ISOBIT_CHECK(on_host());
    return storage_.get();
  }
  ByteView byte_view() const { return {static_cast<const uint8_t*>(raw()), bytes()}; }

  // Same storage, other dimensions. REQUIRES the same number of elements.
  Tensor reshaped(Shape shape) const;
  Tensor clone() const;
  // Bytes of this tensor from `offset` on, under another type. The same storage. REQUIRES that they lie in it and that
  // offset is a multiple of the type's size.
  Tensor part(uint64_t offset, DType dtype, Shape shape) const;
  // Type and shape stay, the storage and its device are those of `other` from now on, or none. REQUIRES the same number
  // of bytes.
  void share_storage(const Tensor& other);
  void drop_storage() { storage_.reset(); }
  // Whether nothing else refers to the storage, so that it may be overwritten in place.
  bool sole_owner() const { return owners() == 1; }
  int64_t owners() const { return storage_.use_count(); }  // tensors that refer to it, this one included

 private:
  DType dtype_ = DType::kFloat32;
  Shape shape_;
  int64_t elements_ = 0;
  Device* device_ = nullptr;  // of the storage; null: the host
  std::shared_ptr<uint8_t[]> storage_;
};

// Same dtype, shape and bits; two undefined ones as well. REQUIRES that both are on the host.
bool identical(const Tensor& a, const Tensor& b);

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

}  // namespace isobit
