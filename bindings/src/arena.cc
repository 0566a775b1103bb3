// SPDX-License-Identifier: Apache-2.0
#include "src/arena.h"

#include <memory>

#include "horovodpp/runtime/arena_alloc.h"
#include "horovodpp/runtime/freed_memory.h"
#include "src/operation.h"

namespace hvd::python {
namespace {

namespace nb = nanobind;
using nb::arg;

nb::object allocate(std::size_t bytes) {
  std::shared_ptr<void> memory;
  {
    const nb::gil_scoped_release without_gil;  // allocate() touches the pages.
    memory = arena_alloc_bytes(bytes);
  }
  void* const data = memory.get();
  return bytes_over(data, bytes, std::move(memory));
}

nb::object allocate_on(int gpu, std::size_t bytes) {
  StatusOr<std::shared_ptr<void>> memory = Status();
  {
    const nb::gil_scoped_release without_gil;
    memory = arena_alloc_on(Device::cuda(gpu), bytes);
  }
  void* const data = value_or_raise(memory).get();
  return bytes_over(data, bytes, *std::move(memory), Device::cuda(gpu));
}

}  // namespace

void add_arena(nb::module_& module) {
  module.def("arena_alloc", &allocate, arg("bytes"),
             "Uninitialized bytes as a uint8 array: in the job's arena, or "
             "elsewhere without a job or room.");
  module.def("arena_alloc_on", &allocate_on, arg("gpu"), arg("bytes"),
             "Uninitialized bytes on GPU `gpu` as a uint8 array, for the job.");
  module.def(
      "is_in_arena",
      [](std::uintptr_t address, std::size_t bytes) {
        return is_in_arena(reinterpret_cast<const void*>(address), bytes);
      },
      arg("address"), arg("bytes"));
  module.def("keep_freed_memory", &keep_freed_memory,
             "Makes malloc() keep up to 256 MiB of freed memory for the next "
             "gradients. Returns whether that succeeded.");
}

}  // namespace hvd::python
