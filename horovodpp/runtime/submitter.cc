#include "horovodpp/runtime/submitter.h"

#include "absl/cleanup/cleanup.h"

namespace hvd::runtime {
namespace {

// Gives what was built memory for its results, like its inputs.
std::vector<Buffer> add_outputs(Submitter::Built& built) {
  std::vector<Buffer> outputs;
  if (!built.ok()) return outputs;
  for (const ConstTensorView& input : (*built)->inputs) {
    absl::StatusOr<Buffer> output =
        Buffer::allocate(input.dtype(), input.shape());
    if (!output.ok()) {
      built = output.status();
      return {};
    }
    (*built)->outputs.push_back(output->view());
    outputs.push_back(*std::move(output));
  }
  return outputs;
}

}  // namespace

const Submitter::Counter* Submitter::Line::enter() {
  MutexLock lock(mutex_);
  if (counter_ != nullptr) ++inside_;
  return counter_;
}

void Submitter::Line::leave() {
  MutexLock lock(mutex_);
  if (--inside_ == 0) left_.notify_all();
}

// Not under the lock: it may take as long as the operation does.
void Submitter::Line::wait_for(const coordinator::SubmissionPtr& awaited,
                               const Ready& ready) {
  const Counter* const counter = enter();
  if (counter == nullptr) return;
  // What is thrown here is the waiting program's; it does not stay inside.
  const absl::Cleanup leaves = [this] { leave(); };
  if (ready) {
    counter->wait_for(awaited, [&] { return ready() || is_cut_.load(); });
  } else {
    counter->wait_for(awaited, nullptr);
  }
}

void Submitter::Line::thrown(const std::string& what) {
  const Counter* const counter = enter();
  if (counter == nullptr) return;
  const absl::Cleanup leaves = [this] { leave(); };
  counter->thrown(what);
}

void Submitter::Line::cut() {
  is_cut_.store(true);
  // Its owner is still there.
  enter()->wake();
  leave();
  MutexLock lock(mutex_);
  counter_ = nullptr;
  while (inside_ > 0) left_.wait(mutex_);
}

Submitter::Submitter(SetTable& sets, Counter counter)
    : sets_(sets),
      counter_(std::move(counter)),
      line_(std::make_shared<Line>(&counter_)) {}

Submitter::~Submitter() { line_->cut(); }

// What is there no more needs nobody's help.
OnWait Submitter::waiter_for(
    const coordinator::SubmissionPtr& submission) const {
  return [line = line_, mine = std::weak_ptr(submission)](const Ready& ready) {
    const coordinator::SubmissionPtr awaited = mine.lock();
    if (awaited) line->wait_for(awaited, ready);
  };
}

Submitter::Joiner Submitter::joiner_of(
    const coordinator::Request& request) const {
  const bool joins = request.kind == coordinator::RequestKind::kJoin;
  return {joins ? &sets_ : nullptr, request.key.process_set};
}

void Submitter::Joiner::operator()(bool all_have_joined) const {
  if (sets != nullptr) sets->join_ended(set, all_have_joined);
}

Future<void> Submitter::in_place(Built built, coordinator::Outputs outputs) {
  if (built.ok()) (*built)->outputs = std::move(outputs);
  return submit<void>(std::move(built), [](const coordinator::Results&) {
    return absl::OkStatus();
  });
}

Future<std::vector<Buffer>> Submitter::into_buffers(Built built) {
  std::vector<Buffer> outputs = add_outputs(built);
  return submit<std::vector<Buffer>>(
      std::move(built), [outputs = std::move(outputs)](
                            const coordinator::Results&) { return outputs; });
}

Future<Buffer> Submitter::into_buffer(Built built) {
  std::vector<Buffer> outputs = add_outputs(built);
  return submit<Buffer>(std::move(built), [outputs = std::move(outputs)](
                                              const coordinator::Results&) {
    return outputs.front();
  });
}

}  // namespace hvd::runtime
