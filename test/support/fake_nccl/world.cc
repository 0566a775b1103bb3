// SPDX-License-Identifier: Apache-2.0
#include "test/support/fake_nccl/world.h"

#include <cstdlib>
#include <sstream>

#include "test/support/fake_nccl/communicator.h"
#include "test/support/fake_nccl/control.h"

namespace fake_nccl {

int number_from_environment(const char* name, int otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}

void* cuda_library() {
  static void* const library = [] {
    const char* const file = std::getenv("FAKE_NCCL_CUDA");
    return dlopen(file != nullptr ? file : FAKE_CUDA_FILE,
                  RTLD_NOW | RTLD_LOCAL);
  }();
  return library;
}

World::World() {
  const char* const text = std::getenv("FAKE_NCCL_FAULT");
  if (text == nullptr) return;
  std::istringstream in(text);
  std::string number;
  std::getline(in, fault.kind, ':');
  std::getline(in, number, ':');
  fault.rank = std::atoi(number.c_str());
  std::getline(in, number, ':');
  fault.n = std::atoi(number.c_str());
}

World& world() {
  static World* const one = new World;
  return *one;
}

bool has_fault(const char* kind, int rank, int n) {
  World& all = world();
  const std::lock_guard lock(all.mutex);
  return all.fault.kind == kind && all.fault.rank == rank && all.fault.n == n;
}

}  // namespace fake_nccl

using namespace fake_nccl;  // NOLINT: C follows.

extern "C" {

void fake_nccl_fault(const char* kind, int rank, int n) {
  const std::lock_guard lock(world().mutex);
  world().fault = {kind, rank, n};
}

void fake_nccl_set_delay(unsigned microseconds) {
  world().delay = microseconds;
}

std::size_t fake_nccl_objects() {
  const std::lock_guard lock(world().mutex);
  std::size_t count = world().comms.size() + world().ended_too_early;
  for (const NcclComm comm : world().comms) count += comm->factors.size();
  return count + world().memory.size();
}

std::size_t fake_nccl_windows() {
  const std::lock_guard lock(world().mutex);
  std::size_t count = 0;
  for (const auto& [memory, times] : world().registered) {
    count += static_cast<std::size_t>(times);
  }
  return count;
}

}  // extern "C"
