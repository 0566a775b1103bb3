// SPDX-License-Identifier: Apache-2.0
/* The behavior of every function of the C interface in a job of any size. Run by a launcher. */
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

#include "test/c/checks.h"

enum { kMostRanks = 8, kMany = 5000 };

static int32_t rank;
static int32_t size;

/* The sum of 1 to n. */
static int32_t sum_to(int32_t n) { return n * (n + 1) / 2; }

static hvd_allreduce_options summed(const char* name) {
  hvd_allreduce_options options = HVD_ALLREDUCE_OPTIONS;
  options.name = name;
  options.op = HVD_SUM;
  return options;
}

static void knows_its_place(void) {
  CHECK(hvd_version_number() == HVD_C_VERSION);
  CHECK(strcmp(hvd_code_name(HVD_ABORTED), "ABORTED") == 0);
  CHECK(hvd_is_initialized() == 1);
  CHECK(rank >= 0 && rank < size);
  CHECK(hvd_local_size() == size && hvd_local_rank() == rank);
  CHECK(hvd_cross_size() == 1 && hvd_cross_rank() == 0);
  CHECK(hvd_is_homogeneous() == 1);
  CHECK(hvd_job_status() == HVD_OK);
  CHECK_OK(hvd_init(HVD_C_VERSION)); /* No effect. */
}

static void reduces_flat_memory(void) {
  float mean[3] = {(float)rank, 1.0f, (float)(-2 * rank)};
  double scaled[2] = {1.0, (double)rank};
  int32_t most = rank;
  uint8_t bytes[3] = {1, 2, 3};
  hvd_allreduce_options options = summed("scaled");
  CHECK_OK(hvd_allreduce(mean, 3, HVD_FLOAT32, NULL));
  CHECK(mean[0] == (float)(size - 1) / 2.0f && mean[1] == 1.0f);
  CHECK(mean[2] == (float)(1 - size));

  options.prescale_factor = 2.0;
  options.postscale_factor = 0.5;
  CHECK_OK(hvd_allreduce(scaled, 2, HVD_FLOAT64, &options));
  CHECK(scaled[0] == size && scaled[1] == sum_to(size - 1));

  options = summed("most");
  options.op = HVD_MAX;
  CHECK_OK(hvd_allreduce(&most, 1, HVD_INT32, &options));
  CHECK(most == size - 1);

  options = summed("bytes");
  CHECK_OK(hvd_allreduce(bytes, 3, HVD_UINT8, &options));
  CHECK(bytes[0] == size && bytes[2] == 3 * size);
  CHECK_OK(hvd_allreduce(NULL, 0, HVD_FLOAT32, NULL)); /* No tensors. */
}

static void reduces_in_the_background(void) {
  static float large[kMany];
  float small[4] = {1, 2, 3, 4};
  int64_t whole = rank + 1;
  const int64_t many[1] = {kMany};
  const int64_t square[2] = {2, 2};
  const hvd_tensor tensor = {large, many, 1, HVD_FLOAT32};
  const hvd_tensor group[2] = {{small, square, 2, HVD_FLOAT32},
                               {&whole, NULL, 0, HVD_INT64}};
  hvd_allreduce_options first = summed("large");
  hvd_allreduce_options second = summed("group");
  hvd_operation operations[2] = {0, 0};
  int32_t done = 0;
  int i;
  for (i = 0; i < kMany; ++i) large[i] = (float)i;
  /* Each rank starts with a different one. */
  if (rank % 2 == 0)
    CHECK_OK(hvd_allreduce_async(&tensor, 1, &first, &operations[0]));
  CHECK_OK(hvd_allreduce_async(group, 2, &second, &operations[1]));
  if (rank % 2 == 1)
    CHECK_OK(hvd_allreduce_async(&tensor, 1, &first, &operations[0]));
  CHECK_OK(hvd_wait(operations[0]));
  CHECK_OK(hvd_wait(operations[0]));
  CHECK_OK(hvd_poll(operations[0], &done));
  CHECK(done == 1);
  CHECK_OK(hvd_wait_for(operations[1], 60.0, &done));
  CHECK(done == 1);
  CHECK_REFUSED(HVD_OUT_OF_RANGE, "0 results",
                hvd_result(operations[0], 0, &(hvd_tensor){0, 0, 0, 0}));
  CHECK_OK(hvd_release(operations[0]));
  CHECK_OK(hvd_finish(operations[1]));
  CHECK(large[kMany - 1] == (float)((kMany - 1) * size));
  CHECK(small[3] == (float)(4 * size) && whole == sum_to(size));
}

static void broadcasts(void) {
  int32_t root;
  float weights[2];
  double bias;
  const int64_t two[1] = {2};
  const char* const names[2] = {"weights", "bias"};
  const hvd_tensor model[2] = {{weights, two, 1, HVD_FLOAT32},
                               {&bias, NULL, 0, HVD_FLOAT64}};
  hvd_operation operation = 0;
  for (root = 0; root < size; ++root) {
    weights[0] = (float)rank;
    weights[1] = -1.0f;
    CHECK_OK(hvd_broadcast(weights, 2, HVD_FLOAT32, root, NULL));
    CHECK(weights[0] == (float)root);
  }
  weights[1] = (float)rank;
  CHECK_OK(hvd_broadcast_async(&model[0], size - 1, NULL, &operation));
  CHECK_OK(hvd_finish(operation));
  CHECK(weights[1] == (float)(size - 1));
  weights[0] = (float)(10 + rank);
  bias = 20 + rank;
  CHECK_OK(hvd_broadcast_tensors(names, model, 2, 0, NULL));
  CHECK(weights[0] == 10.0f && bias == 20.0);
  CHECK_REFUSED(HVD_INVALID_ARGUMENT, "rank",
                hvd_broadcast(weights, 2, HVD_FLOAT32, size, NULL));
}

/* Every rank has one row more than the previous one. */
static void gathers_uneven_rows(void) {
  int32_t rows[kMostRanks][2];
  const int64_t dims[2] = {rank + 1, 2};
  const int64_t one[1] = {1};
  const hvd_tensor tensors[2] = {{rows, dims, 2, HVD_INT32},
                                 {&rank, one, 1, HVD_INT32}};
  hvd_tensor all = {0, 0, 0, 0};
  hvd_operation operation = 0;
  size_t count;
  int32_t i;
  for (i = 0; i <= rank; ++i) rows[i][0] = rows[i][1] = 100 * rank + i;
  for (count = 1; count <= 2; ++count) {
    CHECK_OK(hvd_allgather_async(tensors, count, NULL, &operation));
    CHECK_OK(hvd_wait(operation));
    CHECK_OK(hvd_result(operation, 0, &all));
    CHECK(all.num_dims == 2 && all.dims[0] == sum_to(size) && all.dims[1] == 2);
    CHECK(all.dtype == HVD_INT32);
    CHECK(((const int32_t*)all.data)[2 * sum_to(size) - 1] == 101 * (size - 1));
    if (count == 2) {
      CHECK_OK(hvd_result(operation, 1, &all));
      for (i = 0; i < size; ++i) CHECK(((const int32_t*)all.data)[i] == i);
    }
    CHECK_REFUSED(HVD_OUT_OF_RANGE, "results",
                  hvd_result(operation, count, &all));
    CHECK_OK(hvd_release(operation));
  }
}

static void scatters_reduced_rows(void) {
  float rows[2 * kMostRanks];
  const int64_t dims[1] = {2 * size};
  const hvd_tensor tensor = {rows, dims, 1, HVD_FLOAT32};
  hvd_reducescatter_options options = summed("scattered");
  hvd_tensor mine = {0, 0, 0, 0};
  hvd_operation operation = 0;
  int32_t i;
  for (i = 0; i < 2 * size; ++i) rows[i] = (float)i;
  CHECK_OK(hvd_reducescatter_async(&tensor, 1, &options, &operation));
  CHECK_OK(hvd_wait(operation));
  CHECK_OK(hvd_result(operation, 0, &mine));
  CHECK(mine.num_dims == 1 && mine.dims[0] == 2);
  CHECK(((const float*)mine.data)[1] == (float)((2 * rank + 1) * size));
  CHECK_OK(hvd_release(operation));
}

/* Rank r receives r + 1 rows from each rank. */
static void sends_each_rank_its_rows(void) {
  int64_t rows[kMostRanks * kMostRanks];
  int64_t splits[kMostRanks];
  const int64_t dims[1] = {sum_to(size)};
  const hvd_tensor tensor = {rows, dims, 1, HVD_INT64};
  const int64_t* received = NULL;
  size_t count = 0;
  hvd_alltoall_options options = HVD_ALLTOALL_OPTIONS;
  hvd_tensor mine = {0, 0, 0, 0};
  hvd_operation operation = 0;
  int32_t i;
  for (i = 0; i < size; ++i) splits[i] = i + 1;
  for (i = 0; i < sum_to(size); ++i) rows[i] = rank;
  options.splits = splits;
  options.num_splits = (size_t)size;
  CHECK_OK(hvd_alltoall_async(&tensor, &options, &operation));
  CHECK_OK(hvd_wait(operation));
  CHECK_OK(hvd_result(operation, 0, &mine));
  CHECK(mine.dims[0] == size * (rank + 1));
  CHECK(((const int64_t*)mine.data)[mine.dims[0] - 1] == size - 1);
  CHECK_OK(hvd_received_splits(operation, &received, &count));
  CHECK(count == (size_t)size && received[size - 1] == rank + 1);
  CHECK_OK(hvd_release(operation));
}

/* The last rank is the root. Only the root's tensor has rows to scatter. */
static void serves_one_rank(void) {
  const int32_t root = size - 1;
  int32_t rows[kMostRanks];
  int64_t dims[1] = {1};
  const hvd_tensor tensor = {rows, dims, 1, HVD_INT32};
  hvd_reducescatter_options sum = summed("for one");
  hvd_collective_options gathered = HVD_COLLECTIVE_OPTIONS;
  hvd_alltoall_options scattered = HVD_ALLTOALL_OPTIONS;
  hvd_tensor result = {0, 0, 0, 0};
  hvd_operation operation = 0;
  int32_t i;
  rows[0] = rank + 1;
  CHECK_OK(hvd_reduce_async(&tensor, root, &sum, &operation));
  CHECK_OK(hvd_finish(operation));
  CHECK(rows[0] == (rank == root ? sum_to(size) : rank + 1));
  rows[0] = rank;
  CHECK_OK(hvd_gather_async(&tensor, root, &gathered, &operation));
  CHECK_OK(hvd_wait(operation));
  CHECK_OK(hvd_result(operation, 0, &result));
  CHECK(result.num_dims == 1 && result.dims[0] == (rank == root ? size : 0));
  for (i = 0; i < result.dims[0]; ++i) {
    CHECK(((const int32_t*)result.data)[i] == i);
  }
  CHECK_OK(hvd_release(operation));
  for (i = 0; i < size; ++i) rows[i] = 10 * i;
  dims[0] = rank == root ? size : 0;
  CHECK_OK(hvd_scatter_async(&tensor, root, &scattered, &operation));
  CHECK_OK(hvd_wait(operation));
  CHECK_OK(hvd_result(operation, 0, &result));
  CHECK(result.dims[0] == 1 && ((const int32_t*)result.data)[0] == 10 * rank);
  CHECK_OK(hvd_release(operation));
}

/* Like the functions before that, into the caller's memory. */
static void moves_into_memory_of_the_callers(void) {
  int32_t all[kMostRanks];
  float rows[2 * kMostRanks];
  float part[2];
  int64_t sent[kMostRanks];
  int64_t came[kMostRanks];
  const int64_t one[1] = {1};
  const int64_t two[1] = {2};
  const int64_t ranks[1] = {size};
  const int64_t many[1] = {2 * size};
  const hvd_tensor mine = {&rank, one, 1, HVD_INT32};
  const hvd_tensor gathered = {all, ranks, 1, HVD_INT32};
  const hvd_tensor whole = {rows, many, 1, HVD_FLOAT32};
  const hvd_tensor scattered = {part, two, 1, HVD_FLOAT32};
  const hvd_tensor to_each = {sent, ranks, 1, HVD_INT64};
  const hvd_tensor from_each = {came, ranks, 1, HVD_INT64};
  hvd_reducescatter_options sum = summed("into a part");
  const int64_t* received = NULL;
  size_t count = 0;
  hvd_operation operation = 0;
  int32_t i;
  CHECK_OK(hvd_allgather_into_async(&mine, &gathered, NULL, &operation));
  CHECK_OK(hvd_finish(operation));
  for (i = 0; i < size; ++i) CHECK(all[i] == i);
  CHECK_REFUSED(
      HVD_INVALID_ARGUMENT, "",
      hvd_allgather_into_async(&mine, &scattered, NULL, &operation) == HVD_OK
          ? hvd_finish(operation)
          : hvd_last_error_code());

  for (i = 0; i < 2 * size; ++i) rows[i] = (float)i;
  CHECK_OK(hvd_reducescatter_into_async(&whole, &scattered, &sum, &operation));
  CHECK_OK(hvd_finish(operation));
  CHECK(part[1] == (float)((2 * rank + 1) * size));

  for (i = 0; i < size; ++i) sent[i] = 10 * rank + i;
  CHECK_OK(hvd_alltoall_into_async(&to_each, &from_each, NULL, &operation));
  CHECK_OK(hvd_wait(operation));
  CHECK_OK(hvd_received_splits(operation, &received, &count));
  CHECK(count == (size_t)size && received[size - 1] == 1);
  CHECK_OK(hvd_release(operation));
  for (i = 0; i < size; ++i) CHECK(came[i] == 10 * i + rank);
}

/* Each several times; other ranks call unprepared. */
static void repeats_prepared_calls(void) {
  float pair[2];
  float whole;
  float rows[kMostRanks];
  float others[kMostRanks];
  float part;
  const int64_t two[1] = {2};
  const int64_t one[1] = {1};
  const int64_t ranks[1] = {size};
  const hvd_tensor group[2] = {{pair, two, 1, HVD_FLOAT32},
                               {&whole, one, 1, HVD_FLOAT32}};
  const hvd_tensor all = {rows, ranks, 1, HVD_FLOAT32};
  const hvd_tensor turned = {others, ranks, 1, HVD_FLOAT32};
  const hvd_tensor mine = {&part, one, 1, HVD_FLOAT32};
  hvd_allreduce_options reduced = summed("prepared");
  hvd_allreduce_options grouped = summed("prepared group");
  hvd_reducescatter_options scattered = summed("prepared part");
  hvd_collective_options named = HVD_COLLECTIVE_OPTIONS;
  hvd_alltoall_options each = HVD_ALLTOALL_OPTIONS;
  hvd_prepared sum = 0;
  hvd_prepared sums = 0;
  hvd_prepared moves[4] = {0, 0, 0, 0};
  int32_t done = 0;
  int step;
  int i;
  named.name = "prepared move";
  each.name = "prepared exchange";
  CHECK_OK(hvd_prepare_allreduce(&group[0], 1, &reduced, &sum));
  CHECK_OK(hvd_prepare_allreduce(group, 2, &grouped, &sums));
  CHECK_OK(hvd_prepare_broadcast(&mine, size - 1, &named, &moves[0]));
  CHECK_OK(hvd_prepare_allgather(&mine, &all, &named, &moves[1]));
  CHECK_OK(hvd_prepare_reducescatter(&all, &mine, &scattered, &moves[2]));
  CHECK_OK(hvd_prepare_alltoall(&all, &turned, &each, &moves[3]));
  CHECK_REFUSED(HVD_FAILED_PRECONDITION, "start", hvd_prepared_wait(sum));
  for (step = 0; step < 5; ++step) {
    pair[0] = pair[1] = (float)(rank + step);
    whole = 1.0f;
    if (rank == 0 && step > 2) {
      CHECK_OK(hvd_allreduce(pair, 2, HVD_FLOAT32, &reduced));
    } else {
      CHECK_OK(hvd_prepared_start(sum));
      CHECK_OK(hvd_prepared_wait(sum));
      CHECK_OK(hvd_prepared_poll(sum, &done));
      CHECK(done == 1);
    }
    CHECK(pair[1] == (float)(sum_to(size - 1) + size * step));
    CHECK_OK(hvd_prepared_run(sums));
    CHECK(whole == (float)size && pair[0] == pair[1]);
    part = (float)(rank + step);
    CHECK_OK(hvd_prepared_run(moves[1]));
    CHECK(rows[size - 1] == (float)(size - 1 + step));
    CHECK_OK(hvd_prepared_run(moves[2]));
    CHECK(part == (float)(size * (rank + step)));
    CHECK_OK(hvd_prepared_run(moves[0]));
    CHECK(part == (float)(size * (size - 1 + step)));
    CHECK_OK(hvd_prepared_run(moves[3]));
    CHECK(others[size - 1] == (float)(rank + step));
  }
  CHECK_OK(hvd_prepared_release(sum));
  CHECK_OK(hvd_prepared_release(sums));
  for (i = 0; i < 4; ++i) CHECK_OK(hvd_prepared_release(moves[i]));
}

static void tells_all_ranks_that_they_disagree(void) {
  float values[2 * kMostRanks] = {0};
  hvd_allreduce_options options = summed("uneven");
  if (size == 1) return;
  CHECK_REFUSED(HVD_INVALID_ARGUMENT, "uneven",
                hvd_allreduce(values, rank + 1, HVD_FLOAT32, &options));
  CHECK(hvd_job_status() == HVD_OK);
}

static void works_in_process_sets(void) {
  int32_t members[kMostRanks];
  int32_t found[kMostRanks];
  int32_t place = -1;
  size_t count = 0;
  float value = 1.0f;
  hvd_process_set set = 0;
  hvd_allreduce_options options = summed("of half");
  int32_t i;
  for (i = 0; i < size; i += 2) members[count++] = i;
  CHECK_OK(hvd_process_set_ranks(HVD_GLOBAL_PROCESS_SET, NULL, 0, &count));
  CHECK(count == (size_t)size);
  if (size == 1) return; /* The set would be the global one. */
  count = (size_t)(size + 1) / 2;
  CHECK_OK(hvd_add_process_set(members, count, &set));
  CHECK_OK(hvd_process_set_ranks(set, found, kMostRanks, &count));
  CHECK(count == (size_t)(size + 1) / 2 &&
        found[count - 1] == members[count - 1]);
  options.process_set = set;
  if (rank % 2 == 0) {
    CHECK_OK(hvd_process_set_rank(set, &place));
    CHECK(place == rank / 2);
    CHECK_OK(hvd_allreduce(&value, 1, HVD_FLOAT32, &options));
    CHECK(value == (float)count);
    CHECK_OK(hvd_barrier(set));
  } else {
    CHECK_REFUSED(HVD_INVALID_ARGUMENT, "", hvd_process_set_rank(set, &place));
    CHECK_REFUSED(HVD_INVALID_ARGUMENT, "",
                  hvd_allreduce(&value, 1, HVD_FLOAT32, &options));
  }
  CHECK_OK(hvd_remove_process_set(set));
  CHECK_REFUSED(HVD_INVALID_ARGUMENT, "released before", hvd_barrier(set));
}

/* Each pair of ranks makes a set of its own; a last rank without a partner, too. */
static void works_in_sets_of_their_members(void) {
  const int32_t first = rank / 2 * 2;
  const int32_t members[2] = {first, first + 1};
  const size_t count = first + 1 < size ? 2 : 1;
  float value = 1.0f;
  hvd_process_set sets[2] = {0, 0};
  hvd_allreduce_options options = summed("of a pair");
  int i;
  CHECK_OK(hvd_new_process_set(members, count, "a", &sets[0]));
  CHECK_OK(hvd_new_process_set(members, count, "b", &sets[1]));
  for (i = 0; i < 2; ++i) {
    options.process_set = sets[i];
    value = 1.0f;
    CHECK_OK(hvd_allreduce(&value, 1, HVD_FLOAT32, &options));
    CHECK(value == (float)count);
    CHECK_OK(hvd_free_process_set(sets[i]));
  }
  CHECK_REFUSED(HVD_INVALID_ARGUMENT, "released before", hvd_barrier(sets[0]));
  CHECK_REFUSED(HVD_INVALID_ARGUMENT, "key",
                hvd_new_process_set(members, count, NULL, &sets[0]));
  CHECK_OK(hvd_barrier(HVD_GLOBAL_PROCESS_SET));
}

/* Every rank sends to the next, and receives from the previous one, or any. */
static void sends_and_receives(void) {
  float sent = (float)rank;
  float received = -1.0f;
  int32_t source = -1;
  const int32_t previous = (rank + size - 1) % size;
  const int64_t one[1] = {1};
  const hvd_tensor from = {&sent, one, 1, HVD_FLOAT32};
  const hvd_tensor to = {&received, one, 1, HVD_FLOAT32};
  hvd_operation send = 0;
  hvd_operation receive = 0;
  int i;
  for (i = 0; i < 2; ++i) {
    CHECK_OK(hvd_send_async(&from, (rank + 1) % size, i, NULL, &send));
    CHECK_OK(hvd_receive_async(&to, i == 0 ? previous : HVD_ANY_RANK, i, NULL,
                               &receive));
    CHECK_OK(hvd_wait_within(receive, 1e6));
    CHECK_OK(hvd_source(receive, &source));
    CHECK(source == previous && received == (float)previous);
    CHECK_OK(hvd_release(receive));
    CHECK_OK(hvd_wait(send));
    CHECK_REFUSED(HVD_OUT_OF_RANGE, "source", hvd_source(send, &source));
    CHECK_OK(hvd_release(send));
  }
  CHECK_OK(hvd_receive_async(&to, rank, 9, NULL, &receive));
  CHECK_REFUSED(HVD_DEADLINE_EXCEEDED, "a message with tag 9 from",
                hvd_wait_within(receive, 0.01));
  CHECK_OK(hvd_send_async(&from, rank, 9, NULL, &send));
  CHECK_OK(hvd_finish(send));
  CHECK_OK(hvd_finish(receive));
  CHECK_REFUSED(HVD_INVALID_ARGUMENT, "rank",
                hvd_send_async(&from, size, 0, NULL, &send));
}

/* Rank 0 makes one step less than the others. */
static void joins(void) {
  float value = 1.0f;
  int32_t last = -1;
  hvd_operation operation = 0;
  const hvd_allreduce_options options = summed("of those left");
  if (rank != 0) {
    CHECK_OK(hvd_allreduce(&value, 1, HVD_FLOAT32, &options));
    CHECK(value == (float)(size - 1));
  }
  CHECK_OK(hvd_join_async(HVD_GLOBAL_PROCESS_SET, &operation));
  CHECK_OK(hvd_wait(operation));
  CHECK_OK(hvd_joined_last(operation, &last));
  CHECK(size == 1 || last != 0);
  CHECK_OK(hvd_release(operation));
  CHECK_OK(hvd_barrier_async(HVD_GLOBAL_PROCESS_SET, &operation));
  CHECK_OK(hvd_finish(operation));
}

static void reduces_gradients(void) {
  static const char* const keys[2] = {"a", "b"};
  static const size_t sizes[1] = {2};
  hvd_reducer_options options = HVD_REDUCER_OPTIONS;
  hvd_gradient_piece pieces[2] = {{"head", 0, 4}, {"tail", 4, 2}};
  hvd_reducer reducer = 0;
  float a[2];
  float b;
  float flat[7];
  double loss[2];
  const int64_t two[1] = {2};
  const hvd_tensor first = {a, two, 1, HVD_FLOAT32};
  const hvd_tensor second = {&b, NULL, 0, HVD_FLOAT32};
  int32_t last = -1;
  int step;
  int i;
  options.group_keys = keys;
  options.group_sizes = sizes;
  options.num_groups = 1;
  CHECK_OK(hvd_reducer_create(&options, &reducer));
  CHECK_OK(hvd_reducer_expect(reducer, "a", 2));
  for (step = 0; step < 3; ++step) {
    a[0] = a[1] = b = (float)(rank + step);
    for (i = 0; i < 7; ++i) flat[i] = (float)(rank * i);
    CHECK_OK(hvd_reducer_add(reducer, "b", &second));
    CHECK_OK(hvd_reducer_contribute(reducer, "a", &last));
    CHECK(last == 0);
    CHECK_OK(hvd_reducer_contribute(reducer, "a", &last));
    CHECK(last == 1);
    CHECK_OK(hvd_reducer_add(reducer, "a", &first));
    CHECK_OK(hvd_reducer_add_pieces(reducer, flat, 7, HVD_FLOAT32, pieces, 2));
    CHECK_REFUSED(
        HVD_ALREADY_EXISTS, "head",
        hvd_reducer_add_pieces(reducer, flat, 7, HVD_FLOAT32, pieces, 1));
    CHECK_OK(hvd_reducer_finish(reducer));
    CHECK(a[1] == (float)(size - 1) / 2.0f + (float)step && b == a[0]);
    CHECK(flat[5] == 5.0f * (float)(size - 1) / 2.0f);
    CHECK(flat[6] == (float)(6 * rank)); /* In no piece. */
  }
  loss[0] = 1.0;
  loss[1] = rank;
  CHECK_OK(hvd_reducer_sum(reducer, "loss", loss, 2));
  CHECK(loss[0] == size && loss[1] == sum_to(size - 1));
  CHECK_OK(hvd_reducer_discard(reducer));
  CHECK_OK(hvd_reducer_destroy(reducer));
}

/* With every compression; for equal numbers the result of each is known. */
static void compresses_gradients(void) {
  static float gradient[kMany];
  const int64_t many[1] = {kMany};
  const hvd_tensor tensor = {gradient, many, 1, HVD_FLOAT32};
  hvd_reducer_options options = HVD_REDUCER_OPTIONS;
  hvd_reducer_stats stats = HVD_REDUCER_STATS;
  hvd_reducer reducer = 0;
  int32_t kind;
  int i;
  options.top_k_share = 1.0;
  for (kind = HVD_COMPRESSION_NONE; kind <= HVD_COMPRESSION_POWER_SGD; ++kind) {
    options.compression = kind;
    CHECK_OK(hvd_reducer_create(&options, &reducer));
    for (i = 0; i < kMany; ++i) gradient[i] = 2.0f * (float)rank;
    CHECK_OK(hvd_reducer_add(reducer, "gradient", &tensor));
    CHECK_OK(hvd_reducer_finish(reducer));
    CHECK(gradient[0] > 0.99f * (float)(size - 1) - 1e-6f &&
          gradient[kMany - 1] < 1.01f * (float)(size - 1) + 1e-6f);
    CHECK_OK(hvd_reducer_get_stats(reducer, &stats));
    CHECK(stats.gradients == 1 && stats.bytes == kMany * sizeof(float));
    if (size > 1 && kind == HVD_COMPRESSION_INT8) {
      CHECK(stats.sent_bytes < stats.bytes / 3);
    }
    CHECK_OK(hvd_reducer_destroy(reducer));
  }
}

/* Like a program compiled before compression existed. */
static void takes_options_of_older_programs(void) {
  float value = (float)rank;
  const hvd_tensor tensor = {&value, NULL, 0, HVD_FLOAT32};
  hvd_reducer_options options = HVD_REDUCER_OPTIONS;
  hvd_reducer reducer = 0;
  options.size = offsetof(hvd_reducer_options, compression);
  options.compression = 99;
  options.op = HVD_SUM;
  CHECK_OK(hvd_reducer_create(&options, &reducer));
  CHECK_OK(hvd_reducer_add(reducer, "old", &tensor));
  CHECK_OK(hvd_reducer_finish(reducer));
  CHECK(value == (float)sum_to(size - 1));
  CHECK_OK(hvd_reducer_destroy(reducer));
  /* Compiled when top-k had only a share. */
  options.size = offsetof(hvd_reducer_options, compression_momentum);
  options.compression = HVD_COMPRESSION_TOP_K;
  options.compression_momentum = -1.0;
  CHECK_OK(hvd_reducer_create(&options, &reducer));
  CHECK_OK(hvd_reducer_destroy(reducer));
}

/* Compiled before tensors had a device and options a stream. */
static void takes_tensors_of_older_programs(void) {
  struct {
    void* data;
    const int64_t* dims;
    int32_t num_dims;
    int32_t dtype;
  } old;
  float value = (float)rank;
  hvd_tensor tensor;
  hvd_allreduce_options options = summed("older");
  hvd_operation operation = 0;
  old.data = &value;
  old.dims = NULL;
  old.num_dims = 0;
  old.dtype = HVD_FLOAT32;
  CHECK(sizeof(old) == sizeof(tensor));
  memcpy(&tensor, &old, sizeof(old));
  CHECK(tensor.device == HVD_CPU);
  options.size = offsetof(hvd_allreduce_options, stream);
  options.stream = &value; /* Ignored. */
  CHECK_OK(hvd_allreduce_async(&tensor, 1, &options, &operation));
  CHECK_OK(hvd_wait_in_stream(operation, NULL));
  CHECK_OK(hvd_finish(operation));
  CHECK(value == (float)sum_to(size - 1));
}

static void shares_memory(void) {
  float* const memory = (float*)hvd_arena_alloc(kMany * sizeof(float));
  int i;
  CHECK(memory != NULL);
  if (memory == NULL) return;
  CHECK(hvd_is_in_arena(memory, kMany * sizeof(float)) == 1);
  CHECK(hvd_is_in_arena(&i, sizeof(i)) == 0);
  for (i = 0; i < kMany; ++i) memory[i] = (float)(rank + 1);
  CHECK_OK(hvd_allreduce(memory, kMany, HVD_FLOAT32, NULL));
  CHECK(memory[0] == (float)(size + 1) / 2.0f &&
        memory[kMany - 1] == memory[0]);
  CHECK_OK(hvd_arena_free(memory));
  CHECK_REFUSED(HVD_INVALID_ARGUMENT, "freed before", hvd_arena_free(memory));
}

static void* fails_elsewhere(void* clean) {
  *(int*)clean =
      hvd_last_error_code() == HVD_OK && *hvd_last_error_text() == '\0';
  hvd_wait(0);
  return NULL;
}

static void keeps_errors_by_thread(void) {
  pthread_t thread;
  int clean = 0;
  CHECK_REFUSED(HVD_INVALID_ARGUMENT, "done is NULL", hvd_poll(0, NULL));
  CHECK(pthread_create(&thread, NULL, fails_elsewhere, &clean) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK(clean == 1);
  CHECK(strstr(hvd_last_error_text(), "done is NULL") != NULL);
}

static void breaks_and_forms_anew(void) {
  float value = 1.0f;
  if (rank == size - 1) CHECK_OK(hvd_abort("the program says so"));
  /* Operations in flight fail eventually. */
  while (hvd_allreduce(&value, 1, HVD_FLOAT32, NULL) == HVD_OK) value = 1.0f;
  CHECK(hvd_last_error_code() == HVD_ABORTED);
  CHECK(strstr(hvd_last_error_text(), "the program says so") != NULL);
  CHECK_REFUSED(HVD_ABORTED, "the program says so", hvd_job_status());
  CHECK_OK(hvd_reform());
  CHECK(hvd_size() == size && hvd_rank() == rank);
  value = 1.0f;
  CHECK_OK(hvd_allreduce(&value, 1, HVD_FLOAT32, NULL));
  CHECK(value == 1.0f);
}

static void comes_back(void) {
  float value = (float)rank;
  hvd_reducer reducer = 0;
  CHECK_OK(hvd_reducer_create(NULL, &reducer));
  CHECK_OK(hvd_shutdown());
  CHECK(hvd_is_initialized() == 0 && hvd_rank() == -1);
  CHECK_REFUSED(
      HVD_FAILED_PRECONDITION, "",
      hvd_reducer_finish(reducer) == HVD_OK
          ? hvd_reducer_add(reducer, "a",
                            &(hvd_tensor){&value, NULL, 0, HVD_FLOAT32})
          : hvd_last_error_code());
  CHECK_OK(hvd_reducer_destroy(reducer));
  CHECK_OK(hvd_init(HVD_C_VERSION));
  CHECK_OK(hvd_allreduce(&value, 1, HVD_FLOAT32, NULL));
  CHECK(value == (float)(size - 1) / 2.0f);
  CHECK_OK(hvd_shutdown());
}

int main(void) {
  CHECK_OK(hvd_init(HVD_C_VERSION));
  if (failures > 0) return 1;
  rank = hvd_rank();
  size = hvd_size();
  knows_its_place();
  reduces_flat_memory();
  reduces_in_the_background();
  broadcasts();
  gathers_uneven_rows();
  scatters_reduced_rows();
  sends_each_rank_its_rows();
  serves_one_rank();
  moves_into_memory_of_the_callers();
  repeats_prepared_calls();
  tells_all_ranks_that_they_disagree();
  works_in_process_sets();
  works_in_sets_of_their_members();
  sends_and_receives();
  joins();
  reduces_gradients();
  compresses_gradients();
  takes_options_of_older_programs();
  takes_tensors_of_older_programs();
  shares_memory();
  keeps_errors_by_thread();
  breaks_and_forms_anew();
  comes_back();
  return failures > 0;
}
