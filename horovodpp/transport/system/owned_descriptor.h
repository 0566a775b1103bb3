// SPDX-License-Identifier: Apache-2.0
// An OwnedDescriptor closes its descriptor. A program, or a library that makes
// it a daemon, may close all descriptors of its process. It may then open other
// files under the same numbers. Such a file is not closed.
//
//   OwnedDescriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
//   if (socket.is_there()) ::send(socket.number(), ...);
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
  // Whether the number still refers to the file that was opened. Epolls,
  // eventfds and (before Linux 6.9) pidfds are all one file: for them another
  // sign is needed (wake_pipe.h).
  bool is_there() const;
  // Forgets the descriptor without closing it.
  void abandon() { number_ = -1; }

 private:
  int number_ = -1;
  dev_t device_ = 0;
  ino_t file_ = 0;
};

}  // namespace hvd::transport
