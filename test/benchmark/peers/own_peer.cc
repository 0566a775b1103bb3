// SPDX-License-Identifier: Apache-2.0
// own_peer: the time of horovodpp for a Work.
//
//   horovodrun -np 2 own_peer [FOLDER SECONDS WORK...]
#include <mpi.h>

#include "horovodpp/core/error.h"
#include "horovodpp/runtime/global.h"
#include "horovodpp/runtime/global_collectives.h"
#include "test/benchmark/guarded_main.h"
#include "test/benchmark/peers/own_tasks.h"

namespace hvd::benchmark {
namespace {

// Ranks meet by plain MPI, because a collective of the runtime would become
// part of its steps.
class OwnSide : public Side {
 public:
  OwnSide() { MPI_Comm_dup(MPI_COMM_WORLD, &comm_); }
  ~OwnSide() override { MPI_Comm_free(&comm_); }
  OwnSide(const OwnSide&) = delete;
  OwnSide& operator=(const OwnSide&) = delete;

  int rank() const override { return hvd::rank(); }
  void barrier() override { MPI_Barrier(comm_); }

  double greatest(double of_this_rank) override {
    MPI_Allreduce(MPI_IN_PLACE, &of_this_rank, 1, MPI_DOUBLE, MPI_MAX, comm_);
    return of_this_rank;
  }

  std::unique_ptr<Task> make(const Work& work) override {
    return own_task(work);
  }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

int main(int argc, char** argv) {
  throw_if_error(init());
  float ranks = 1;
  throw_if_error(allreduce_(TensorView::of(&ranks, {1}), {.name = "hello"}));
  if (argc == 1) return 0;
  int code = 0;
  {
    OwnSide side;
    code = measure_all(side, argc, argv);
  }
  throw_if_error(shutdown());
  return code;
}

}  // namespace
}  // namespace hvd::benchmark

int main(int argc, char** argv) {
  return hvd::benchmark::guarded_main(hvd::benchmark::main, argc, argv);
}
