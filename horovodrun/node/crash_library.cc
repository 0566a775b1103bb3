// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/node/crash_library.h"

#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "horovodrun/system/process.h"

// The assembler copies the file into this program.
asm(".section .rodata\n"
    ".global hvd_crash_library_begin\n"
    ".global hvd_crash_library_end\n"
    ".hidden hvd_crash_library_begin\n"
    ".hidden hvd_crash_library_end\n"
    ".balign 16\n"
    "hvd_crash_library_begin:\n"
    ".incbin \"" HVD_CRASH_LIBRARY
    "\"\n"
    "hvd_crash_library_end:\n"
    ".byte 0\n"
    ".previous\n");

extern "C" {
extern const char hvd_crash_library_begin[];
extern const char hvd_crash_library_end[];
}

namespace hvd::launcher {
namespace {

bool write_all(int fd, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(fd, bytes.data(), bytes.size());
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

}  // namespace

CrashLibrary::~CrashLibrary() {
  if (fd_ >= 0) close(fd_);
}

void CrashLibrary::add_to(Environment& environment, int rank) {
  fd_ = memfd_create("horovodrun_crash_handler.so", MFD_CLOEXEC);
  if (fd_ < 0 ||
      !write_all(fd_, {hvd_crash_library_begin,
                       static_cast<size_t>(hvd_crash_library_end -
                                           hvd_crash_library_begin)})) {
    return;
  }
  // Of this process, because a rank may close descriptors that it does not
  // know.
  const std::string path = absl::StrCat("/proc/", getpid(), "/fd/", fd_);
  std::string& preloaded = environment["LD_PRELOAD"];
  absl::StrAppend(&preloaded, preloaded.empty() ? "" : ":", path);
  environment["HOROVODRUN_CRASH_PROGRAM"] = own_path();
  environment[kCrashRankVariable] = absl::StrCat(rank);
}

}  // namespace hvd::launcher
