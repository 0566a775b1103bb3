// SPDX-License-Identifier: Apache-2.0
// Ref<T> is an owning pointer to an object that counts its own owners with T's
// retain() and release(). One pointer wide, so that a Tensor is too.
//
// A Ref is as thread-safe as a pointer; the counts are atomic.
#pragma once

#include <utility>

#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {
namespace autograd {

template <typename T>
class Ref {
 public:
  constexpr Ref() = default;
  constexpr Ref(std::nullptr_t) {}  // NOLINT(google-explicit-constructor)
  Ref(const Ref& other) : object_(other.object_) {
    if (object_ != nullptr) object_->retain();
  }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  template <typename U>
  Ref(Ref<U> other) noexcept  // NOLINT(google-explicit-constructor)
      : object_(other.leak()) {}
  ~Ref() {
    if (object_ != nullptr) object_->release();
  }
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }

  // Takes over a reference that the caller owns.
  static Ref adopt(T* object) {
    Ref ref;
    ref.object_ = object;
    return ref;
  }
  // Adds a reference.
  static Ref share(T* object) {
    if (object != nullptr) object->retain();
    return adopt(object);
  }
  // Passes the reference to the caller.
  T* leak() { return std::exchange(object_, nullptr); }

  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  friend bool operator==(const Ref& a, const Ref& b) {
    return a.object_ == b.object_;
  }

 private:
  T* object_ = nullptr;
};

}  // namespace autograd
}  // namespace hvd
