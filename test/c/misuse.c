// SPDX-License-Identifier: Apache-2.0
/* Wrong use of every function causes a code and a message, not a crash. */
#include <stdlib.h>

#include "test/c/checks.h"

static const int64_t two[1] = {2};
static float values[2] = {1, 2};
static const hvd_tensor good = {values, two, 1, HVD_FLOAT32};

#define WANTS_A_JOB(call) CHECK_REFUSED(HVD_FAILED_PRECONDITION, "init", call)
#define REFUSED(part, call) CHECK_REFUSED(HVD_INVALID_ARGUMENT, part, call)
#define REFUSED_NULL(argument, call) REFUSED(#argument " is NULL", call)

/* Every function that needs a job, with valid arguments. */
static void wants_a_job(void) {
  const char* const names[1] = {"a"};
  const int32_t ranks[1] = {0};
  hvd_operation operation = 0;
  hvd_process_set set = 0;
  hvd_reducer reducer = 0;
  hvd_prepared prepared = 0;
  int32_t place;
  size_t count;
  CHECK(hvd_rank() == -1 && hvd_last_error_code() == HVD_FAILED_PRECONDITION);
  CHECK(hvd_size() == -1 && hvd_local_rank() == -1 && hvd_local_size() == -1);
  CHECK(hvd_cross_rank() == -1 && hvd_cross_size() == -1);
  CHECK(hvd_is_homogeneous() == -1 && hvd_is_initialized() == 0);
  WANTS_A_JOB(hvd_abort("no job"));
  WANTS_A_JOB(hvd_reform());
  WANTS_A_JOB(hvd_grow());
  WANTS_A_JOB(hvd_job_status());
  WANTS_A_JOB(hvd_start_timeline("timeline.json", 0));
  WANTS_A_JOB(hvd_stop_timeline());
  WANTS_A_JOB(hvd_mark_step());
  {
    double value;
    WANTS_A_JOB(hvd_metric("horovodpp_job_size", &value));
  }
  CHECK_OK(hvd_begin_span("data")); /* No effect. */
  CHECK_OK(hvd_end_span("data"));
  WANTS_A_JOB(hvd_allreduce(values, 2, HVD_FLOAT32, NULL));
  WANTS_A_JOB(hvd_broadcast(values, 2, HVD_FLOAT32, 0, NULL));
  WANTS_A_JOB(hvd_barrier(0));
  WANTS_A_JOB(hvd_allreduce_async(&good, 1, NULL, &operation));
  WANTS_A_JOB(hvd_broadcast_async(&good, 0, NULL, &operation));
  WANTS_A_JOB(hvd_allgather_async(&good, 1, NULL, &operation));
  WANTS_A_JOB(hvd_reducescatter_async(&good, 1, NULL, &operation));
  WANTS_A_JOB(hvd_alltoall_async(&good, NULL, &operation));
  WANTS_A_JOB(hvd_reduce_async(&good, 0, NULL, &operation));
  WANTS_A_JOB(hvd_gather_async(&good, 0, NULL, &operation));
  WANTS_A_JOB(hvd_scatter_async(&good, 0, NULL, &operation));
  WANTS_A_JOB(hvd_allgather_into_async(&good, &good, NULL, &operation));
  WANTS_A_JOB(hvd_reducescatter_into_async(&good, &good, NULL, &operation));
  WANTS_A_JOB(hvd_alltoall_into_async(&good, &good, NULL, &operation));
  WANTS_A_JOB(hvd_prepare_allreduce(&good, 1, NULL, &prepared));
  WANTS_A_JOB(hvd_prepare_broadcast(&good, 0, NULL, &prepared));
  WANTS_A_JOB(hvd_prepare_allgather(&good, &good, NULL, &prepared));
  WANTS_A_JOB(hvd_prepare_reducescatter(&good, &good, NULL, &prepared));
  WANTS_A_JOB(hvd_prepare_alltoall(&good, &good, NULL, &prepared));
  WANTS_A_JOB(hvd_barrier_async(0, &operation));
  WANTS_A_JOB(hvd_join_async(0, &operation));
  WANTS_A_JOB(hvd_broadcast_tensors(names, &good, 1, 0, NULL));
  WANTS_A_JOB(hvd_add_process_set(ranks, 1, &set));
  WANTS_A_JOB(hvd_process_set_ranks(0, NULL, 0, &count));
  WANTS_A_JOB(hvd_process_set_rank(0, &place));
  WANTS_A_JOB(hvd_reducer_create(NULL, &reducer));
  CHECK(operation == 0 && set == 0 && reducer == 0 && prepared == 0);
  CHECK(hvd_is_in_arena(values, sizeof(values)) == 0);
}

static void refuses_null(void) {
  const char* const null_name[1] = {NULL};
  const hvd_gradient_piece nameless = {NULL, 0, 1};
  const size_t one = 1;
  hvd_reducer_options grouped = HVD_REDUCER_OPTIONS;
  hvd_alltoall_options split = HVD_ALLTOALL_OPTIONS;
  hvd_allreduce_options reducing = HVD_ALLREDUCE_OPTIONS;
  hvd_collective_options moving = HVD_COLLECTIVE_OPTIONS;
  hvd_operation operation = 0;
  hvd_reducer reducer = 0;
  hvd_prepared prepared = 0;
  hvd_tensor result;
  int32_t number = 0;
  size_t count;
  reducing.name = moving.name = split.name = "prepared";
  CHECK_OK(hvd_reducer_create(NULL, &reducer));
  CHECK_OK(hvd_allreduce_async(&good, 1, NULL, &operation));
  REFUSED_NULL(why, hvd_abort(NULL));
  REFUSED_NULL(data, hvd_allreduce(NULL, 2, HVD_FLOAT32, NULL));
  REFUSED_NULL(data, hvd_broadcast(NULL, 2, HVD_FLOAT32, 0, NULL));
  REFUSED_NULL(tensors, hvd_allreduce_async(NULL, 1, NULL, &operation));
  REFUSED_NULL(operation, hvd_allreduce_async(&good, 1, NULL, NULL));
  REFUSED("no tensor was given",
          hvd_allreduce_async(&good, 0, NULL, &operation));
  REFUSED_NULL(tensor, hvd_broadcast_async(NULL, 0, NULL, &operation));
  REFUSED_NULL(operation, hvd_broadcast_async(&good, 0, NULL, NULL));
  REFUSED_NULL(tensors, hvd_allgather_async(NULL, 1, NULL, &operation));
  REFUSED_NULL(operation, hvd_allgather_async(&good, 1, NULL, NULL));
  REFUSED_NULL(tensors, hvd_reducescatter_async(NULL, 1, NULL, &operation));
  REFUSED_NULL(operation, hvd_reducescatter_async(&good, 1, NULL, NULL));
  REFUSED_NULL(tensor, hvd_alltoall_async(NULL, NULL, &operation));
  REFUSED_NULL(operation, hvd_alltoall_async(&good, NULL, NULL));
  REFUSED_NULL(tensor, hvd_reduce_async(NULL, 0, NULL, &operation));
  REFUSED_NULL(operation, hvd_gather_async(&good, 0, NULL, NULL));
  REFUSED_NULL(tensor, hvd_scatter_async(NULL, 0, NULL, &operation));
  REFUSED_NULL(tensor, hvd_allgather_into_async(NULL, &good, NULL, &operation));
  REFUSED_NULL(result, hvd_allgather_into_async(&good, NULL, NULL, &operation));
  REFUSED_NULL(operation, hvd_allgather_into_async(&good, &good, NULL, NULL));
  REFUSED_NULL(result,
               hvd_reducescatter_into_async(&good, NULL, NULL, &operation));
  REFUSED_NULL(operation,
               hvd_reducescatter_into_async(&good, &good, NULL, NULL));
  REFUSED_NULL(result, hvd_alltoall_into_async(&good, NULL, NULL, &operation));
  REFUSED_NULL(operation, hvd_alltoall_into_async(&good, &good, NULL, NULL));
  REFUSED_NULL(tensors, hvd_prepare_allreduce(NULL, 1, &reducing, &prepared));
  REFUSED("no tensor was given",
          hvd_prepare_allreduce(&good, 0, &reducing, &prepared));
  REFUSED_NULL(prepared, hvd_prepare_allreduce(&good, 1, &reducing, NULL));
  REFUSED("name", hvd_prepare_allreduce(&good, 1, NULL, &prepared));
  REFUSED_NULL(tensor, hvd_prepare_broadcast(NULL, 0, &moving, &prepared));
  REFUSED_NULL(prepared, hvd_prepare_broadcast(&good, 0, &moving, NULL));
  REFUSED_NULL(result, hvd_prepare_allgather(&good, NULL, &moving, &prepared));
  REFUSED_NULL(tensor,
               hvd_prepare_reducescatter(NULL, &good, &reducing, &prepared));
  REFUSED_NULL(result, hvd_prepare_alltoall(&good, NULL, &split, &prepared));
  split.num_splits = 1;
  REFUSED_NULL(splits, hvd_prepare_alltoall(&good, &good, &split, &prepared));
  REFUSED_NULL(splits, hvd_alltoall_async(&good, &split, &operation));
  REFUSED_NULL(operation, hvd_barrier_async(0, NULL));
  REFUSED_NULL(operation, hvd_join_async(0, NULL));
  REFUSED_NULL(names, hvd_broadcast_tensors(NULL, &good, 1, 0, NULL));
  REFUSED("a name is NULL",
          hvd_broadcast_tensors(null_name, &good, 1, 0, NULL));
  REFUSED_NULL(done, hvd_poll(operation, NULL));
  REFUSED_NULL(done, hvd_wait_for(operation, 1, NULL));
  REFUSED_NULL(result, hvd_result(operation, 0, NULL));
  REFUSED_NULL(splits, hvd_received_splits(operation, NULL, &count));
  REFUSED_NULL(rank, hvd_joined_last(operation, NULL));
  REFUSED_NULL(ranks, hvd_add_process_set(NULL, 1, &operation));
  REFUSED_NULL(set, hvd_add_process_set(&number, 1, NULL));
  REFUSED_NULL(count, hvd_process_set_ranks(0, NULL, 0, NULL));
  REFUSED_NULL(ranks, hvd_process_set_ranks(0, NULL, 1, &count));
  REFUSED_NULL(rank, hvd_process_set_rank(0, NULL));
  REFUSED_NULL(reducer, hvd_reducer_create(NULL, NULL));
  grouped.num_groups = 1;
  REFUSED_NULL(group_sizes, hvd_reducer_create(&grouped, &reducer));
  grouped.group_sizes = &one;
  grouped.group_keys = null_name;
  REFUSED("key of a group is NULL", hvd_reducer_create(&grouped, &reducer));
  REFUSED_NULL(key, hvd_reducer_add(reducer, NULL, &good));
  REFUSED_NULL(gradient, hvd_reducer_add(reducer, "a", NULL));
  REFUSED_NULL(
      pieces, hvd_reducer_add_pieces(reducer, values, 2, HVD_FLOAT32, NULL, 1));
  REFUSED(
      "key of a piece is NULL",
      hvd_reducer_add_pieces(reducer, values, 2, HVD_FLOAT32, &nameless, 1));
  REFUSED_NULL(key, hvd_reducer_expect(reducer, NULL, 1));
  REFUSED_NULL(key, hvd_reducer_contribute(reducer, NULL, &number));
  REFUSED_NULL(last, hvd_reducer_contribute(reducer, "a", NULL));
  REFUSED_NULL(key, hvd_reducer_sum(reducer, NULL, &(double){1}, 1));
  REFUSED_NULL(values, hvd_reducer_sum(reducer, "a", NULL, 1));
  REFUSED_NULL(stats, hvd_reducer_get_stats(reducer, NULL));
  CHECK_OK(hvd_arena_free(NULL));
  CHECK_OK(hvd_wait(operation));
  CHECK_REFUSED(
      HVD_OUT_OF_RANGE, "only an alltoall",
      hvd_received_splits(operation, &(const int64_t*){NULL}, &count));
  CHECK_REFUSED(HVD_OUT_OF_RANGE, "only a join",
                hvd_joined_last(operation, &number));
  CHECK_REFUSED(HVD_OUT_OF_RANGE, "results", hvd_result(operation, 9, &result));
  CHECK_OK(hvd_release(operation));
  CHECK_OK(hvd_reducer_destroy(reducer));
}

static void refuses_invalid_numbers(void) {
  const int64_t negative[1] = {-1};
  const int64_t endless[2] = {INT64_MAX, INT64_MAX};
  const hvd_tensor bad[5] = {{values, two, 1, 99},
                             {values, two, -1, HVD_FLOAT32},
                             {values, two, 1000, HVD_FLOAT32},
                             {values, negative, 1, HVD_FLOAT32},
                             {values, endless, 2, HVD_FLOAT32}};
  const int32_t ranks[2] = {7, 7};
  hvd_allreduce_options options = HVD_ALLREDUCE_OPTIONS;
  hvd_reducer_options reducing = HVD_REDUCER_OPTIONS;
  hvd_reducer_stats stats = HVD_REDUCER_STATS;
  hvd_operation operation = 0;
  hvd_reducer reducer = 0;
  void* memory = NULL;
  int32_t done;
  int i;
  for (i = 0; i < 5; ++i) {
    REFUSED("", hvd_allreduce_async(&bad[i], 1, NULL, &operation));
    REFUSED("", hvd_allgather_async(&bad[i], 1, NULL, &operation));
  }
  REFUSED("", hvd_allreduce(values, -1, HVD_FLOAT32, NULL));
  REFUSED("", hvd_broadcast(values, 2, HVD_FLOAT32, -1, NULL));
  options.op = 17;
  REFUSED("number 17", hvd_allreduce(values, 2, HVD_FLOAT32, &options));
  options.op = HVD_SUM;
  options.size = 3;
  REFUSED("3 bytes", hvd_allreduce(values, 2, HVD_FLOAT32, &options));
  options.size = (size_t)-1;
  REFUSED("bytes", hvd_allreduce(values, 2, HVD_FLOAT32, &options));
  options.size = sizeof(options);
  options.process_set = 12345;
  REFUSED("is not that of a process set",
          hvd_allreduce(values, 2, HVD_FLOAT32, &options));
  REFUSED("", hvd_add_process_set(ranks, 2, &operation));
  REFUSED("", hvd_add_process_set(NULL, 0, &operation));
  REFUSED("", hvd_remove_process_set(HVD_GLOBAL_PROCESS_SET));
  reducing.scale = 0.0 / 1.0;
  reducing.gradient_predivide_factor = -1.0;
  REFUSED("", hvd_reducer_create(&reducing, &reducer));
  reducing.gradient_predivide_factor = 1.0;
  reducing.reserved = 5;
  REFUSED("reserved", hvd_reducer_create(&reducing, &reducer));
  reducing.reserved = 0;
  reducing.compression = 77;
  REFUSED("number 77", hvd_reducer_create(&reducing, &reducer));
  reducing.compression = HVD_COMPRESSION_TOP_K;
  reducing.top_k_share = 2.0;
  REFUSED("share", hvd_reducer_create(&reducing, &reducer));
  reducing.top_k_share = 0.5;
  reducing.compression_momentum = 1.0;
  REFUSED("momentum", hvd_reducer_create(&reducing, &reducer));
  reducing.compression_momentum = 0.0;
  reducing.top_k_max_norm = -1.0;
  REFUSED("norm", hvd_reducer_create(&reducing, &reducer));
  reducing.compute_threads = -1;
  REFUSED("compute_threads", hvd_reducer_create(&reducing, &reducer));
  reducing.compute_threads = 2;
  reducing.compression = HVD_COMPRESSION_POWER_SGD;
  reducing.power_sgd_rank = 0;
  REFUSED("rank", hvd_reducer_create(&reducing, &reducer));
  CHECK_OK(hvd_reducer_create(NULL, &reducer));
  stats.size = 1;
  REFUSED("1 bytes", hvd_reducer_get_stats(reducer, &stats));
  CHECK_OK(hvd_reducer_destroy(reducer));
  CHECK(hvd_arena_alloc((size_t)-1) == NULL);
  CHECK(hvd_last_error_code() == HVD_RESOURCE_EXHAUSTED);
  REFUSED_NULL(memory, hvd_arena_alloc_on(HVD_CPU, 64, NULL));
  REFUSED("no device with number -1", hvd_arena_alloc_on(-1, 64, &memory));
  CHECK_OK(hvd_arena_alloc_on(HVD_CPU, 64, &memory));
  CHECK(hvd_is_in_arena(memory, 64) == 1);
  CHECK_OK(hvd_arena_free(memory));
  REFUSED("freed before", hvd_arena_free(values));
  CHECK_OK(hvd_allreduce_async(&good, 1, NULL, &operation));
  REFUSED("seconds", hvd_wait_for(operation, -1.0, &done));
  CHECK_OK(hvd_wait_for(operation, 1e300, &done));
  CHECK_OK(hvd_finish(operation));
  CHECK(strcmp(hvd_code_name(99), "UNKNOWN") == 0);
  CHECK(strcmp(hvd_code_name(-1), "UNKNOWN") == 0);
}

/* For every function: a handle that is invalid, released, or of another kind. */
static void refuses_handles(uint64_t handle, const char* part, int is_operation,
                            int is_reducer) {
  hvd_reducer_stats stats = HVD_REDUCER_STATS;
  hvd_tensor result;
  const int64_t* splits;
  size_t count;
  int32_t number;
  double sum = 0;
  if (!is_operation) {
    REFUSED(part, hvd_poll(handle, &number));
    REFUSED(part, hvd_wait(handle));
    REFUSED(part, hvd_wait_for(handle, 1, &number));
    REFUSED(part, hvd_release(handle));
    REFUSED(part, hvd_finish(handle));
    REFUSED(part, hvd_result(handle, 0, &result));
    REFUSED(part, hvd_received_splits(handle, &splits, &count));
    REFUSED(part, hvd_joined_last(handle, &number));
  }
  if (!is_reducer) {
    REFUSED(part, hvd_reducer_add(handle, "a", &good));
    REFUSED(part,
            hvd_reducer_add_pieces(handle, values, 2, HVD_FLOAT32, NULL, 0));
    REFUSED(part, hvd_reducer_expect(handle, "a", 1));
    REFUSED(part, hvd_reducer_contribute(handle, "a", &number));
    REFUSED(part, hvd_reducer_finish(handle));
    REFUSED(part, hvd_reducer_discard(handle));
    REFUSED(part, hvd_reducer_sum(handle, "a", &sum, 1));
    REFUSED(part, hvd_reducer_get_stats(handle, &stats));
    REFUSED(part, hvd_reducer_destroy(handle));
  }
  REFUSED(part, hvd_prepared_start(handle));
  REFUSED(part, hvd_prepared_poll(handle, &number));
  REFUSED(part, hvd_prepared_wait(handle));
  REFUSED(part, hvd_prepared_run(handle));
  REFUSED(part, hvd_prepared_release(handle));
  if (handle != HVD_GLOBAL_PROCESS_SET) {
    REFUSED(part, hvd_barrier(handle));
    REFUSED(part, hvd_remove_process_set(handle));
    REFUSED(part, hvd_process_set_ranks(handle, NULL, 0, &count));
    REFUSED(part, hvd_process_set_rank(handle, &number));
  }
}

static void refuses_wrong_handles(void) {
  hvd_operation operation = 0;
  hvd_reducer reducer = 0;
  hvd_collective_options named = HVD_COLLECTIVE_OPTIONS;
  hvd_prepared prepared = 0;
  hvd_operation unused = 0;
  CHECK_OK(hvd_allreduce_async(&good, 1, NULL, &operation));
  CHECK_OK(hvd_reducer_create(NULL, &reducer));
  refuses_handles(0, "is not that of ", 0, 0);
  refuses_handles(123456789, "is not that of ", 0, 0);
  refuses_handles(UINT64_MAX, "is not that of ", 0, 0);
  refuses_handles(operation, "is of an operation", 1, 0);
  refuses_handles(reducer, "is of a reducer", 0, 1);
  CHECK_OK(hvd_release(operation));
  CHECK_OK(hvd_reducer_destroy(reducer));
  REFUSED("released before", hvd_release(operation));
  REFUSED("released before", hvd_finish(operation));
  REFUSED("released before", hvd_reducer_destroy(reducer));
  named.name = "prepared";
  CHECK_OK(hvd_prepare_broadcast(&good, 0, &named, &prepared));
  REFUSED("is of a prepared collective", hvd_wait(prepared));
  REFUSED_NULL(done, hvd_prepared_poll(prepared, NULL));
  CHECK_REFUSED(HVD_FAILED_PRECONDITION, "start", hvd_prepared_wait(prepared));
  CHECK_OK(hvd_prepared_release(prepared));
  REFUSED("released before", hvd_prepared_start(prepared));
  /* The next handle has another number. */
  CHECK_OK(hvd_allreduce_async(&good, 1, NULL, &unused));
  CHECK(unused != operation);
  CHECK_OK(hvd_release(unused));
}

static void refuses_the_wrong_order(void) {
  hvd_reducer reducer = 0;
  int32_t last;
  double value;
  const int32_t code = HVD_FAILED_PRECONDITION;
  CHECK_REFUSED(code, "", hvd_reform()); /* The job is not broken. */
  CHECK_OK(hvd_stop_timeline());         /* None is written. */
  CHECK_REFUSED(HVD_INVALID_ARGUMENT, "path", hvd_start_timeline(NULL, 0));
  REFUSED("name", hvd_metric(NULL, &value));
  REFUSED("value", hvd_metric("horovodpp_job_size", NULL));
  CHECK_REFUSED(HVD_NOT_FOUND, "named horovodpp",
                hvd_metric("horovodpp", &value));
  CHECK_OK(hvd_metric("horovodpp_job_size", &value));
  CHECK(value == hvd_size());
  CHECK_OK(hvd_metric("horovodpp_step_seconds_count", &value));
  CHECK(value == 0);
  CHECK_REFUSED(HVD_INVALID_ARGUMENT, "work", hvd_begin_span(NULL));
  CHECK_REFUSED(HVD_INVALID_ARGUMENT, "work", hvd_end_span(NULL));
  CHECK_OK(hvd_begin_span("data"));
  CHECK_OK(hvd_end_span("data"));
  CHECK(hvd_waiting_newcomers() == 0);
  CHECK_OK(hvd_reducer_create(NULL, &reducer));
  CHECK_OK(hvd_reducer_finish(reducer)); /* Nothing added. */
  CHECK_OK(hvd_reducer_contribute(reducer, "a", &last));
  CHECK_REFUSED(code, "a", hvd_reducer_contribute(reducer, "a", &last));
  CHECK_REFUSED(HVD_INVALID_ARGUMENT, "", hvd_reducer_expect(reducer, "b", 0));
  CHECK_OK(hvd_reducer_add(reducer, "a", &good));
  CHECK_REFUSED(HVD_ALREADY_EXISTS, "a", hvd_reducer_add(reducer, "a", &good));
  CHECK_OK(hvd_reducer_destroy(reducer)); /* Unfinished. */
}

int main(void) {
  hvd_operation kept = 0;
  hvd_reducer reducer = 0;
  hvd_prepared prepared = 0;
  hvd_collective_options named = HVD_COLLECTIVE_OPTIONS;
  void* memory;
  CHECK(hvd_last_error_code() == HVD_OK && *hvd_last_error_text() == '\0');
  /* The environment configures malloc(), so the library does not. */
  CHECK(setenv("MALLOC_TOP_PAD_", "0", 1) == 0);
  CHECK(hvd_keep_freed_memory() == 0);
  wants_a_job();
  CHECK_OK(hvd_shutdown()); /* No job. */
  CHECK_REFUSED(HVD_FAILED_PRECONDITION, "headers of horovodpp 0.0.0",
                hvd_init(0));
  CHECK_REFUSED(HVD_FAILED_PRECONDITION, "headers", hvd_init(-1));
  CHECK_OK(hvd_init(HVD_C_VERSION));
  refuses_null();
  refuses_invalid_numbers();
  refuses_wrong_handles();
  refuses_the_wrong_order();
  CHECK_OK(hvd_allreduce_async(&good, 1, NULL, &kept));
  CHECK_OK(hvd_reducer_create(NULL, &reducer));
  named.name = "outlives its job";
  CHECK_OK(hvd_prepare_broadcast(&good, 0, &named, &prepared));
  memory = hvd_arena_alloc(100);
  CHECK_OK(hvd_shutdown());
  wants_a_job();
  CHECK_REFUSED(HVD_FAILED_PRECONDITION, "",
                hvd_reducer_add(reducer, "a", &good));
  CHECK_OK(hvd_reducer_destroy(reducer));
  CHECK_REFUSED(HVD_FAILED_PRECONDITION, "", hvd_prepared_run(prepared));
  CHECK_OK(hvd_prepared_release(prepared));
  CHECK_OK(hvd_finish(kept)); /* Finished when the job was left. */
  CHECK_OK(hvd_arena_free(memory));
  return failures > 0;
}
