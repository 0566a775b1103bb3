// SPDX-License-Identifier: Apache-2.0
/* Checks for C programs: a failed check is printed, and counts in the exit code. */
#ifndef HVD_TEST_C_CHECKS_H
#define HVD_TEST_C_CHECKS_H

#include <stdio.h>
#include <string.h>

#include "horovodpp/c/horovodpp.h"

static int failures = 0;

static void check(int holds, const char* what, int line) {
  if (holds) return;
  ++failures;
  fprintf(stderr, "rank %d, line %d: %s\n", (int)hvd_rank(), line, what);
}
#define CHECK(condition) check((condition), #condition, __LINE__)

/* `code`: the result of `call`. */
static void check_ok(int32_t code, const char* call, int line) {
  if (code == HVD_OK) return;
  ++failures;
  fprintf(stderr, "line %d: %s: %s: %s\n", line, call, hvd_code_name(code),
          hvd_last_error_text());
}
#define CHECK_OK(call) check_ok((call), #call, __LINE__)

/* Expects the call to fail with `wanted` and a message that contains `part`. */
static void check_refused(int32_t wanted, const char* part, int32_t code,
                          const char* call, int line) {
  if (code == wanted && hvd_last_error_code() == wanted &&
      strstr(hvd_last_error_text(), part) != NULL) {
    return;
  }
  ++failures;
  fprintf(stderr, "line %d: %s: %s instead of %s: %s\n", line, call,
          hvd_code_name(code), hvd_code_name(wanted), hvd_last_error_text());
}
#define CHECK_REFUSED(wanted, part, call) \
  check_refused((wanted), (part), (call), #call, __LINE__)

#endif
