// SPDX-License-Identifier: Apache-2.0
#include "src/operation.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cstdint>

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

}  // namespace

nb::object to_python(const Buffer& buffer) {
  auto* const kept = new Buffer(buffer);
  const nb::capsule owner(
      kept, [](void* memory) noexcept { delete static_cast<Buffer*>(memory); });
  const std::size_t bytes = buffer.bytes();
  return nb::make_tuple(nb::cast(Bytes(kept->view().data(), {bytes}, owner)),
                        static_cast<int>(buffer.dtype()),
                        shape_of(buffer.shape()));
}

nb::object to_python(const std::vector<Buffer>& buffers) {
  nb::list result;
  for (const Buffer& buffer : buffers) result.append(to_python(buffer));
  return std::move(result);
}

nb::object to_python(const AlltoallResult& result) {
  return nb::make_tuple(to_python(result.tensor), result.received_splits);
}

nb::object wait(Operation& operation) {
  constexpr double kBetweenSignals = 0.1;
  for (;;) {
    bool done = false;
    {
      const nb::gil_scoped_release without_gil;
      done = operation.wait_for(kBetweenSignals);
    }
    if (done) return operation.result();
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  }
}

void add_operation(nb::module_& module) {
  nb::class_<Operation>(module, "Operation",
                        "A collective under way. What it works on is kept "
                        "alive by whoever holds it.")
      .def("poll", &Operation::poll, "Whether it is done.")
      .def("wait", &wait,
           "Sleeps until it is done and returns what it gave: None in place, "
           "(bytes, dtype, shape), a list of them, or with the splits that "
           "were received. May be called again.");
}

}  // namespace hvd::python
