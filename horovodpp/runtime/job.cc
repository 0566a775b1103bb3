#include "horovodpp/runtime/job.h"

#include <chrono>
#include <exception>
#include <future>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "horovodpp/collective/ring_plane.h"
#include "horovodpp/collective/shm_plane.h"
#include "horovodpp/core/status.h"
#include "horovodpp/runtime/start_up.h"

namespace hvd::runtime {
namespace {

constexpr std::uint32_t kFirstEpoch = 1;

std::size_t whole_pages(std::size_t bytes) {
  constexpr std::size_t kPage = 4096;
  return (bytes + kPage - 1) / kPage * kPage;
}

coordinator::Coordinator::Options coordinator_options(const Config& config,
                                                      const Topology& sharing) {
  return {.rank = sharing.rank(),
          .size = sharing.size(),
          .leaders = sharing.leaders(),
          .my_leader = sharing.local_ranks().front(),
          .epoch = kFirstEpoch,
          .cache_capacity = config.cache_capacity,
          .fusion_threshold = config.fusion_threshold,
          .hold_back = config.cycle_time};
}

}  // namespace

Job::Layout Job::lay_out(const Config& config, const Topology& sharing) {
  return {.board = whole_pages(
              coordinator::SharedBoard::bytes_needed(config.cache_capacity)),
          .mail = whole_pages(
              transport::NodeMail::bytes_needed(sharing.local_size())),
          .plane = collective::ShmPlane::bytes_needed(sharing.local_size())};
}

absl::StatusOr<std::unique_ptr<Job>> Job::start(
    const Config& config, std::unique_ptr<transport::Communicator> wires) {
  const auto deadline = std::chrono::steady_clock::now() + config.start_timeout;
  HVD_ASSIGN_OR_RETURN(Topology topology,
                       Topology::from_peers(wires->rank(), wires->peers()));
  HVD_ASSIGN_OR_RETURN(Topology sharing, sharing_topology(*wires));
  HVD_RETURN_IF_ERROR(agree_on_config(config, *wires, deadline));
  const Layout layout = lay_out(config, sharing);
  HVD_ASSIGN_OR_RETURN(
      std::unique_ptr<transport::NodeSegment> segment,
      transport::NodeSegment::open(*wires, sharing,
                                   layout.board + layout.mail + layout.plane,
                                   deadline));
  std::unique_ptr<Job> job(new Job(config,
                                   {std::move(topology), std::move(sharing)},
                                   std::move(wires), std::move(segment)));
  HVD_RETURN_IF_ERROR(job->launch(config));
  return job;
}

Job::Job(const Config& config, Places places,
         std::unique_ptr<transport::Communicator> wires,
         std::unique_ptr<transport::NodeSegment> segment)
    : topology_(std::move(places.topology)),
      sharing_(std::move(places.sharing)),
      log_(topology_.rank(), config.log),
      wires_(std::move(wires)),
      segment_(std::move(segment)),
      layout_(lay_out(config, sharing_)),
      health_(topology_, *segment_, kFirstEpoch),
      node_mail_(*segment_,
                 segment_->payload().subspan(layout_.board, layout_.mail)),
      mailroom_(*wires_, node_mail_, sharing_),
      board_(segment_->payload().first(layout_.board), segment_->local_rank(),
             segment_->local_size(), config.cache_capacity),
      coordinator_(coordinator_options(config, sharing_), board_,
                   Clock::steady()),
      planes_(make_planes()),
      executor_(planes_, health_, topology_, kFirstEpoch),
      progress_({.topology = sharing_,
                 .segment = *segment_,
                 .mailroom = mailroom_,
                 .coordinator = coordinator_,
                 .queue = queue_,
                 .executor = executor_,
                 .health = health_}) {
  health_.set_poll([this] { return mailroom_.attend(); });
}

std::vector<std::unique_ptr<collective::DataPlane>> Job::make_planes() {
  const auto waiting = transport::WaitPolicy::for_node(topology_.local_size());
  std::vector<std::unique_ptr<collective::DataPlane>> planes;
  if (sharing_.node_count() == 1) {
    planes.push_back(std::make_unique<collective::ShmPlane>(
        *segment_, segment_->payload().last(layout_.plane), waiting));
  } else {
    planes.push_back(std::make_unique<collective::RingPlane>(*wires_, waiting));
  }
  return planes;
}

absl::Status Job::launch(const Config& config) {
  MutexLock lock(stop_mutex_);
  std::promise<absl::Status> pinned;
  thread_ = std::thread([this, &config, &pinned] {
    const absl::Status ready = pin_thread(config, topology_);
    pinned.set_value(ready);
    if (!ready.ok()) abort(absl::StrCat("cannot run: ", ready.message()));
    loop_result_ = progress_.run();
    if (!loop_result_.ok()) {
      log_.info(absl::StrCat("the job is broken: ", loop_result_.message()));
    }
  });
  driver_ = thread_.get_id();
  HVD_RETURN_IF_ERROR(pinned.get_future().get());
  wires_->on_peer_lost([this](int rank, const std::string& how) {
    health_.peer_lost(rank, how);
  });
  log_.info(absl::StrCat(topology_.describe(topology_.rank()),
                         " entered a job of ", topology_.size(), " on ",
                         sharing_.node_count(), " nodes"));
  return absl::OkStatus();
}

Job::~Job() { stop().IgnoreError(); }

absl::Status Job::stop() {
  if (std::this_thread::get_id() == driver_) {
    return absl::FailedPreconditionError(
        "a callback of a future cannot stop the job, whose thread it is "
        "running on; do so from a thread of the program");
  }
  progress_.leave();
  MutexLock lock(stop_mutex_);
  if (!thread_.joinable()) return end_;
  thread_.join();
  wires_->on_peer_lost(nullptr);
  end_ = loop_result_;
  queue_.close(absl::FailedPreconditionError(
      "horovodpp has been shut down on this rank; start it again first"));
  return end_;
}

Job::Done Job::guarded(Done done) {
  return [this, done = std::move(done)](absl::StatusOr<Buffer> outcome) {
    try {
      done(std::move(outcome));
    } catch (const std::exception& e) {
      abort(absl::StrCat("threw in a callback of a future: ", e.what()));
    } catch (...) {
      abort("threw in a callback of a future");
    }
  };
}

void Job::submit(coordinator::Submission submission) {
  coordinator::Request& request = submission.request;
  if (request.name.empty()) {
    const std::uint64_t number =
        unnamed_[static_cast<std::size_t>(request.kind)].fetch_add(1);
    request.name = absl::StrCat(name_of(request.kind), ".noname.", number);
    request.once = true;
  }
  const Done done = submission.done;
  submission.done = guarded(std::move(submission.done));
  std::vector<coordinator::Submission> group;
  group.push_back(std::move(submission));
  const absl::Status queued = queue_.push(std::move(group));
  if (!queued.ok()) return done(queued);
  segment_->doorbell(segment_->local_rank()).ring();
}

}  // namespace hvd::runtime
