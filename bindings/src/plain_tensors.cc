// SPDX-License-Identifier: Apache-2.0
#include "src/plain_tensors.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "horovodpp/core/memory/dlpack_type.h"
#include "horovodpp/core/tensor_view.h"
#include "horovodpp/runtime/global_collectives.h"
#include "src/handles.h"
#include "src/operation.h"
#include "src/process_sets.h"

namespace hvd::python {
namespace {

namespace nb = nanobind;
using nb::arg;
using nb::dlpack::dltensor;

// DLPack's table of functions, which a framework offers as a capsule on its
// tensor class. It stays for the life of the process. Versions of one major
// number only add to its end.
struct ExchangeTable {
  static constexpr const char* kCapsule = "dlpack_exchange_api";
  static constexpr std::uint32_t kMajor = 1;

  std::uint32_t major;
  std::uint32_t minor;
  const ExchangeTable* previous;
  void* allocate;
  void* managed_from_object;
  void* managed_to_object;
  // Fills a description that is valid as long as the object. Returns 0, or -1
  // with a Python error set.
  int (*describe)(void* object, dltensor* out);
  void* current_stream;
};

bool is_contiguous(const dltensor& tensor) {
  std::int64_t stride = 1;
  for (int dim = tensor.ndim - 1; dim >= 0; --dim) {
    if (tensor.shape[dim] != 1 && tensor.strides[dim] != stride) return false;
    stride *= tensor.shape[dim];
  }
  return true;
}

// Tensors of a framework's own classes, not of subclasses.
class PlainTensors {
 public:
  // table: the framework's capsule. types: its classes. is_lazy: the name of a
  // method that is true of a tensor whose memory holds other values.
  PlainTensors(const nb::object& table, nb::tuple types, nb::str is_lazy)
      : table_(static_cast<const ExchangeTable*>(
            PyCapsule_GetPointer(table.ptr(), ExchangeTable::kCapsule))),
        types_(std::move(types)),
        is_lazy_(std::move(is_lazy)) {
    if (table_ == nullptr) nb::raise_python_error();
    while (table_ != nullptr && table_->major != ExchangeTable::kMajor) {
      table_ = table_->previous;
    }
    if (table_ == nullptr) {
      throw nb::value_error(
          "the framework has no DLPack exchange table of version 1");
    }
  }

  // The tensor's memory; nullopt if it is not a contiguous tensor on the CPU,
  // of these classes and of a dtype that the library has.
  std::optional<TensorView> find(nb::handle tensor) const {
    dltensor found;
    if (!is_plain(tensor)) return std::nullopt;
    if (table_->describe(tensor.ptr(), &found) != 0) {
      PyErr_Clear();  // For example of a sparse tensor.
      return std::nullopt;
    }
    const auto dtype = dtype_of_dlpack(
        {found.dtype.code, found.dtype.bits, found.dtype.lanes});
    if (!dtype || found.device.device_type != nb::device::cpu::value ||
        found.data == nullptr || !is_contiguous(found)) {
      return std::nullopt;
    }
    const auto rank = static_cast<std::size_t>(found.ndim);
    return TensorView(static_cast<std::byte*>(found.data) + found.byte_offset,
                      *dtype, Shape(IntSpan(found.shape, rank)));
  }

 private:
  bool is_plain(nb::handle tensor) const {
    bool known = false;
    for (const nb::handle type : types_) known |= tensor.type().is(type);
    if (!known) return false;
    const nb::object lazy = nb::steal(
        PyObject_CallMethodObjArgs(tensor.ptr(), is_lazy_.ptr(), nullptr));
    if (!lazy.is_valid()) nb::raise_python_error();
    return lazy.is(nb::bool_(false));
  }

  const ExchangeTable* table_;
  nb::tuple types_;
  nb::str is_lazy_;
};

AllreduceOptions options_of(std::string name, int op, double prescale,
                            double postscale, const ProcessSet& set) {
  AllreduceOptions options;
  options.name = std::move(name);
  options.op = static_cast<ReduceOp>(op);
  options.prescale_factor = prescale;
  options.postscale_factor = postscale;
  options.process_set = set;
  return options;
}

// The text of a name that Python passes: empty for None, nullopt for another
// type.
std::optional<std::string> text_of(nb::handle name) {
  if (name.is_none()) return "";
  if (!nb::isinstance<nb::str>(name)) return std::nullopt;
  return nb::cast<std::string>(name);
}

std::string key_of(const Handles& handles, std::string_view what,
                   const std::string& name, const ProcessSet& set) {
  return name.empty() ? "" : handles.claim(what, name, set);
}

using MaybeHandle = std::optional<Handles::Number>;

// Nullopt unless the tensor is plain.
MaybeHandle start_allreduce(const PlainTensors& tensors, Handles& handles,
                            nb::object tensor, nb::handle name, int op,
                            double prescale, double postscale,
                            const ProcessSet& set, nb::object finish) {
  std::optional<TensorView> view = tensors.find(tensor);
  std::optional<std::string> text = text_of(name);
  if (!view || !text) return std::nullopt;
  std::string key = key_of(handles, "allreduce", *text, set);
  return handles.add(
      operation(allreduce_async_(
          *std::move(view),
          options_of(*std::move(text), op, prescale, postscale, set))),
      std::move(finish), std::move(tensor), std::move(key));
}

// Nullopt unless all tensors of the group are plain.
MaybeHandle start_grouped_allreduce(const PlainTensors& tensors,
                                    Handles& handles, nb::list group,
                                    nb::handle name, int op, double prescale,
                                    double postscale, const ProcessSet& set,
                                    nb::object finish) {
  std::optional<std::string> text = text_of(name);
  if (!text) return std::nullopt;
  std::vector<TensorView> views;
  for (const nb::handle tensor : group) {
    std::optional<TensorView> view = tensors.find(tensor);
    if (!view) return std::nullopt;
    views.push_back(*std::move(view));
  }
  std::string key = key_of(handles, "grouped_allreduce", *text, set);
  return handles.add(
      operation(grouped_allreduce_async_(
          std::move(views),
          options_of(*std::move(text), op, prescale, postscale, set))),
      std::move(finish), std::move(group), std::move(key));
}

}  // namespace

void add_plain_tensors(nb::module_& module) {
  nb::class_<PlainTensors>(
      module, "PlainTensors",
      "Collectives on contiguous tensors on the CPU, of these classes of a "
      "framework and of a dtype that the library has.")
      .def(nb::init<const nb::object&, nb::tuple, nb::str>(), arg("table"),
           arg("types"), arg("is_lazy"))
      .def("start_allreduce", &start_allreduce, arg("handles"),
           arg("tensor").none(), arg("name").none(), arg("op"),
           arg("prescale_factor"), arg("postscale_factor"), arg("process_set"),
           arg("finish").none(), "A handle; None if the tensor is another.")
      .def("start_grouped_allreduce", &start_grouped_allreduce, arg("handles"),
           arg("tensors"), arg("name").none(), arg("op"),
           arg("prescale_factor"), arg("postscale_factor"), arg("process_set"),
           arg("finish").none(), "A handle; None if a tensor is another.");
}

}  // namespace hvd::python
