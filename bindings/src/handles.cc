// SPDX-License-Identifier: Apache-2.0
#include "src/handles.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <utility>
#include <vector>

#include "horovodpp/runtime/global.h"

namespace hvd::python {
namespace {

namespace nb = nanobind;
using nb::arg;

// Nullopt if it is no number.
std::optional<Handles::Number> number_of(nb::handle handle) {
  const nb::object index = nb::steal(PyNumber_Index(handle.ptr()));
  const auto number = index.is_valid() ? PyLong_AsUnsignedLongLong(index.ptr())
                                       : static_cast<unsigned long long>(-1);
  if (PyErr_Occurred() == nullptr) return number;
  PyErr_Clear();
  return std::nullopt;
}

Handles::Number add_given(Handles& handles, nb::object operation,
                          nb::object finish, nb::object keep,
                          std::optional<std::string> key) {
  auto* const started = nb::cast<Operation*>(operation);
  std::shared_ptr<Operation> shared(
      started,
      [owner = std::move(operation)](Operation*) mutable { owner.reset(); });
  return handles.add(std::move(shared), std::move(finish), std::move(keep),
                     std::move(key).value_or(""));
}

}  // namespace

std::string Handles::claim(std::string_view what, std::string_view name,
                           const ProcessSet& set) const {
  std::string key(what);
  key.append(1, '\0').append(std::to_string(set.id())).append(1, '\0');
  if (ranks_are_threads_) {
    key.append(std::to_string(rank())).append(1, '\0');
  }
  key.append(name);
  const auto found = taken_.find(key);
  if (found == taken_.end()) return key;
  const nb::object text =
      nb::str(
          "{}: the name {!r} is taken by handle {} until that is synchronized: "
          "call synchronize() first, or use another name")
          .attr("format")(what, name, found->second);
  throw nb::value_error(nb::cast<std::string>(text).c_str());
}

Handles::Number Handles::add(std::shared_ptr<Operation> operation,
                             nb::object finish, nb::object keep,
                             std::string key) {
  const Number number = next_++;
  if (!key.empty()) taken_.insert_or_assign(key, number);
  under_way_.try_emplace(number, Entry{std::move(operation), std::move(finish),
                                       std::move(keep), std::move(key)});
  return number;
}

Handles::Entries::iterator Handles::find(nb::handle handle) {
  const auto number = number_of(handle);
  return number ? under_way_.find(*number) : under_way_.end();
}

Handles::Entry& Handles::known(nb::handle handle) {
  const auto found = find(handle);
  if (found != under_way_.end()) return found->second;
  const nb::object text =
      nb::str("Handle {} was not created or has been cleared.")
          .attr("format")(handle);
  throw nb::value_error(nb::cast<std::string>(text).c_str());
}

void Handles::free_name(Number number, const std::string& key) {
  if (key.empty()) return;
  const auto found = taken_.find(key);
  if (found != taken_.end() && found->second == number) taken_.erase(found);
}

void Handles::free_name(nb::handle handle) {
  const auto found = find(handle);
  if (found != under_way_.end()) free_name(found->first, found->second.key);
}

void Handles::remove(Number number) {
  const auto entry = under_way_.extract(number);
  if (!entry.empty()) free_name(number, entry.mapped().key);
}

template <typename F>
void Handles::removing_if_failed(Number number, F work) {
  try {
    work();
  } catch (const nb::python_error& error) {
    if (!error.matches(PyExc_KeyboardInterrupt)) remove(number);
    throw;
  } catch (...) {
    remove(number);
    throw;
  }
}

bool Handles::poll(nb::handle handle) {
  const Entry& entry = known(handle);
  const bool is_done = entry.operation->poll();
  if (is_done) free_name(*number_of(handle), entry.key);
  return is_done;
}

nb::object Handles::synchronize(nb::handle handle) {
  const auto found = find(handle);
  if (found == under_way_.end()) return nb::none();
  // Copies: during the wait, another thread may end the job.
  const Number number = found->first;
  const std::shared_ptr<Operation> operation = found->second.operation;
  const nb::object finish = found->second.finish;
  const nb::object keep = found->second.keep;
  nb::object result;
  removing_if_failed(number, [&] { result = wait(*operation); });
  remove(number);
  return finish.is_none() ? result : finish(result, keep);
}

void Handles::order(nb::handle handle, std::uintptr_t stream) {
  const std::shared_ptr<Operation> operation = known(handle).operation;
  removing_if_failed(*number_of(handle),
                     [&] { hvd::python::order(*operation, stream); });
}

void Handles::forget_all() {
  taken_.clear();
  const Entries forgotten = std::exchange(under_way_, {});
}

void Handles::keep_those_in_flight() {
  for (auto& [number, entry] : under_way_) {
    if (!entry.operation->poll()) new Entry(entry);  // Never freed.
  }
}

void add_handles(nb::module_& module) {
  nb::class_<Handles>(module, "Handles",
                      "The numbers of operations in flight, and their names.")
      .def(nb::init<>())
      .def("tell_ranks_apart", &Handles::tell_ranks_apart, arg("are_threads"))
      .def("claim", &Handles::claim, arg("what"), arg("name"),
           arg("process_set"), "The key of a name, for add().")
      .def("add", &add_given, arg("operation"), arg("finish").none(),
           arg("keep").none(), arg("key").none())
      .def("poll", &Handles::poll, arg("handle").none())
      .def("synchronize", &Handles::synchronize, arg("handle").none())
      .def("order", &Handles::order, arg("handle").none(), arg("stream"))
      .def("free_name", nb::overload_cast<nb::handle>(&Handles::free_name),
           arg("handle").none())
      .def("forget_all", &Handles::forget_all)
      .def("keep_those_in_flight", &Handles::keep_those_in_flight);
}

}  // namespace hvd::python
