// SPDX-License-Identifier: Apache-2.0
// An OwnedDescriptor closes its descriptor. A program, or a library that makes
// it a daemon, may close all descriptors of its process and then open other
// files under the same numbers. Such a file is not closed.
//
//   OwnedDescriptor wake(::eventfd(0, EFD_CLOEXEC));
//   if (wake.is_there()) ::eventfd_write(wake.number(), 1);
//
// For one thread at a time; const functions for any.
#pragma once

#include <sys/types.h>

namespace hvd::transport {

class OwnedDescriptor {
 public:
  OwnedDescriptor() = default;
  explicit OwnedDescriptor(int number);
  ~OwnedDescriptor();
  OwnedDescriptor(OwnedDescriptor&& other) noexcept;
  OwnedDescriptor& operator=(OwnedDescriptor&& other) noexcept;

  int number() const { return number_; }  // -1: none.
  bool is_open() const { return number_ >= 0; }
  // Whether the number still refers to the file that was opened.
  bool is_there() const;

 private:
  int number_ = -1;
  dev_t device_ = 0;
  ino_t file_ = 0;
};

}  // namespace hvd::transport
