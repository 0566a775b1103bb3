// SPDX-License-Identifier: Apache-2.0
#include "src/timeline.h"

#include <nanobind/stl/string.h>

#include <cctype>

namespace hvd::python {
namespace {

namespace nb = nanobind;

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof(escaped), "\\u%04x", c);
      result += escaped;
    } else {
      result += c;
    }
  }
  return result + '"';
}

// As in Horovod: the operation before the name.
std::string label_of(const char* kind, const std::string& tensor) {
  if (tensor.empty()) return kind;
  std::string operation = kind;
  for (char& c : operation) c = static_cast<char>(std::tolower(c));
  operation += '.';
  return tensor.rfind(operation, 0) == 0 ? tensor : operation + tensor;
}

}  // namespace

Timeline& Timeline::instance() {
  static auto* const timeline = new Timeline;
  return *timeline;
}

bool Timeline::start(const std::string& path) {
  stop();
  const std::lock_guard<std::mutex> lock(mutex_);
  out_ = std::fopen(path.c_str(), "w");
  if (out_ == nullptr) return false;
  std::fputs("[\n]\n", out_);
  std::fflush(out_);
  start_ = std::chrono::steady_clock::now();
  tensors_.clear();
  has_lines_ = false;
  ++files_;
  on_ = true;
  return true;
}

void Timeline::stop() {
  const std::lock_guard<std::mutex> lock(mutex_);
  on_ = false;
  if (out_ == nullptr) return;
  std::fclose(out_);
  out_ = nullptr;
}

Timeline::Span Timeline::begin(const char* kind, const std::string& tensor) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (out_ == nullptr) return {};
  const Span span = {files_, number_of(label_of(kind, tensor)), kind};
  event("B", span);
  return span;
}

void Timeline::end(const Span& span) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (out_ != nullptr && span.file == files_) event("E", span);
}

int Timeline::number_of(const std::string& tensor) {
  const int next = static_cast<int>(tensors_.size()) + 1;
  const auto [entry, is_new] = tensors_.try_emplace(tensor, next);
  if (is_new) {
    const std::string pid = std::to_string(next);
    write("{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": " + pid +
          ", \"args\": {\"name\": " + quoted(tensor) + "}}");
    write("{\"name\": \"process_sort_index\", \"ph\": \"M\", \"pid\": " + pid +
          ", \"args\": {\"sort_index\": " + pid + "}}");
  }
  return entry->second;
}

void Timeline::event(const char* phase, const Span& span) {
  const auto since = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::steady_clock::now() - start_);
  write("{\"name\": " + quoted(span.kind) + ", \"ph\": \"" + phase +
        "\", \"ts\": " + std::to_string(since.count()) +
        ", \"pid\": " + std::to_string(span.tensor) + "}");
}

void Timeline::write(const std::string& line) {
  std::fseek(out_, -2, SEEK_END);  // Overwrites the closing bracket.
  std::fputs(has_lines_ ? ",\n" : "", out_);
  std::fputs((line + "\n]\n").c_str(), out_);
  std::fflush(out_);
  has_lines_ = true;
}

void add_timeline(nb::module_& module) {
  module.def(
      "start_timeline",
      [](const std::string& path) {
        if (!Timeline::instance().start(path)) {
          PyErr_SetFromErrnoWithFilename(PyExc_OSError, path.c_str());
          throw nb::python_error();
        }
      },
      nb::arg("path"));
  module.def("stop_timeline", [] { Timeline::instance().stop(); });
}

}  // namespace hvd::python
