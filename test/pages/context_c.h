// SPDX-License-Identifier: Apache-2.0
/* What the snippets in C take from the text around them. */
#pragma once

#include <horovodpp/c/horovodpp.h>
#include <stdio.h>

struct snippet {
  const char* place; /* Page, line and name. */
  int (*run)(void);
  int in_a_job; /* Whether it expects hvd_init() to have been called. */
};

static int run_snippets(const struct snippet* snippets, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    fprintf(stderr, "%s\n", snippets[i].place); /* A crash says where. */
    if ((snippets[i].in_a_job && hvd_init(HVD_C_VERSION)) ||
        snippets[i].run() || hvd_shutdown()) {
      fprintf(stderr, "%s: %s\n", snippets[i].place, hvd_last_error_text());
      return 1;
    }
  }
  fprintf(stderr, "%zu snippets ran\n", count);
  return 0;
}

enum { n = 64 };
static float weights[n], gradients[n];
