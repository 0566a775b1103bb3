// SPDX-License-Identifier: Apache-2.0
// The fake NCCL's state in one process, its faults, and the location of the
// fake CUDA driver.
#pragma once

#include <dlfcn.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "horovodpp/collective/nccl/api.h"
#include "test/support/fake_cuda/control.h"

namespace fake_nccl {

using hvd::collective::NcclComm;
using hvd::collective::NcclConfig;
using hvd::collective::NcclDType;
using hvd::collective::NcclOp;
using hvd::collective::NcclResult;
using hvd::collective::NcclUniqueId;
using hvd::collective::NcclWindow;
using hvd::device::CuAddress;
using hvd::device::CuStream;

int number_from_environment(const char* name, int otherwise);

// The fake CUDA driver, which must be loaded already.
void* cuda_library();

template <typename Function>
Function* of_cuda(const char* name) {
  return reinterpret_cast<Function*>(dlsym(cuda_library(), name));
}

struct Fault {
  std::string kind = {};
  int rank = -1;
  int n = 0;
};

struct World {
  std::mutex mutex;
  Fault fault;
  std::atomic<unsigned> delay{
      static_cast<unsigned>(number_from_environment("FAKE_NCCL_DELAY", 0))};
  std::set<NcclComm> comms;
  std::map<std::uintptr_t, std::size_t> memory;  // Its allocations' sizes.
  std::map<std::uintptr_t, int> registered;      // Number of registrations.
  std::atomic<unsigned> made{0};
  // Communicators that ended while a graph used them, and attempts to free
  // registered memory.
  std::atomic<std::size_t> ended_too_early{0};

  World();
};

// Never destroyed: streams may work while the process ends.
World& world();

bool has_fault(const char* kind, int rank, int n);

}  // namespace fake_nccl
