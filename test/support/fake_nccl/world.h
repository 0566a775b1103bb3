// SPDX-License-Identifier: Apache-2.0
// All that one process has of the stand-in for NCCL, what faults it is to have, and where
// the stand-in for CUDA is found.
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

// The stand-in for CUDA, which has been loaded by then.
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
  std::map<std::uintptr_t, std::size_t> memory;  // Its own, with its sizes.
  std::map<std::uintptr_t, int> registered;      // How often.
  std::atomic<unsigned> made{0};
  // Communicators that ended while a graph had something of theirs, and memory that was
  // to be freed while it was registered.
  std::atomic<std::size_t> ended_too_early{0};

  World();
};

// Never destroyed: streams may be at work while the process ends.
World& world();

bool has_fault(const char* kind, int rank, int n);

}  // namespace fake_nccl
