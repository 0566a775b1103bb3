// SPDX-License-Identifier: Apache-2.0
// A WakePipe wakes a thread that polls descriptors. It also tells whether the
// program has closed the descriptors of its process, as a library does that
// makes its process a daemon. A pipe is a file of its own: no other file under
// its number is mistaken for it. All eventfds are one file to fstat(2).
//
//   poll(pipe.descriptor() for POLLIN)   // One thread.
//   pipe.clear();
//   pipe.wake();                         // Another thread.
//
// Thread-safe.
#pragma once

#include "horovodpp/transport/system/owned_descriptor.h"

namespace hvd::transport {

class WakePipe {
 public:
  WakePipe();

  // False if the system had no descriptor left.
  bool is_open() const { return reading_.is_open(); }
  // Whether the program has left it open.
  bool is_there() const { return reading_.is_there() && writing_.is_there(); }
  // Readable after wake(), until clear().
  int descriptor() const { return reading_.number(); }

  void wake() const;
  void clear() const;

 private:
  OwnedDescriptor reading_;
  OwnedDescriptor writing_;
};

}  // namespace hvd::transport
