// A plain MPI program for the launcher's tests. Its first argument says how it
// ends; all ranks have met in a barrier before.
#include <mpi.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

// Until a peer's end could have ended this rank, too.
void outlive_the_peer() {
  const auto until =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(1500);
  while (std::chrono::steady_clock::now() < until) usleep(10000);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Barrier(MPI_COMM_WORLD);
  const std::string way = argc > 1 ? argv[1] : "finalize";

  if (way == "abort" && rank == 1) MPI_Abort(MPI_COMM_WORLD, 7);
  if (way == "kill" && rank == 1) raise(SIGKILL);
  if (way == "exit" && rank == 1) _exit(3);
  if (way == "kill" || way == "exit" || way == "abort") {
    outlive_the_peer();
    std::fprintf(stderr, "rank %d survived\n", rank);
    _exit(4);
  }
  if (way == "leave") _exit(0);
  MPI_Finalize();
  std::printf("rank %d of %d\n", rank, size);
  return 0;
}
