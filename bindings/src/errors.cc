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
PyObject* invalid_call_error = nullptr;

// `of_arguments` is the type for arguments that would be refused again.
// Failures of another rank are Aborted or Cancelled. FailedPrecondition is this
// program's own mistake.
PyObject* type_for(StatusCode code, PyObject* of_arguments) {
  switch (code) {
    case StatusCode::kInvalidArgument:
    case StatusCode::kUnimplemented:
      return of_arguments;
    case StatusCode::kFailedPrecondition:
    case StatusCode::kNotFound:
      return invalid_call_error;
    case StatusCode::kAlreadyExists:
      return PyExc_ValueError;
    case StatusCode::kResourceExhausted:
      return PyExc_MemoryError;
    default:
      return internal_error;
  }
}

// Replaces C++ function names in messages by Python names.
std::string in_python(std::string text) {
  static const std::string colons = "hvd::";
  for (std::size_t at = 0; (at = text.find(colons, at)) != std::string::npos;) {
    text.replace(at, colons.size(), "hvd.");
  }
  return text;
}

void set_error(const Status& status, PyObject* of_arguments) {
  const std::string text = in_python(std::string(status.message()));
  PyErr_SetString(type_for(status.code(), of_arguments), text.c_str());
}

PyObject* new_exception(nb::module_& module, const char* name, const char* doc,
                        PyObject* bases) {
  const std::string path = std::string("horovodpp.common.exceptions.") + name;
  PyObject* const type =
      PyErr_NewExceptionWithDoc(path.c_str(), doc, bases, nullptr);
  if (type == nullptr) throw nb::python_error();
  module.attr(name) = nb::handle(type);
  return type;
}

}  // namespace

void add_errors(nb::module_& module) {
  internal_error = new_exception(module, "HorovodInternalError",
                                 "A collective failed: a rank stalled, left or "
                                 "died. The text names the rank.",
                                 PyExc_RuntimeError);
  invalid_call_error = new_exception(
      module, "InvalidCallError",
      "A call that would fail again: the ranks disagree, no plane supports the "
      "call, or it came before init(), after shutdown() or after join(). The "
      "job continues.",
      nb::make_tuple(nb::handle(internal_error), nb::handle(PyExc_ValueError))
          .ptr());
  nb::register_exception_translator(
      [](const std::exception_ptr& thrown, void*) {
        try {
          std::rethrow_exception(thrown);
        } catch (const Error& error) {
          set_error(error.status(), PyExc_ValueError);
        }
      });
}

void raise(const Status& status) {
  set_error(status, PyExc_ValueError);
  throw nb::python_error();
}

void raise_outcome(const Status& status) {
  set_error(status, invalid_call_error);
  throw nb::python_error();
}

}  // namespace hvd::python
