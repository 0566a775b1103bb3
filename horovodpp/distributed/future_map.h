// SPDX-License-Identifier: Apache-2.0
// map() makes a future of a function of another future's value:
//
//   Future<Tensor> first = map<Tensor>(tensors, [](const Tensors& all) {
//     return all.front();
//   });
//
// The function runs at once if the value is there, else on the thread that
// supplies it. Errors pass through, and an exception of the function becomes
// the outcome. A wait for the new future waits for the old one, with the same
// consequences.
#pragma once

#include <exception>
#include <new>
#include <type_traits>
#include <utility>

#include "horovodpp/core/error.h"
#include "horovodpp/core/outcome.h"
#include "horovodpp/core/thread/future.h"
#include "horovodpp/core/thread/promise.h"

namespace hvd::distributed {

// The function's outcome for a value, or the error.
template <typename To, typename From, typename Function>
Outcome<To> outcome_of(const Outcome<From>& from, Function& function) try {
  if constexpr (std::is_void_v<From>) {
    if (!from.ok()) return from;
    if constexpr (std::is_void_v<To>) {
      function();
      return Status();
    } else {
      return function();
    }
  } else {
    if (!from.ok()) return from.status();
    if constexpr (std::is_void_v<To>) {
      function(*from);
      return Status();
    } else {
      return function(*from);
    }
  }
} catch (const Error& error) {
  return error.status();
} catch (const std::bad_alloc&) {
  return Status(StatusCode::kResourceExhausted,
                "there is not enough memory for the result of a collective");
} catch (const std::exception& error) {
  return Status(StatusCode::kInternal, error.what());
} catch (...) {
  return Status(StatusCode::kInternal, "an exception of no known class");
}

template <typename To, typename From, typename Function>
Future<To> map(const Future<From>& source, Function function) {
  if (source.poll()) {
    return Future<To>::ready(outcome_of<To, From>(source.wait(), function));
  }
  const Promise<To> promise([source](const Ready& ready) {
    if (ready) {
      static_cast<void>(source.wait());
    } else {
      static_cast<void>(source.wait_for(0));
    }
  });
  source.then([promise, function = std::move(function)](
                  const Outcome<From>& outcome) mutable {
    promise.set(outcome_of<To, From>(outcome, function));
  });
  return promise.future();
}

}  // namespace hvd::distributed
