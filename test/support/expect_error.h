// SPDX-License-Identifier: Apache-2.0
// Expectations about the exception that a call throws.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "horovodpp/core/error.h"

// EXPECT_ERROR(VersionError, "inplace", x.backward());
#define EXPECT_ERROR(Class, text, statement)                            \
  try {                                                                 \
    statement;                                                          \
    ADD_FAILURE() << "threw nothing; wanted " #Class;                   \
  } catch (const Class& error) {                                        \
    EXPECT_THAT(std::string(error.what()), ::testing::HasSubstr(text)); \
  }

namespace hvd {

// The status of the Error that `call` throws; OK if it throws none.
template <typename Call>
Status error_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.status();
  }
  return Status();
}

}  // namespace hvd
