// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/node/segment.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <new>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/transport/node/shared_memory.h"

namespace hvd::transport {
namespace {

constexpr char kSegmentMagic[8] = {'h', 'v', 'd', 's', 'e', 'g', 'm', 't'};
constexpr std::uint32_t kVersion = 1;

// The start of every segment. The payload begins at the next page.
struct Layout {
  char magic[8];
  std::uint32_t version;
  std::uint32_t ranks;
  std::uint64_t payload_bytes;
  FailureRecord failure_record;
  Doorbell doorbells[NodeSegment::kMaxRanks];
};

std::size_t payload_offset() {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return (sizeof(Layout) + page - 1) / page * page;
}

// A status as sent through exchange(): "" for OK, else the code's number, a
// blank and the text.
std::string to_wire(const absl::Status& status) {
  if (status.ok()) return "";
  return absl::StrCat(static_cast<int>(status.code()), " ", status.message());
}

absl::Status from_wire(const std::string& text) {
  if (text.empty()) return absl::OkStatus();
  const std::size_t blank = text.find(' ');
  int code = 0;
  if (blank == std::string::npos ||
      !absl::SimpleAtoi(text.substr(0, blank), &code)) {
    return absl::InternalError(text);
  }
  return absl::Status(static_cast<absl::StatusCode>(code),
                      text.substr(blank + 1));
}

}  // namespace

bool FailureRecord::raise(std::uint32_t epoch, const std::string& why,
                          const std::vector<int>& suspects, FailureKind kind) {
  if (raised()) return false;
  const std::uint32_t mine = begun_.fetch_add(1);
  if (mine >= kDrafts) return false;
  Draft& draft = drafts_[mine];
  draft.epoch = epoch;
  draft.length = static_cast<std::uint32_t>(std::min(why.size(), kTextBytes));
  std::memcpy(draft.text, why.data(), draft.length);
  draft.suspect_count =
      static_cast<std::uint32_t>(std::min(suspects.size(), kMaxSuspects));
  std::copy_n(suspects.begin(), draft.suspect_count, draft.suspects);
  draft.kind = kind;
  std::uint32_t none = 0;
  return chosen_.compare_exchange_strong(none, mine + 1);
}

std::uint32_t FailureRecord::epoch() const {
  const std::uint32_t chosen = chosen_.load();
  return chosen == 0 ? 0 : drafts_[chosen - 1].epoch;
}

std::string FailureRecord::why() const {
  const std::uint32_t chosen = chosen_.load();
  if (chosen == 0) return "";
  const Draft& draft = drafts_[chosen - 1];
  return std::string(draft.text,
                     std::min<std::size_t>(draft.length, kTextBytes));
}

std::vector<int> FailureRecord::suspects() const {
  const std::uint32_t chosen = chosen_.load();
  if (chosen == 0) return {};
  const Draft& draft = drafts_[chosen - 1];
  const auto count = std::min<std::size_t>(draft.suspect_count, kMaxSuspects);
  return {draft.suspects, draft.suspects + count};
}

FailureKind FailureRecord::kind() const {
  const std::uint32_t chosen = chosen_.load();
  return chosen == 0 ? FailureKind::kOther : drafts_[chosen - 1].kind;
}

class NodeSegment::Mapping {
 public:
  static absl::StatusOr<std::shared_ptr<Mapping>> create(
      int ranks, std::size_t payload_bytes, SharedMemory::Pages pages);
  // `payload_bytes` is the size that this rank requested.
  static absl::StatusOr<std::shared_ptr<Mapping>> attach(
      const SharedMemory::Ticket& ticket, std::size_t payload_bytes);
  ~Mapping();

  Layout& layout() const { return *reinterpret_cast<Layout*>(memory_->data()); }
  std::span<std::byte> payload() const {
    return {memory_->data() + payload_offset(), layout().payload_bytes};
  }
  SharedMemory& memory() const { return *memory_; }

 private:
  // Mappings of this process by file number. Ranks that are threads share one
  // mapping, so sanitizers see one address per word.
  struct Registry {
    Mutex mutex;
    std::map<std::uint64_t, std::weak_ptr<Mapping>> mappings
        ABSL_GUARDED_BY(mutex);
  };
  static Registry& registry() {
    static auto* registry = new Registry;
    return *registry;
  }

  explicit Mapping(std::unique_ptr<SharedMemory> memory)
      : memory_(std::move(memory)) {}

  std::unique_ptr<SharedMemory> memory_;
};

absl::StatusOr<std::shared_ptr<NodeSegment::Mapping>>
NodeSegment::Mapping::create(int ranks, std::size_t payload_bytes,
                             SharedMemory::Pages pages) {
  if (ranks > kMaxRanks) {
    return absl::InvalidArgumentError(
        absl::StrCat(ranks, " ranks on one node; a node segment serves ",
                     kMaxRanks, ": start fewer ranks per host"));
  }
  const std::size_t bytes = payload_offset() + payload_bytes;
  if (bytes < payload_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "a node segment of ", payload_bytes, " bytes exceeds all memory"));
  }
  HVD_ASSIGN_OR_RETURN(auto memory, SharedMemory::create(bytes, pages));
  Layout* layout = new (memory->data()) Layout{
      .magic = {},
      .version = kVersion,
      .ranks = static_cast<std::uint32_t>(ranks),
      .payload_bytes = payload_bytes,
      .failure_record = {},
      .doorbells = {},
  };
  std::memcpy(layout->magic, kSegmentMagic, sizeof(kSegmentMagic));
  std::shared_ptr<Mapping> mapping(new Mapping(std::move(memory)));
  MutexLock lock(registry().mutex);
  registry().mappings[mapping->memory_->ticket().file] = mapping;
  return mapping;
}

absl::StatusOr<std::shared_ptr<NodeSegment::Mapping>>
NodeSegment::Mapping::attach(const SharedMemory::Ticket& ticket,
                             std::size_t payload_bytes) {
  std::shared_ptr<Mapping> mapping;
  if (ticket.pid == ::getpid()) {
    MutexLock lock(registry().mutex);
    const auto found = registry().mappings.find(ticket.file);
    if (found != registry().mappings.end()) mapping = found->second.lock();
  }
  if (mapping == nullptr) {
    HVD_ASSIGN_OR_RETURN(auto memory, SharedMemory::attach(ticket));
    mapping.reset(new Mapping(std::move(memory)));
  }
  if (mapping->memory_->bytes() < payload_offset() ||
      std::memcmp(mapping->layout().magic, kSegmentMagic,
                  sizeof(kSegmentMagic)) != 0 ||
      mapping->layout().version != kVersion) {
    return absl::FailedPreconditionError(
        "the node's segment has another layout; do all ranks run the same "
        "version of horovodpp?");
  }
  if (mapping->layout().payload_bytes != payload_bytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "ranks disagree on the node segment's size: the leader made ",
        mapping->layout().payload_bytes, " bytes, this rank wants ",
        payload_bytes));
  }
  return mapping;
}

NodeSegment::Mapping::~Mapping() {
  MutexLock lock(registry().mutex);
  const auto found = registry().mappings.find(memory_->ticket().file);
  // An expired entry is this one's; a live one belongs to a successor or twin.
  if (found != registry().mappings.end() && found->second.expired()) {
    registry().mappings.erase(found);
  }
}

absl::StatusOr<std::unique_ptr<NodeSegment>> NodeSegment::open(
    Communicator& communicator, const Topology& topology,
    std::size_t payload_bytes, std::chrono::steady_clock::time_point deadline,
    SharedMemory::Pages pages) {
  const bool leads = topology.local_rank() == 0;
  std::shared_ptr<Mapping> mapping;
  absl::Status outcome;
  std::string offer;
  if (leads) {
    auto created = Mapping::create(topology.local_size(), payload_bytes, pages);
    outcome = created.status();
    if (created.ok()) {
      mapping = *std::move(created);
      offer = mapping->memory().ticket().to_string();
    }
  }
  // Both exchanges always run: no rank is left waiting, and an error anywhere
  // becomes every rank's result.
  HVD_ASSIGN_OR_RETURN(const auto offers,
                       communicator.exchange(offer, deadline));
  const std::string& offered =
      offers[static_cast<std::size_t>(topology.local_ranks().front())];
  if (!leads && !offered.empty()) {
    const auto ticket = SharedMemory::Ticket::from_string(offered);
    outcome = ticket.status();
    if (ticket.ok()) {
      auto attached = Mapping::attach(*ticket, payload_bytes);
      outcome = attached.status();
      if (attached.ok()) mapping = *std::move(attached);
    }
  }
  HVD_ASSIGN_OR_RETURN(const auto outcomes,
                       communicator.exchange(to_wire(outcome), deadline));
  if (leads && mapping != nullptr) mapping->memory().close_descriptor();
  for (int rank = 0; rank < topology.size(); ++rank) {
    HVD_RETURN_IF_ERROR(
        annotate(from_wire(outcomes[static_cast<std::size_t>(rank)]),
                 absl::StrCat(topology.describe(rank), " cannot run")));
  }
  if (mapping == nullptr) {
    return absl::InternalError("the node's leader offered no segment");
  }
  return std::unique_ptr<NodeSegment>(new NodeSegment(
      std::move(mapping), topology.local_rank(), topology.local_size()));
}

NodeSegment::NodeSegment(std::shared_ptr<Mapping> mapping, int local_rank,
                         int local_size)
    : mapping_(std::move(mapping)),
      failure_record_(&mapping_->layout().failure_record),
      doorbells_(mapping_->layout().doorbells),
      local_rank_(local_rank),
      local_size_(local_size) {}

NodeSegment::~NodeSegment() = default;

std::span<std::byte> NodeSegment::payload() const {
  return mapping_->payload();
}

void NodeSegment::ring_others() const {
  for (int peer = 0; peer < local_size_; ++peer) {
    if (peer != local_rank_) doorbell(peer).ring();
  }
}

}  // namespace hvd::transport
