// SPDX-License-Identifier: Apache-2.0
// Well-formed messages from a fuzzer's bytes. They mostly have small numbers
// and few names, so that receivers know them.
#pragma once

#include <fuzzer/FuzzedDataProvider.h>

#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "horovodpp/coordinator/protocol/message.h"

namespace hvd::coordinator {

class Arbitrary {
 public:
  // `requests`: examples of requests that ranks submit; must outlive this
  // object.
  Arbitrary(FuzzedDataProvider& data, const std::vector<Request>& requests)
      : data_(data), requests_(requests) {}

  Message message() {
    return alternative(data_.ConsumeIntegralInRange<std::size_t>(
        0, std::variant_size_v<Message> - 1));
  }

 private:
  template <std::size_t I = 0>
  Message alternative(std::size_t index) {
    if constexpr (I < std::variant_size_v<Message>) {
      if (I != index) return alternative<I + 1>(index);
      std::variant_alternative_t<I, Message> body;
      fill(body);
      return body;
    }
    return Beat();
  }

  template <typename T>
  T number(T least, T most) {
    // One number in 16 is arbitrary.
    if (data_.ConsumeIntegralInRange(0, 15) == 0) {
      return data_.ConsumeIntegral<T>();
    }
    return data_.ConsumeIntegralInRange<T>(least, most);
  }
  // `values` is an array or std::array.
  template <typename Values>
  auto one_of(const Values& values) {
    return values[data_.ConsumeIntegralInRange<std::size_t>(
        0, std::size(values) - 1)];
  }

  void fill(bool& value) { value = data_.ConsumeBool(); }
  void fill(int& value) { value = number<int>(-1, 5); }
  void fill(std::uint32_t& value) {
    value = number<std::uint32_t>(0, 9);
    if (value == 9) value = kNoSlot;
  }
  void fill(std::uint64_t& value) { value = number<std::uint64_t>(0, 5); }
  void fill(std::string& value) {
    value = std::string(1, data_.ConsumeIntegralInRange<char>('a', 'h'));
  }
  const Request& request() {
    return requests_[data_.ConsumeIntegralInRange<std::size_t>(
        0, requests_.size() - 1)];
  }

  void fill(Key& key) {
    if (data_.ConsumeBool()) {
      key = request().key;
      return;
    }
    key.process_set = number<std::uint32_t>(0, 3);
    fill(key.name);
  }
  void fill(TensorSpec& tensor) {
    tensor.dtype = one_of(kAllDTypes);
    std::vector<std::int64_t> dims;
    for (int i = data_.ConsumeIntegralInRange(0, 3); i > 0; --i) {
      dims.push_back(data_.ConsumeIntegralInRange(0, 9));
    }
    tensor.shape = Shape(std::move(dims));
  }
  void fill(Request& request) {
    if (data_.ConsumeIntegralInRange(0, 3) != 0) {
      request = this->request();
      return;
    }
    request.kind = one_of(kAllRequestKinds);
    fill(request.key);
    fill(request.tensors);
    fill(request.root);
    fill(request.once);
    fill(request.average_of_participants);
    fill(request.captured);
    if (describe(request.kind).changes_sets) fill(request.ranks);
    fill(request.subject);
  }
  void fill(std::shared_ptr<const Request>& request) {
    Request filled;
    fill(filled);
    request = std::make_shared<const Request>(std::move(filled));
  }
  void fill(std::optional<Request>& request) {
    if (data_.ConsumeBool()) fill(request.emplace());
  }
  void fill(FailureKind& kind) {
    kind = static_cast<FailureKind>(
        data_.ConsumeIntegralInRange(0, static_cast<int>(kLastFailureKind)));
  }
  void fill(Record& record) {
    record.kind = static_cast<RecordKind>(
        data_.ConsumeIntegralInRange(0, static_cast<int>(kLastRecordKind)));
    fill(record.id);
    fill(record.value);
    record.ends_batch = data_.ConsumeIntegralInRange(0, 3) != 0;
  }
  // A vector.
  template <typename T>
  requires requires(T& t) { t.emplace_back(); }
  void fill(T& values) {
    for (int i = data_.ConsumeIntegralInRange(0, 3); i > 0; --i) {
      fill(values.emplace_back());
    }
  }
  template <typename T>
  requires requires(T& t) { T::fields(t); }
  void fill(T& value) {
    std::apply([&](auto&... field) { (fill(field), ...); }, T::fields(value));
  }

  FuzzedDataProvider& data_;
  const std::vector<Request>& requests_;
};

}  // namespace hvd::coordinator
