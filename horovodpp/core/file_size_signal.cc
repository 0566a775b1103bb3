// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/file_size_signal.h"

#include <pthread.h>

#include <ctime>

#include "horovodpp/core/export.h"

namespace hvd {
namespace {

sigset_t only_xfsz() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGXFSZ);
  return set;
}

}  // namespace

HVD_EXPORT FileSizeSignal::FileSizeSignal() {
  const sigset_t set = only_xfsz();
  ::pthread_sigmask(SIG_BLOCK, &set, &before_);
}

// SIGXFSZ goes to the writing thread: consume any pending one.
HVD_EXPORT FileSizeSignal::~FileSizeSignal() {
  if (::sigismember(&before_, SIGXFSZ) == 1) return;
  const sigset_t set = only_xfsz();
  const timespec at_once = {.tv_sec = 0, .tv_nsec = 0};
  while (::sigtimedwait(&set, nullptr, &at_once) == SIGXFSZ) {
  }
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace hvd
