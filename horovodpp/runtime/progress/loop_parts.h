// SPDX-License-Identifier: Apache-2.0
// The parts of one rank that its progress loop drives. All of them outlive the
// loop.
#pragma once

#include "horovodpp/coordinator/coordinator.h"
#include "horovodpp/coordinator/tensor_queue.h"
#include "horovodpp/core/job/topology.h"
#include "horovodpp/core/trace/recorder.h"
#include "horovodpp/runtime/channels/activity.h"
#include "horovodpp/runtime/channels/launcher_channel.h"
#include "horovodpp/runtime/channels/question_channel.h"
#include "horovodpp/runtime/channels/report_channel.h"
#include "horovodpp/runtime/execution/executor.h"
#include "horovodpp/runtime/messages/messenger.h"
#include "horovodpp/runtime/progress/failure_monitor.h"
#include "horovodpp/runtime/progress/message_router.h"
#include "horovodpp/telemetry/log.h"
#include "horovodpp/transport/node/segment.h"

namespace hvd::runtime {

struct LoopParts {
  const Topology& topology;
  const transport::NodeSegment& segment;
  MessageRouter& router;
  coordinator::Coordinator& coordinator;
  coordinator::TensorQueue& queue;
  Executor& executor;
  FailureMonitor& monitor;
  telemetry::Log& log;
  const LauncherChannel& launcher;
  Activity* activity = nullptr;          // Null without --watch.
  trace::Recorder* recorder = nullptr;   // Null: batches are not recorded.
  ReportChannel* reports = nullptr;      // Null: reports are dropped.
  Messenger* messages = nullptr;         // Null: none are sent or received.
  QuestionChannel* questions = nullptr;  // Null: none are asked.
};

}  // namespace hvd::runtime
