// SPDX-License-Identifier: Apache-2.0
// A plain MPI program for the launcher's tests. The first argument chooses how
// it ends, after all ranks have met in a barrier.
#include <mpi.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string>

namespace {

// Runs so long that a peer's end could have ended this rank, too.
void outlive_the_peer() {
  const auto until =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
  while (std::chrono::steady_clock::now() < until) usleep(10000);
}

// Prints a line for each file in /dev/shm that this process has mapped.
void print_segments() {
  std::ifstream maps("/proc/self/maps");
  std::set<std::string> paths;
  for (std::string line; std::getline(maps, line);) {
    const size_t path = line.find("/dev/shm/");
    if (path != std::string::npos) paths.insert(line.substr(path));
  }
  std::string text;
  for (const std::string& path : paths) text += "segment " + path + "\n";
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
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
  if (way == "wait") {
    print_segments();
    for (;;) pause();
  }
  MPI_Finalize();
  std::printf("rank %d of %d\n", rank, size);
  return 0;
}
