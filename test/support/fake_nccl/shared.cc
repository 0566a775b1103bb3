// SPDX-License-Identifier: Apache-2.0
#include "test/support/fake_nccl/shared.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>

namespace fake_nccl {

bool Mapping::make(hvd::collective::NcclUniqueId* id) {
  const int file = memfd_create("fake nccl", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, sizeof(Shared)) != 0) return false;
  *id = {};
  std::snprintf(id->bytes, sizeof(id->bytes), "/proc/%d/fd/%d", getpid(), file);
  return true;
}

std::unique_ptr<Mapping> Mapping::open(
    const hvd::collective::NcclUniqueId& id) {
  const int file = ::open(id.bytes, O_RDWR | O_CLOEXEC);
  if (file < 0) return nullptr;
  void* const memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
                            MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED) return nullptr;
  return std::unique_ptr<Mapping>(new Mapping(static_cast<Shared*>(memory)));
}

Mapping::~Mapping() { munmap(shared_, sizeof(Shared)); }

}  // namespace fake_nccl
