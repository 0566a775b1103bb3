// SPDX-License-Identifier: Apache-2.0
/* The program of a user, as the pages' snippets of shell start it. */
#include <horovodpp/c/horovodpp.h>
#include <stdio.h>

int main(void) {
  float mean;
  if (hvd_init(HVD_C_VERSION)) return puts(hvd_last_error_text()), 1;
  mean = (float)hvd_rank();
  if (hvd_allreduce(&mean, 1, HVD_FLOAT32, NULL))
    return puts(hvd_last_error_text()), 1;
  if (2 * mean + 1 != (float)hvd_size()) return 1;
  if (hvd_rank() == 0) printf("%d ranks\n", hvd_size());
  return 0;
}
