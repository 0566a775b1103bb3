// SPDX-License-Identifier: Apache-2.0
// During its lifetime no thread can start: each would need a stack larger than
// the address space.
#pragma once

#include <pthread.h>

#include <cstddef>

namespace hvd {

class NoThreads {
 public:
  NoThreads() {
    ::pthread_getattr_default_np(&before_);
    pthread_attr_t endless;
    ::pthread_attr_init(&endless);
    ::pthread_attr_setstacksize(&endless, std::size_t{1} << 62);
    ::pthread_setattr_default_np(&endless);
    ::pthread_attr_destroy(&endless);
  }
  ~NoThreads() {
    ::pthread_setattr_default_np(&before_);
    ::pthread_attr_destroy(&before_);
  }
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;

 private:
  pthread_attr_t before_;
};

}  // namespace hvd
