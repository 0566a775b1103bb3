// SPDX-License-Identifier: Apache-2.0
/* A rank that says how many there are, and by which module it speaks MPI. With
   MPI_IS_MINE, it has initialized MPI itself before. */
#include <stdio.h>
#include <string.h>

#include "horovodpp/c/horovodpp.h"
#ifdef MPI_IS_MINE
#include <mpi.h>
#endif

/* The flavor in the name of the module that this process has loaded; "none". */
static const char* loaded_flavor(void) {
  static const char kName[] = "/libhorovodpp_mpi_";
  static char line[4096];
  FILE* const maps = fopen("/proc/self/maps", "r");
  while (maps != NULL && fgets(line, sizeof(line), maps) != NULL) {
    char* const name = strstr(line, kName);
    if (name == NULL) continue;
    fclose(maps);
    *strstr(name, ".so") = '\0';
    return name + strlen(kName);
  }
  if (maps != NULL) fclose(maps);
  return "none";
}

int main(void) {
  float sum = 1;
  hvd_allreduce_options options = HVD_ALLREDUCE_OPTIONS;
  options.op = HVD_SUM;
#ifdef MPI_IS_MINE
  int level = 0;
  MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
#endif
  if (hvd_init(HVD_C_VERSION) != HVD_OK ||
      hvd_allreduce(&sum, 1, HVD_FLOAT32, &options) != HVD_OK) {
    fprintf(stderr, "%s\n", hvd_last_error_text());
    return 3;
  }
  printf("%d of %d by %s\n", (int)hvd_rank(), (int)sum, loaded_flavor());
  fflush(stdout);
  hvd_shutdown();
#ifdef MPI_IS_MINE
  MPI_Finalize();
#endif
  return 0;
}
