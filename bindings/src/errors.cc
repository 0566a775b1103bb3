// SPDX-License-Identifier: Apache-2.0
#include "src/errors.h"

#include <exception>
#include <string>

#include "horovodpp/core/error.h"

namespace hvd::python {
namespace {

namespace nb = nanobind;

// Owned by the module, which is never unloaded.
PyObject* internal_error = nullptr;

PyObject* type_for(StatusCode code) {
  switch (code) {
    case StatusCode::kAlreadyExists:
      return PyExc_ValueError;
    case StatusCode::kResourceExhausted:
      return PyExc_MemoryError;
    default:
      return internal_error;
  }
}

// Messages name functions as C++ calls them.
std::string in_python(std::string text) {
  static const std::string colons = "hvd::";
  for (std::size_t at = 0; (at = text.find(colons, at)) != std::string::npos;) {
    text.replace(at, colons.size(), "hvd.");
  }
  return text;
}

void set_error(const Status& status) {
  const std::string text = in_python(std::string(status.message()));
  PyErr_SetString(type_for(status.code()), text.c_str());
}

}  // namespace

void add_errors(nb::module_& module) {
  internal_error = PyErr_NewExceptionWithDoc(
      "horovodpp.common.exceptions.HorovodInternalError",
      "A collective failed: the ranks disagree, or one of them stalled, left, "
      "or died. The text names it.",
      PyExc_RuntimeError, nullptr);
  if (internal_error == nullptr) throw nb::python_error();
  module.attr("HorovodInternalError") = nb::handle(internal_error);
  nb::register_exception_translator(
      [](const std::exception_ptr& thrown, void*) {
        try {
          std::rethrow_exception(thrown);
        } catch (const Error& error) {
          set_error(error.status());
        }
      });
}

void raise(const Status& status) {
  set_error(status);
  throw nb::python_error();
}

}  // namespace hvd::python
