// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/runtime.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "horovodpp/collective/arena/arena.h"
#include "horovodpp/collective/arena/results.h"
#include "horovodpp/core/job/suspects.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/system/failpoints.h"
#include "horovodpp/core/thread/promise.h"
#include "horovodpp/runtime/channels/launcher_channel.h"
#include "horovodpp/runtime/job/growth.h"
#include "horovodpp/runtime/job/job.h"
#include "horovodpp/runtime/job/recovery.h"
#include "horovodpp/runtime/job/start_up.h"
#include "horovodpp/runtime/settings/capture_options.h"
#include "horovodpp/runtime/settings/config.h"
#include "horovodpp/runtime/settings/waits_at_once.h"
#include "horovodpp/runtime/submission/lifetime_guard.h"
#include "horovodpp/runtime/submission/prepared_call.h"
#include "horovodpp/runtime/submission/submissions.h"
#include "horovodpp/runtime/submission/submitter.h"
#include "horovodpp/transport/communicator.h"

namespace hvd {

using coordinator::RequestKind;
using coordinator::Results;
using runtime::submission;
using runtime::submission_into;
using runtime::Terms;

namespace {

template <typename View>
coordinator::Inputs inputs_of(const std::vector<View>& tensors) {
  return {tensors.begin(), tensors.end()};
}

// Prepares the submission that `build` makes of the terms.
template <typename Build>
StatusOr<std::unique_ptr<runtime::PreparedCall>> prepare(
    runtime::Submitter& submitter, Terms terms, coordinator::Outputs results,
    const Build& build) {
  // Unnamed calls get a new number each time.
  if (terms.name.empty()) {
    return absl::InvalidArgumentError(
        "a prepared collective needs a name, which is equal on all ranks");
  }
  const ProcessSet set = terms.process_set;
  return submitter.prepare(build(std::move(terms)), set, std::move(results));
}

StatusOr<std::unique_ptr<runtime::PreparedCall>> prepare_into(
    runtime::Submitter& submitter, runtime::SetTable& sets, RequestKind kind,
    const ConstTensorView& tensor, const TensorView& result, Terms terms) {
  return prepare(submitter, std::move(terms), {result}, [&](Terms mine) {
    return runtime::submission_into(sets, kind, tensor, result,
                                    std::move(mine));
  });
}

// Submits the creation of a set.
Future<ProcessSet> set_of(runtime::Submitter& submitter,
                          absl::StatusOr<coordinator::SubmissionPtr> built) {
  ProcessSet::Ranks members = std::make_shared<const std::vector<int>>(
      built.ok() ? (*built)->request.ranks : std::vector<int>());
  return submitter.submit<ProcessSet>(
      std::move(built),
      [members](const Results& results) -> Outcome<ProcessSet> {
        return ProcessSet(static_cast<std::uint32_t>(results.number), members);
      });
}

}  // namespace

StatusOr<std::unique_ptr<Runtime>> Runtime::start(const Config& config) {
  if (!config.failpoints.empty()) {
    HVD_RETURN_IF_ERROR(set_failpoints(config.failpoints, config.rank));
  }
  HVD_RETURN_IF_ERROR(pass_failpoint(Failpoint::kInitMeeting));
  if (config.is_newcomer) {
    auto growth = std::make_shared<runtime::Growth>(config);
    HVD_ASSIGN_OR_RETURN(std::unique_ptr<runtime::Job> job, growth->join());
    auto recovery =
        std::make_shared<runtime::Recovery>(config, growth->numbers());
    return std::unique_ptr<Runtime>(
        new Runtime(std::move(recovery), std::move(growth), std::move(job)));
  }
  // A rank in MPI_Init cannot see deaths; the launcher has to watch.
  if (config.launched) runtime::LauncherChannel(config.launcher).joining();
  HVD_ASSIGN_OR_RETURN(std::unique_ptr<transport::Communicator> wires,
                       runtime::make_communicator(config));
  HVD_RETURN_IF_ERROR(pass_failpoint(Failpoint::kInitMet));
  return start(config, std::move(wires));
}

StatusOr<std::unique_ptr<Runtime>> Runtime::start(
    const Config& config,
    std::unique_ptr<transport::Communicator> communicator) {
  const runtime::LauncherChannel launcher(config.launcher);
  launcher.connected();
  absl::StatusOr<std::unique_ptr<runtime::Job>> job =
      runtime::Job::start(config, std::move(communicator));
  if (!job.ok()) {
    launcher.broken(job.status());
    return job.status();
  }
  return std::unique_ptr<Runtime>(
      new Runtime(std::make_shared<runtime::Recovery>(config),
                  std::make_shared<runtime::Growth>(config), *std::move(job)));
}

StatusOr<std::unique_ptr<Runtime>> Runtime::reform() {
  std::vector<int> suspects = suspects_of(job_->status());
  std::erase(suspects, job_->topology().rank());
  HVD_ASSIGN_OR_RETURN(std::shared_ptr<runtime::Job> job,
                       recovery_->reform(job_, suspects));
  lifetime_guard_->shut();
  return std::unique_ptr<Runtime>(
      new Runtime(recovery_, growth_, std::move(job)));
}

bool Runtime::is_elastic() const { return growth_->config().max_ranks > 0; }

bool Runtime::is_newcomer() const { return growth_->config().is_newcomer; }

int Runtime::waiting_newcomers() {
  const Topology& topology = job_->topology();
  if (topology.rank() != 0) return 0;
  return std::max(0, std::min(growth_->waiting(),
                              growth_->config().max_ranks - topology.size()));
}

StatusOr<std::unique_ptr<Runtime>> Runtime::grow() {
  HVD_RETURN_IF_ERROR(job_->status());
  const bool admits = job_->topology().rank() == 0;
  // Size and number of the growth; -1: rank 0 has an error.
  std::array<std::int64_t, 2> terms = {-1, 0};
  absl::Status refused;
  if (admits) {
    const auto admission = growth_->admit(job_->topology().size());
    refused = admission.status();
    if (admission.ok()) terms = {admission->size, admission->number};
  }
  const Status told = broadcast_async_(TensorView::of(terms.data(), {2}), 0,
                                       {.name = "horovodpp.grow"})
                          .wait();
  if (!told.ok()) {
    if (admits) growth_->withdraw();
    return told;
  }
  if (!refused.ok()) return refused;
  if (terms[0] <= 0) {
    return absl::UnavailableError(
        terms[0] < 0
            ? "the job has not grown: rank 0 cannot reach the launcher"
            : "the job has not grown: no newcomer waits, or it has its "
              "largest number of ranks");
  }
  absl::StatusOr<std::unique_ptr<runtime::Job>> job =
      growth_->grow({.number = static_cast<std::uint32_t>(terms[1]),
                     .rank = job_->topology().rank(),
                     .size = static_cast<int>(terms[0])},
                    *job_);
  if (!job.ok()) {
    HVD_RETURN_IF_ERROR(job_->status());
    return job.status();
  }
  lifetime_guard_->shut();
  // A rank that is lost now is lost to the new job, too.
  job_->stop().IgnoreError();
  return std::unique_ptr<Runtime>(
      new Runtime(std::make_shared<runtime::Recovery>(growth_->config(),
                                                      growth_->numbers()),
                  growth_, *std::move(job)));
}

Runtime::Runtime(std::shared_ptr<runtime::Recovery> recovery,
                 std::shared_ptr<runtime::Growth> growth,
                 std::shared_ptr<runtime::Job> job)
    : recovery_(std::move(recovery)),
      growth_(std::move(growth)),
      job_(std::move(job)),
      sets_(job_->sets()),
      submitter_(std::make_unique<runtime::Submitter>(sets_, *job_)),
      lifetime_guard_(std::make_unique<runtime::LifetimeGuard<Runtime>>(this)) {
  if (job_->topology().rank() == 0) growth_->watch(job_->log());
}

// A thread that waits for a future may be driving the job; it stops with the
// job. A forked child touches nothing, because the threads, memory and wires
// belong to its parent.
Runtime::~Runtime() {
  job_->stop().IgnoreError();
  if (!job_->is_of_a_parent()) {
    lifetime_guard_->shut();
    return;
  }
  lifetime_guard_->abandon();
  static_cast<void>(submitter_.release());
  new std::pair(std::move(job_), std::move(recovery_));
}

const std::shared_ptr<Arena>& Runtime::arena() const { return job_->arena(); }

StatusOr<std::shared_ptr<void>> Runtime::allocate_on(const Device& device,
                                                     std::size_t bytes) {
  if (device.is_cpu()) {
    auto memory = collective::allocate_held(job_->arena(), bytes);
    if (!memory.ok()) return memory.status();
    return std::shared_ptr<void>(*std::move(memory));
  }
  auto memory = job_->allocate_on(device.index, bytes);
  if (!memory.ok()) return Status(memory.status());
  return std::shared_ptr<void>(*std::move(memory));
}

Status Runtime::start_timeline(const std::string& path,
                               TimelineOptions options) {
  return job_->start_timeline(path, options);
}

Runtime::Memory Runtime::memory() const {
  return {.arena_peak = arena()->peak(), .staging = job_->staging_bytes()};
}

Status Runtime::stop_timeline() { return job_->stop_timeline(); }

void Runtime::mark_step() { job_->mark_step(); }

StatusOr<std::vector<Metric>> Runtime::metrics() { return job_->metrics(); }

telemetry::Log& Runtime::log() const { return job_->log(); }

std::shared_ptr<trace::Recorder> Runtime::recorder() const {
  return job_->recorder();
}

Status Runtime::stop() {
  absl::Status end = job_->stop();
  // In a callback or a forked child, stop() did nothing.
  if (!absl::IsFailedPrecondition(end)) lifetime_guard_->shut();
  return end;
}

void Runtime::abort(const std::string& why) { job_->abort(why); }
Membership Runtime::membership() const {
  return Membership(lifetime_guard_->key());
}
const Topology& Runtime::topology() const { return job_->topology(); }
Status Runtime::status() const { return job_->status(); }

Future<void> Runtime::allreduce_async_(TensorView tensor,
                                       AllreduceOptions options) {
  if (auto repeated = submitter_->repeat(tensor, options)) {
    return *std::move(repeated);
  }
  const ProcessSet set = options.process_set;
  return submitter_->by_name(
      submission(sets_, RequestKind::kAllreduce, {tensor}, std::move(options)),
      set, tensor);
}

Status Runtime::allreduce_(TensorView tensor, AllreduceOptions options) {
  const WaitsAtOnce at_once;
  if (auto outcome = submitter_->run(tensor, options)) {
    return *std::move(outcome);
  }
  return allreduce_async_(std::move(tensor), std::move(options)).wait();
}

Future<void> Runtime::grouped_allreduce_async_(std::vector<TensorView> tensors,
                                               AllreduceOptions options) {
  auto built = submission(sets_, RequestKind::kAllreduce, inputs_of(tensors),
                          std::move(options));
  return submitter_->in_place(std::move(built),
                              {tensors.begin(), tensors.end()});
}

Future<Buffer> Runtime::allreduce_async(ConstTensorView tensor,
                                        AllreduceOptions options) {
  return submitter_->in_new_memory<Buffer>(
      submission(sets_, RequestKind::kAllreduce, {tensor}, std::move(options)));
}

Future<std::vector<Buffer>> Runtime::grouped_allreduce_async(
    const std::vector<ConstTensorView>& tensors, AllreduceOptions options) {
  return submitter_->in_new_memory<std::vector<Buffer>>(submission(
      sets_, RequestKind::kAllreduce, inputs_of(tensors), std::move(options)));
}

StatusOr<Prepared> Runtime::prepare_allreduce_(TensorView tensor,
                                               AllreduceOptions options) {
  return prepare_allreduce(tensor, tensor, std::move(options));
}

StatusOr<Prepared> Runtime::prepare_allreduce(ConstTensorView tensor,
                                              TensorView result,
                                              AllreduceOptions options) {
  return prepared(prepare_into(*submitter_, sets_, RequestKind::kAllreduce,
                               tensor, result, std::move(options)));
}

StatusOr<Prepared> Runtime::prepare_grouped_allreduce_(
    const std::vector<TensorView>& tensors, AllreduceOptions options) {
  return prepared(prepare(*submitter_, std::move(options),
                          {tensors.begin(), tensors.end()}, [&](Terms mine) {
                            return submission(sets_, RequestKind::kAllreduce,
                                              inputs_of(tensors),
                                              std::move(mine));
                          }));
}

StatusOr<Prepared> Runtime::prepare_broadcast_(TensorView tensor, int root_rank,
                                               BroadcastOptions options) {
  return prepared(
      prepare(*submitter_, std::move(options), {tensor}, [&](Terms mine) {
        return submission(sets_, RequestKind::kBroadcast, {tensor},
                          std::move(mine), root_rank);
      }));
}

StatusOr<Prepared> Runtime::prepared(
    StatusOr<std::unique_ptr<runtime::PreparedCall>> call) {
  if (!call.ok()) return call.status();
  return Prepared(*std::move(call));
}

Future<Buffer> Runtime::allgather_async(ConstTensorView tensor,
                                        AllgatherOptions options) {
  return submitter_->in_new_memory<Buffer>(
      submission(sets_, RequestKind::kAllgather, {tensor}, std::move(options)));
}

Future<std::vector<Buffer>> Runtime::grouped_allgather_async(
    const std::vector<ConstTensorView>& tensors, AllgatherOptions options) {
  return submitter_->in_new_memory<std::vector<Buffer>>(submission(
      sets_, RequestKind::kAllgather, inputs_of(tensors), std::move(options)));
}

Future<void> Runtime::allgather_into_async(ConstTensorView tensor,
                                           TensorView result,
                                           AllgatherOptions options) {
  return submitter_->in_place(
      submission_into(sets_, RequestKind::kAllgather, tensor, result,
                      std::move(options)),
      {result});
}

StatusOr<Prepared> Runtime::prepare_allgather(ConstTensorView tensor,
                                              TensorView result,
                                              AllgatherOptions options) {
  return prepared(prepare_into(*submitter_, sets_, RequestKind::kAllgather,
                               tensor, result, std::move(options)));
}

Future<void> Runtime::broadcast_async_(TensorView tensor, int root_rank,
                                       BroadcastOptions options) {
  return submitter_->in_place(
      submission(sets_, RequestKind::kBroadcast, {tensor}, std::move(options),
                 root_rank),
      {tensor});
}

Future<Buffer> Runtime::broadcast_async(ConstTensorView tensor, int root_rank,
                                        BroadcastOptions options) {
  return submitter_->in_new_memory<Buffer>(submission(
      sets_, RequestKind::kBroadcast, {tensor}, std::move(options), root_rank));
}

Future<AlltoallResult> Runtime::alltoall_async(ConstTensorView tensor,
                                               AlltoallOptions options) {
  return submitter_->in_new_memory<AlltoallResult>(
      submission(sets_, RequestKind::kAlltoall, {tensor}, std::move(options)));
}

Future<std::vector<std::int64_t>> Runtime::alltoall_into_async(
    ConstTensorView tensor, TensorView result, AlltoallOptions options) {
  return submitter_->in_place<std::vector<std::int64_t>>(
      submission_into(sets_, RequestKind::kAlltoall, tensor, result,
                      std::move(options)),
      {result});
}

StatusOr<Prepared> Runtime::prepare_alltoall(ConstTensorView tensor,
                                             TensorView result,
                                             AlltoallOptions options) {
  return prepared(prepare_into(*submitter_, sets_, RequestKind::kAlltoall,
                               tensor, result, std::move(options)));
}

Future<void> Runtime::reducescatter_into_async(ConstTensorView tensor,
                                               TensorView result,
                                               ReducescatterOptions options) {
  return submitter_->in_place(
      submission_into(sets_, RequestKind::kReducescatter, tensor, result,
                      std::move(options)),
      {result});
}

StatusOr<Prepared> Runtime::prepare_reducescatter(
    ConstTensorView tensor, TensorView result, ReducescatterOptions options) {
  return prepared(prepare_into(*submitter_, sets_, RequestKind::kReducescatter,
                               tensor, result, std::move(options)));
}

Future<Buffer> Runtime::reducescatter_async(ConstTensorView tensor,
                                            ReducescatterOptions options) {
  return submitter_->in_new_memory<Buffer>(submission(
      sets_, RequestKind::kReducescatter, {tensor}, std::move(options)));
}

Future<std::vector<Buffer>> Runtime::grouped_reducescatter_async(
    const std::vector<ConstTensorView>& tensors, ReducescatterOptions options) {
  return submitter_->in_new_memory<std::vector<Buffer>>(
      submission(sets_, RequestKind::kReducescatter, inputs_of(tensors),
                 std::move(options)));
}

Future<void> Runtime::reduce_async_(TensorView tensor, int root_rank,
                                    ReduceOptions options) {
  return submitter_->in_place(submission(sets_, RequestKind::kReduce, {tensor},
                                         std::move(options), root_rank),
                              {tensor});
}

Future<Buffer> Runtime::reduce_async(ConstTensorView tensor, int root_rank,
                                     ReduceOptions options) {
  return submitter_->in_new_memory<Buffer>(submission(
      sets_, RequestKind::kReduce, {tensor}, std::move(options), root_rank));
}

Future<Buffer> Runtime::gather_async(ConstTensorView tensor, int root_rank,
                                     GatherOptions options) {
  return submitter_->in_new_memory<Buffer>(submission(
      sets_, RequestKind::kGather, {tensor}, std::move(options), root_rank));
}

Future<Buffer> Runtime::scatter_async(ConstTensorView tensor, int root_rank,
                                      ScatterOptions options) {
  return submitter_->in_new_memory<Buffer>(submission(
      sets_, RequestKind::kScatter, {tensor}, std::move(options), root_rank));
}

Future<void> Runtime::send_async(ConstTensorView tensor, int to_rank,
                                 MessageOptions options) {
  return submitter_->submit<void>(
      runtime::send_submission(sets_, tensor, to_rank, std::move(options)),
      [](const Results&) { return absl::OkStatus(); });
}

Future<int> Runtime::receive_async(TensorView tensor, int from_rank,
                                   MessageOptions options) {
  return submitter_->submit<int>(
      runtime::receive_submission(sets_, tensor, from_rank, std::move(options)),
      [](const Results& results) -> Outcome<int> {
        return static_cast<int>(results.number);
      });
}

Future<void> Runtime::barrier_async(const ProcessSet& set) {
  return submitter_->barrier(set);
}

Status Runtime::barrier(const ProcessSet& set) {
  if (auto outcome = submitter_->barrier_at_once(set)) {
    return *std::move(outcome);
  }
  const WaitsAtOnce at_once;
  return barrier_async(set).wait();
}

void Runtime::keep_captured(const std::shared_ptr<device::CudaGraph>& graph) {
  job_->keep_captured(graph);
}

Future<void> Runtime::replay(const CaptureOptions& options,
                             std::shared_ptr<const device::CudaGraph> graph) {
  auto built = runtime::bare_submission(sets_, RequestKind::kReplay,
                                        options.process_set, options.name);
  if (built.ok()) {
    (*built)->request.device = options.device;
    (*built)->stream = options.stream;
    (*built)->graph = std::move(graph);
  }
  return submitter_->submit<void>(
      std::move(built), [](const Results&) { return absl::OkStatus(); });
}

Future<int> Runtime::join_async(const ProcessSet& set) {
  return submitter_->submit<int>(
      runtime::bare_submission(sets_, RequestKind::kJoin, set),
      [](const Results& results) -> Outcome<int> {
        return static_cast<int>(results.number);
      });
}

Future<ProcessSet> Runtime::add_process_set_async(std::vector<int> ranks) {
  return set_of(*submitter_,
                runtime::add_set_submission(sets_, std::move(ranks)));
}

Future<ProcessSet> Runtime::new_process_set_async(std::vector<int> ranks,
                                                  const std::string& key) {
  return set_of(*submitter_,
                runtime::new_set_submission(sets_, std::move(ranks), key));
}

Future<void> Runtime::free_process_set_async(const ProcessSet& set) {
  return submitter_->in_place(runtime::free_set_submission(sets_, set), {});
}

Future<void> Runtime::remove_process_set_async(const ProcessSet& set) {
  return submitter_->in_place(runtime::remove_set_submission(sets_, set), {});
}

std::vector<ProcessSet> Runtime::process_sets() const { return sets_.all(); }

StatusOr<std::vector<int>> Runtime::ranks_of(const ProcessSet& set) const {
  HVD_ASSIGN_OR_RETURN(const ProcessSet found, sets_.find(set));
  return found.ranks();
}

StatusOr<int> Runtime::rank_in(const ProcessSet& set) const {
  HVD_ASSIGN_OR_RETURN(const runtime::SetPlace place, sets_.place_in(set));
  return place.position;
}

}  // namespace hvd
