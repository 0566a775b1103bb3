// The dimensions of a tensor, slowest first. No dimensions is a scalar of one
// element; a dimension of 0 is legal and means no elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace hvd {

class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> dims) : dims_(dims) {}
  explicit Shape(std::vector<std::int64_t> dims) : dims_(std::move(dims)) {}

  std::size_t rank() const { return dims_.size(); }
  std::int64_t operator[](std::size_t i) const { return dims_[i]; }
  const std::vector<std::int64_t>& dims() const { return dims_; }

  // The product of the dimensions. Of a shape that checked() refuses:
  // unspecified.
  std::int64_t num_elements() const;

  // InvalidArgument if a dimension is negative or if elements of
  // `element_bytes` bytes would not fit into 2^63 bytes.
  absl::Status checked(std::size_t element_bytes) const;

  // The shape without its first dimension; of a scalar: the scalar.
  Shape tail() const;

  // "[128,10]"; "[]" for a scalar.
  std::string to_string() const;

  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  std::vector<std::int64_t> dims_;
};

}  // namespace hvd
