// SPDX-License-Identifier: Apache-2.0
// Checks for a program with few dependencies, which any libtorch compiles. A
// failed check is printed, and counts in the exit code.
#pragma once

#include <torch/torch.h>

#include <exception>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "horovodpp/libtorch.h"

namespace test {

inline int failures = 0;

inline void fail(int line, const std::string& text) {
  ++failures;
  std::cerr << "rank " << hvd_rank() << ", line " << line << ": " << text
            << "\n";
}

// The message without libtorch's stack trace.
inline std::string text_of(const std::exception& error) {
  const std::string text = error.what();
  return text.substr(0, text.find("\nException raised"));
}

// Expects `action` to throw an E whose message contains `part`.
template <typename E>
void check_throws(int line, const std::string& part,
                  const std::function<void()>& action) {
  try {
    action();
  } catch (const E& error) {
    if (std::string(error.what()).find(part) == std::string::npos) {
      fail(line, "'" + part + "' is not in: " + text_of(error));
    }
    return;
  } catch (const std::exception& error) {
    return fail(line, std::string("it threw another class: ") + text_of(error));
  }
  fail(line, "it did not throw '" + part + "'");
}

// The largest difference between elements.
inline double distance(const torch::Tensor& a, const torch::Tensor& b) {
  return (a.to(torch::kDouble) - b.to(torch::kDouble))
      .abs()
      .max()
      .item<double>();
}

// Same shapes and bits.
inline bool equal(const std::vector<torch::Tensor>& a,
                  const std::vector<torch::Tensor>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!torch::equal(a[i], b[i])) return false;
  }
  return true;
}

struct Case {
  const char* name;
  void (*run)();
};

inline std::vector<Case>& cases() {
  static std::vector<Case> all;
  return all;
}

struct Registered {
  Registered(const char* name, void (*run)()) {
    cases().push_back({name, run});
  }
};

}  // namespace test

#define EXPECT(condition) \
  ((condition) ? (void)0 : test::fail(__LINE__, #condition))
#define EXPECT_CLOSE(a, b, most)                                       \
  do {                                                                 \
    const double found = test::distance((a), (b));                     \
    if (!(found <= (most))) {                                          \
      test::fail(__LINE__,                                             \
                 #a " and " #b " differ by " + std::to_string(found)); \
    }                                                                  \
  } while (false)
#define EXPECT_THROWN(E, part, ...) \
  test::check_throws<E>(__LINE__, (part), [&] { (void)(__VA_ARGS__); })
#define TEST(name)                                              \
  static void name();                                           \
  static const test::Registered registered_##name(#name, name); \
  static void name()
