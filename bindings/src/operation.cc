// SPDX-License-Identifier: Apache-2.0
#include "src/operation.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "horovodpp/runtime/settings/waits_at_once.h"

namespace hvd::python {
namespace {

namespace nb = nanobind;

using Bytes =
    nb::ndarray<nb::array_api, std::uint8_t, nb::ndim<1>, nb::c_contig>;

nb::tuple shape_of(const Shape& shape) {
  nb::list dims;
  for (const std::int64_t dim : shape.dims()) dims.append(dim);
  return nb::tuple(dims);
}

// Each thread in the scope has its own.
class AtOnce {
 public:
  static void enter() { inside_.emplace(); }
  static void leave() { inside_.reset(); }

 private:
  static inline thread_local std::optional<WaitsAtOnce> inside_;
};

}  // namespace

bool handler_has_raised() {
  const nb::gil_scoped_acquire with_gil;
  return PyErr_CheckSignals() != 0;
}

nb::object bytes_over(void* memory, std::size_t bytes,
                      std::shared_ptr<const void> owner, const Device& device) {
  using Owner = std::shared_ptr<const void>;
  const nb::capsule kept(
      new Owner(std::move(owner)),
      [](void* capsule) noexcept { delete static_cast<Owner*>(capsule); });
  if (device.is_cpu()) return nb::cast(Bytes(memory, {bytes}, kept));
  return nb::cast(Bytes(memory, {bytes}, kept, {}, nb::dtype<std::uint8_t>(),
                        nb::device::cuda::value, device.index));
}

nb::object to_python(const Buffer& buffer) {
  return nb::make_tuple(
      bytes_over(buffer.view().data(), buffer.bytes(),
                 std::make_shared<Buffer>(buffer), buffer.view().device()),
      static_cast<int>(buffer.dtype()), shape_of(buffer.shape()));
}

nb::object to_python(const std::vector<Buffer>& buffers) {
  nb::list result;
  for (const Buffer& buffer : buffers) result.append(to_python(buffer));
  return std::move(result);
}

nb::object to_python(const AlltoallResult& result) {
  return nb::make_tuple(to_python(result.tensor), result.received_splits);
}

void order(const Operation& operation, std::uintptr_t stream) {
  std::optional<Status> outcome;
  {
    const nb::gil_scoped_release without_gil;
    outcome = operation.order_unless(reinterpret_cast<void*>(stream),
                                     &handler_has_raised);
  }
  if (!outcome || PyErr_CheckSignals() != 0) throw nb::python_error();
  raise_if_failed(*outcome);
}

nb::object wait(Operation& operation) {
  if (!operation.poll()) {
    bool done = false;
    {
      const nb::gil_scoped_release without_gil;
      done = operation.wait_unless(&handler_has_raised);
    }
    // An interrupt reaches all ranks. The error of an interrupted rank does not
    // matter here.
    if (!done || PyErr_CheckSignals() != 0) throw nb::python_error();
  }
  return operation.result();
}

nb::object wait_within(Operation& operation, std::optional<double> seconds) {
  if (!seconds) return wait(operation);
  if (operation.poll()) return operation.result();
  WaitEnd end = WaitEnd::kReady;
  Status timed_out;
  {
    const nb::gil_scoped_release without_gil;
    end = operation.wait_within(*seconds, &handler_has_raised);
    if (end == WaitEnd::kTimedOut) timed_out = operation.timed_out(*seconds);
  }
  if (end == WaitEnd::kInterrupted || PyErr_CheckSignals() != 0) {
    throw nb::python_error();
  }
  if (end == WaitEnd::kTimedOut) {
    PyErr_SetString(PyExc_TimeoutError,
                    std::string(timed_out.message()).c_str());
    throw nb::python_error();
  }
  return operation.result();
}

nb::object source_of(Operation& operation) {
  if (operation.poll()) return operation.result();
  throw nb::value_error("the receive is not done; wait for it first");
}

void add_operation(nb::module_& module) {
  module.def(
      "address_of",
      [](const nb::ndarray<const std::uint8_t, nb::ndim<1>>& bytes) {
        return reinterpret_cast<std::uintptr_t>(bytes.data());
      },
      nb::arg("bytes"), "The address of a result's memory, on any device.");
  nb::class_<AtOnce>(module, "AtOnce",
                     "A scope in which this thread waits at once for each "
                     "submission. So no other thread is woken.")
      .def(nb::init<>())
      .def("__enter__", [](AtOnce&) { AtOnce::enter(); })
      .def("__exit__", [](AtOnce&, nb::args) { AtOnce::leave(); });
  nb::class_<Operation>(
      module, "Operation",
      "A collective in flight. Its holder keeps its memory alive.")
      .def("poll", &Operation::poll, "Whether the collective is done.")
      .def("order", &order, nb::arg("stream"),
           "Makes `stream` wait for the collective, once that is in a stream "
           "of its GPU.")
      .def("wait", &wait_within, nb::arg("timeout_seconds") = nb::none(),
           "Sleeps until the collective is done, and returns the result: None "
           "in place, (bytes, dtype, shape), a list of these, or one with the "
           "received splits. May be called again. Raises TimeoutError after "
           "the timeout, with a text that names the missing ranks; the "
           "collective stays in flight.")
      .def("source", &source_of,
           "The rank that has sent what this receive has received.");
}

}  // namespace hvd::python
