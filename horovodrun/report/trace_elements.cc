// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/report/trace_elements.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/printable.h"
#include "horovodpp/core/system/file_error.h"

namespace hvd::launcher::report {
namespace {

using Json = nlohmann::json;

// Where the parser is. Parts that do not matter are kOther.
enum class Place { kFile, kElements, kElement, kArguments, kOther };

class Handler : public nlohmann::json_sax<Json> {
 public:
  explicit Handler(const TakeElement& take) : take_(take) {}

  const absl::Status& status() const { return status_; }
  bool has_elements() const { return has_elements_; }
  // Of an error in the JSON.
  const std::optional<std::size_t>& error_at() const { return error_at_; }

  bool null() override { return value(); }
  bool boolean(bool is_true) override {
    if (place() == Place::kArguments && is_true) {
      if (key_ == "abandoned") element_.is_abandoned = true;
      if (key_ == "failed") element_.is_failed = true;
    }
    return value();
  }
  bool number_integer(number_integer_t number) override {
    return integer(number);
  }
  bool number_unsigned(number_unsigned_t number) override {
    return integer(static_cast<std::int64_t>(number));
  }
  bool number_float(number_float_t number, const string_t&) override {
    return real(number);
  }
  bool string(string_t& text) override;
  bool binary(binary_t&) override { return value(); }

  bool start_object(std::size_t) override;
  bool end_object() override;
  bool start_array(std::size_t) override;
  bool end_array() override {
    places_.pop_back();
    return true;
  }
  bool key(string_t& text) override {
    key_.swap(text);
    return true;
  }
  bool parse_error(std::size_t position, const std::string&,
                   const Json::exception&) override {
    error_at_ = position;
    return false;
  }

 private:
  Place place() const {
    return places_.empty() ? Place::kFile : places_.back();
  }
  // A value that is no container: an element has to be an object.
  bool value() {
    return place() == Place::kElements || places_.empty() ? refuse() : true;
  }
  bool refuse() {
    status_ = absl::InvalidArgumentError("it has no array of events");
    return false;
  }
  bool integer(std::int64_t number);
  bool real(double number);

  const TakeElement& take_;
  absl::Status status_;
  std::vector<Place> places_;
  std::string key_;
  TraceElement element_;
  bool has_elements_ = false;
  std::optional<std::size_t> error_at_;
};

bool Handler::string(string_t& text) {
  if (place() == Place::kElement) {
    if (key_ == "name") element_.name = text;
    if (key_ == "ph" && text.size() == 1) element_.phase = text[0];
  } else if (place() == Place::kArguments) {
    if (key_ == "name") element_.process = text;
    if (key_ == "reason") element_.reason = text;
  }
  return value();
}

bool Handler::integer(std::int64_t number) {
  if (place() == Place::kElement) {
    if (key_ == "pid") element_.pid = number;
    if (key_ == "tid") element_.tid = number;
  } else if (place() == Place::kArguments) {
    if (key_ == "rank") element_.rank = number;
    if (key_ == "batch") element_.batch = number;
    if (key_ == "epoch") element_.epoch = number;
  }
  return real(static_cast<double>(number));
}

bool Handler::real(double number) {
  if (place() == Place::kElement) {
    if (key_ == "ts") element_.time_us = number;
    if (key_ == "dur") element_.duration_us = number;
  } else if (place() == Place::kArguments) {
    if (key_ == "bytes") element_.bytes = number;
    if (key_ == "count") element_.count = number;
    if (key_ == "start_time_since_epoch_in_micros") element_.epoch_us = number;
  }
  return value();
}

bool Handler::start_object(std::size_t) {
  Place next = Place::kOther;
  if (place() == Place::kElements) {
    next = Place::kElement;
    element_ = {};
  } else if (place() == Place::kElement && key_ == "args") {
    next = Place::kArguments;
  }
  places_.push_back(next);
  return true;
}

bool Handler::end_object() {
  const bool is_element = place() == Place::kElement;
  places_.pop_back();
  if (!is_element) return true;
  status_ = take_(element_);
  return status_.ok();
}

bool Handler::start_array(std::size_t) {
  const bool is_list =
      places_.empty() || (places_.size() == 1 && !has_elements_ &&
                          key_ == "traceEvents" && place() == Place::kOther);
  if (place() == Place::kElements) return refuse();
  has_elements_ = has_elements_ || is_list;
  places_.push_back(is_list ? Place::kElements : Place::kOther);
  return true;
}

std::string line_at(const std::string& path, std::size_t position) {
  std::ifstream file(path);
  std::size_t line = 1;
  std::size_t column = 0;
  char c = 0;
  for (std::size_t i = 0; i < position && file.get(c); ++i) {
    if (i + 1 < position && c == '\n') {
      ++line;
      column = 0;
    } else {
      ++column;
    }
  }
  return absl::StrCat("line ", line, ", column ", column);
}

}  // namespace

absl::StatusOr<bool> read_trace(const std::string& path,
                                const TakeElement& take) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return file_error(EISDIR, path);
  }
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file.is_open()) return file_error(errno == 0 ? EIO : errno, path);
  Handler handler(take);
  const bool is_valid = Json::sax_parse(file, &handler);
  const std::string shown = printable(path);
  if (!handler.status().ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(shown, ": ", handler.status().message()));
  }
  if (handler.error_at()) {
    const auto size = std::filesystem::file_size(path, error);
    // The parser counts the end of a file as a character.
    const bool is_cut = !error && *handler.error_at() > size;
    if (!is_cut || !handler.has_elements()) {
      return absl::InvalidArgumentError(
          absl::StrCat(shown, ": it is no timeline: no JSON at ",
                       line_at(path, *handler.error_at())));
    }
    return false;
  }
  if (!is_valid || !handler.has_elements()) {
    return absl::InvalidArgumentError(
        absl::StrCat(shown, ": it is no timeline: it has no array of events"));
  }
  return true;
}

}  // namespace hvd::launcher::report
