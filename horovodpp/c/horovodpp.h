// SPDX-License-Identifier: Apache-2.0
/*
 * The C interface of horovodpp: for C99, and for languages that can call C, such as
 * C++ without exceptions, Rust or Fortran.
 *
 *   #include <horovodpp/c/horovodpp.h>
 *
 *   if (hvd_init(HVD_C_VERSION) != HVD_OK) puts(hvd_last_error_text());
 *   hvd_broadcast(weights, n, HVD_FLOAT32, 0, NULL);
 *   ...                                             each step:
 *   hvd_allreduce(gradients, n, HVD_FLOAT32, NULL); now they are the ranks' mean
 *
 * Functions return HVD_OK or another code, and write results through pointers. Each
 * thread keeps its last error: hvd_last_error_code(), hvd_last_error_text(). Invalid
 * arguments never cause an exception or an abort, but a pointer that is not NULL must
 * be valid.
 *
 * Handles are numbers that are used once in a process. A handle that was released,
 * never given, or is of another kind is refused (HVD_INVALID_ARGUMENT). 0 is only a
 * handle of a process set: that of all ranks. A handle is valid until it is released,
 * also after hvd_shutdown().
 *
 * Options may be NULL, for the defaults. Otherwise initialize them by their macro, so
 * that a later version of the library may have more options than the program knows:
 *
 *   hvd_allreduce_options options = HVD_ALLREDUCE_OPTIONS;
 *   options.name = "fc1.weight";
 *
 * Names are copied. The memory of tensors is borrowed until the operation has ended;
 * hvd_wait() and hvd_release() wait for that.
 *
 * Ranks match collectives by name, within a process set. They may submit in different
 * orders, but must submit the same names. Unnamed calls are numbered per operation and
 * process set in call order. For the errors of collectives see
 * horovodpp/runtime/runtime.h; the codes are the same.
 *
 * Thread-safe. Within a major version functions stay, structs only grow at their end,
 * and numbers keep their meaning (while the major version is 0: within a minor version).
 */
#ifndef HVD_C_HOROVODPP_H
#define HVD_C_HOROVODPP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HVD_C_API __attribute__((visibility("default")))

/* The version of these headers: 10000 * major + 100 * minor + patch. */
#define HVD_C_VERSION 100

/* Error codes: Abseil's and gRPC's, with their numbers. */
enum {
  HVD_OK = 0,
  HVD_CANCELLED = 1,
  HVD_UNKNOWN = 2,
  HVD_INVALID_ARGUMENT = 3,
  HVD_DEADLINE_EXCEEDED = 4,
  HVD_NOT_FOUND = 5,
  HVD_ALREADY_EXISTS = 6,
  HVD_PERMISSION_DENIED = 7,
  HVD_RESOURCE_EXHAUSTED = 8,
  HVD_FAILED_PRECONDITION = 9,
  HVD_ABORTED = 10,
  HVD_OUT_OF_RANGE = 11,
  HVD_UNIMPLEMENTED = 12,
  HVD_INTERNAL = 13,
  HVD_UNAVAILABLE = 14,
  HVD_DATA_LOSS = 15,
  HVD_UNAUTHENTICATED = 16
};

enum {
  HVD_UINT8 = 0,
  HVD_INT8 = 1,
  HVD_INT16 = 2,
  HVD_INT32 = 3,
  HVD_INT64 = 4,
  HVD_FLOAT16 = 5,
  HVD_BFLOAT16 = 6,
  HVD_FLOAT32 = 7,
  HVD_FLOAT64 = 8,
  HVD_BOOL = 9
};

enum {
  HVD_AVERAGE = 0,
  HVD_SUM = 1,
  HVD_ADASUM = 2,
  HVD_MIN = 3,
  HVD_MAX = 4,
  HVD_PRODUCT = 5
};

typedef uint64_t hvd_operation;
typedef uint64_t hvd_process_set;
typedef uint64_t hvd_reducer;
typedef uint64_t hvd_prepared;

/* All ranks of the job. */
#define HVD_GLOBAL_PROCESS_SET ((hvd_process_set)0)

/* The device of memory. GPUs are NVIDIA's: see docs/gpu.md. */
#define HVD_CPU 0
#define HVD_CUDA(index) (1 + (index))

/* Contiguous elements, last dimension fastest. No dimensions: a scalar, of one element.
 * An initializer that leaves the device out means the CPU. */
typedef struct hvd_tensor {
  void* data;
  const int64_t* dims;
  int32_t num_dims;
  int16_t dtype;
  int16_t device;
} hvd_tensor;

/* Errors. */

/* The code of this thread's last failed call; HVD_OK if none has failed. */
HVD_C_API int32_t hvd_last_error_code(void);
/* Its text, "" if none has failed; at most 2047 bytes. Valid until another call fails
 * in this thread. */
HVD_C_API const char* hvd_last_error_text(void);
/* "FAILED_PRECONDITION"; "UNKNOWN" for an invalid code. */
HVD_C_API const char* hvd_code_name(int32_t code);

/* The job. */

/* The library's version: "0.1.0", and as a number like HVD_C_VERSION. */
HVD_C_API const char* hvd_version(void);
HVD_C_API int32_t hvd_version_number(void);

/* Enters the job this process was started in; without a launcher, a job of one. Does
 * nothing if the process is in a job. `headers` is HVD_C_VERSION.
 *   HVD_FAILED_PRECONDITION  these headers do not match the library */
HVD_C_API int32_t hvd_init(int32_t headers);
/* Leaves the job, if there is one. A process that exits leaves by itself. */
HVD_C_API int32_t hvd_shutdown(void);
/* Breaks the job, on every rank: operations in flight fail with HVD_ABORTED and `why`. */
HVD_C_API int32_t hvd_abort(const char* why);
/* Goes on without the lost ranks, after the job broke. Every survivor calls it. Process
 * sets and reducers belong to the old job: create them again. */
HVD_C_API int32_t hvd_reform(void);
/* The number of waiting processes that hvd_grow() would take, in an elastic job, on rank
 * 0; 0 on other ranks. Does not wait. */
HVD_C_API int32_t hvd_waiting_newcomers(void);
/* Goes on with the newcomers that wait. Every rank calls it, with no operation in flight.
 * As after hvd_reform(), create process sets and reducers again; send the state to the
 * newcomers, which have none.
 *   HVD_UNAVAILABLE  no newcomer waits, or one was lost: the job goes on as before */
HVD_C_API int32_t hvd_grow(void);
/* Writes this rank's operations to the file `path` from here on, for Perfetto. Call it on
 * every rank: rank 0 writes, or each rank where "{rank}" in the path stands for its
 * number. `mark_cycles`: 1 to mark each beginning of a cycle, or 0. A file that cannot be
 * written is a warning in the log. */
HVD_C_API int32_t hvd_start_timeline(const char* path, int32_t mark_cycles);
HVD_C_API int32_t hvd_stop_timeline(void);
/* Says that a training step of this rank has ended, for HOROVODPP_SUMMARY_STEPS. A reducer
 * does so itself, when all gradients are reduced. */
HVD_C_API int32_t hvd_mark_step(void);
/* Sets `value` to the sum of all series of this rank's metric `name`:
 * "horovodpp_operations_total", or of a histogram "horovodpp_batch_seconds_sum" or "..._count".
 * The first call begins to count, unless HOROVODPP_METRICS=1 is set. docs/observability.md lists
 * the metrics.
 *   HVD_NOT_FOUND  no metric has the name, or none of its events has happened */
HVD_C_API int32_t hvd_metric(const char* name, double* value);
/* Shows in the timeline how long this thread does `work`, such as "data". Spans of a thread
 * nest; the end of one ends those that the thread has begun later. Use few different
 * texts: each is stored for good. Has no effect in a thread without a job. */
HVD_C_API int32_t hvd_begin_span(const char* work);
HVD_C_API int32_t hvd_end_span(const char* work);
/* HVD_OK while the job runs; HVD_ABORTED, with the reason, once it is broken. */
HVD_C_API int32_t hvd_job_status(void);

/* 1 or 0. */
HVD_C_API int32_t hvd_is_initialized(void);
HVD_C_API int32_t hvd_mpi_built(void);
/* -1 without a job. */
HVD_C_API int32_t hvd_rank(void);
HVD_C_API int32_t hvd_size(void);
HVD_C_API int32_t hvd_local_rank(void);
HVD_C_API int32_t hvd_local_size(void);
HVD_C_API int32_t hvd_cross_rank(void);
HVD_C_API int32_t hvd_cross_size(void);
HVD_C_API int32_t hvd_is_homogeneous(void);

/* Collectives. */

typedef struct hvd_allreduce_options {
  size_t size; /* Of this struct, in the program's version. */
  const char* name;
  int32_t op;
  int32_t average_of_participants; /* Not of joined ranks; else of all. */
  double prescale_factor;
  double postscale_factor;
  hvd_process_set process_set;
  /* For tensors on a GPU, the stream (a cudaStream_t) that produces them; NULL: the
   * legacy default stream. The operation follows all work in it at submission. */
  void* stream;
} hvd_allreduce_options;
#define HVD_ALLREDUCE_OPTIONS \
  { sizeof(hvd_allreduce_options), NULL, HVD_AVERAGE, 0, 1.0, 1.0, 0, NULL }

/* The options of a reducescatter. */
typedef hvd_allreduce_options hvd_reducescatter_options;
#define HVD_REDUCESCATTER_OPTIONS HVD_ALLREDUCE_OPTIONS

/* The options of an allgather and a broadcast. */
typedef struct hvd_collective_options {
  size_t size;
  const char* name;
  hvd_process_set process_set;
  void* stream; /* As of an allreduce. */
} hvd_collective_options;
#define HVD_COLLECTIVE_OPTIONS \
  { sizeof(hvd_collective_options), NULL, 0, NULL }

typedef struct hvd_alltoall_options {
  size_t size;
  const char* name;
  hvd_process_set process_set;
  /* Rows of the first dimension for each rank of the set, in its order; NULL: equally
   * many for each. */
  const int64_t* splits;
  size_t num_splits;
  void* stream; /* As of an allreduce. */
} hvd_alltoall_options;
#define HVD_ALLTOALL_OPTIONS \
  { sizeof(hvd_alltoall_options), NULL, 0, NULL, 0, NULL }

/* For flat CPU memory, in-place; return when the operation has ended. */
HVD_C_API int32_t hvd_allreduce(void* data, int64_t elements, int32_t dtype,
                                const hvd_allreduce_options* options);
HVD_C_API int32_t hvd_broadcast(void* data, int64_t elements, int32_t dtype,
                                int32_t root_rank,
                                const hvd_collective_options* options);
HVD_C_API int32_t hvd_barrier(hvd_process_set set);

/* All collectives in the background. Several tensors are a group: submitted as one, and
 * matched by one name. If the call succeeds, `operation` is set to a handle that the
 * caller releases. Allreduced, reduced and broadcast tensors are replaced in-place; all other
 * results belong to the operation. */
HVD_C_API int32_t hvd_allreduce_async(const hvd_tensor* tensors, size_t count,
                                      const hvd_allreduce_options* options,
                                      hvd_operation* operation);
HVD_C_API int32_t hvd_broadcast_async(const hvd_tensor* tensor,
                                      int32_t root_rank,
                                      const hvd_collective_options* options,
                                      hvd_operation* operation);
HVD_C_API int32_t hvd_allgather_async(const hvd_tensor* tensors, size_t count,
                                      const hvd_collective_options* options,
                                      hvd_operation* operation);
HVD_C_API int32_t hvd_reducescatter_async(
    const hvd_tensor* tensors, size_t count,
    const hvd_reducescatter_options* options, hvd_operation* operation);
HVD_C_API int32_t hvd_alltoall_async(const hvd_tensor* tensor,
                                     const hvd_alltoall_options* options,
                                     hvd_operation* operation);
/* For one tensor, with the result in `result`, the caller's memory, which must have the
 * shape of this rank's result. The alltoall also has received splits. */
HVD_C_API int32_t hvd_allgather_into_async(
    const hvd_tensor* tensor, const hvd_tensor* result,
    const hvd_collective_options* options, hvd_operation* operation);
HVD_C_API int32_t hvd_reducescatter_into_async(
    const hvd_tensor* tensor, const hvd_tensor* result,
    const hvd_reducescatter_options* options, hvd_operation* operation);
HVD_C_API int32_t hvd_alltoall_into_async(const hvd_tensor* tensor,
                                          const hvd_tensor* result,
                                          const hvd_alltoall_options* options,
                                          hvd_operation* operation);
/* For rank `root_rank` of the job: reduces into its tensor, and leaves those of the
 * others; gathers all rows, of which the others get none. */
HVD_C_API int32_t hvd_reduce_async(const hvd_tensor* tensor, int32_t root_rank,
                                   const hvd_reducescatter_options* options,
                                   hvd_operation* operation);
HVD_C_API int32_t hvd_gather_async(const hvd_tensor* tensor, int32_t root_rank,
                                   const hvd_collective_options* options,
                                   hvd_operation* operation);
/* Sends each rank its rows of the tensor of rank `root_rank`. The tensors of the others
 * only say what a row is. Without splits the rows are shared as by a reducescatter. */
HVD_C_API int32_t hvd_scatter_async(const hvd_tensor* tensor, int32_t root_rank,
                                    const hvd_alltoall_options* options,
                                    hvd_operation* operation);
/* Messages between two ranks of the job, members of the set of the options; the name
 * of the options has no meaning. A send is done when it was received. `from_rank` may
 * be HVD_ANY_RANK; hvd_source() has the rank that has sent. */
enum { HVD_ANY_RANK = -1 };
HVD_C_API int32_t hvd_send_async(const hvd_tensor* tensor, int32_t to_rank,
                                 int32_t tag,
                                 const hvd_collective_options* options,
                                 hvd_operation* operation);
HVD_C_API int32_t hvd_receive_async(const hvd_tensor* tensor, int32_t from_rank,
                                    int32_t tag,
                                    const hvd_collective_options* options,
                                    hvd_operation* operation);
HVD_C_API int32_t hvd_barrier_async(hvd_process_set set,
                                    hvd_operation* operation);
/* Declares that this rank has no more tensors for the set; done when all its ranks have
 * done so. */
HVD_C_API int32_t hvd_join_async(hvd_process_set set, hvd_operation* operation);

/* Replaces `tensors` by those of rank `root_rank`; `names` has as many entries. Returns
 * when all tensors have arrived. */
HVD_C_API int32_t hvd_broadcast_tensors(const char* const* names,
                                        const hvd_tensor* tensors, size_t count,
                                        int32_t root_rank,
                                        const hvd_collective_options* options);

/* Operations. */

/* Sets `done` to whether it has ended; never waits. */
HVD_C_API int32_t hvd_poll(hvd_operation operation, int32_t* done);
/* Waits for the operation and returns its outcome; callable any number of times. */
HVD_C_API int32_t hvd_wait(hvd_operation operation);
/* For tensors on a GPU: orders later work in `stream` after the operation. Waits until
 * the operation is enqueued on the GPU, not until it is done. For tensors on the CPU it
 * is hvd_wait(). */
HVD_C_API int32_t hvd_wait_in_stream(hvd_operation operation, void* stream);
/* As hvd_poll(), after waiting for at most `seconds`. */
HVD_C_API int32_t hvd_wait_for(hvd_operation operation, double seconds,
                               int32_t* done);
/* As hvd_wait(), for at most `seconds`.
 *   HVD_DEADLINE_EXCEEDED  the operation is still in flight; the text names the ranks
 *                          that it waits for */
HVD_C_API int32_t hvd_wait_within(hvd_operation operation, double seconds);
/* Waits for the operation, and releases the handle and the results. */
HVD_C_API int32_t hvd_release(hvd_operation operation);
/* Waits, releases, and returns the outcome. */
HVD_C_API int32_t hvd_finish(hvd_operation operation);

/* A result of a successful operation, valid until that is released.
 *   HVD_FAILED_PRECONDITION  it has not ended, or it failed
 *   HVD_OUT_OF_RANGE         it has no such result */
HVD_C_API int32_t hvd_result(hvd_operation operation, size_t index,
                             hvd_tensor* result);
/* For an alltoall: the number of rows received from each rank. */
HVD_C_API int32_t hvd_received_splits(hvd_operation operation,
                                      const int64_t** splits, size_t* count);
/* For a join: the rank that joined last. */
HVD_C_API int32_t hvd_joined_last(hvd_operation operation, int32_t* rank);
/* For a receive: the rank that has sent. */
HVD_C_API int32_t hvd_source(hvd_operation operation, int32_t* rank);

/* Collectives that are repeated with the same memory: checked, and looked up by their
 * name, once. Other ranks see each run as a call with that name. The caller releases
 * the handle; while one thread uses it, others wait. */

HVD_C_API int32_t hvd_prepare_allreduce(const hvd_tensor* tensors, size_t count,
                                        const hvd_allreduce_options* options,
                                        hvd_prepared* prepared);
HVD_C_API int32_t hvd_prepare_broadcast(const hvd_tensor* tensor,
                                        int32_t root_rank,
                                        const hvd_collective_options* options,
                                        hvd_prepared* prepared);
HVD_C_API int32_t hvd_prepare_allgather(const hvd_tensor* tensor,
                                        const hvd_tensor* result,
                                        const hvd_collective_options* options,
                                        hvd_prepared* prepared);
HVD_C_API int32_t hvd_prepare_reducescatter(
    const hvd_tensor* tensor, const hvd_tensor* result,
    const hvd_reducescatter_options* options, hvd_prepared* prepared);
HVD_C_API int32_t hvd_prepare_alltoall(const hvd_tensor* tensor,
                                       const hvd_tensor* result,
                                       const hvd_alltoall_options* options,
                                       hvd_prepared* prepared);
/* Starts the collective once more, after waiting for its previous run.
 * hvd_prepared_wait() returns the outcome. */
HVD_C_API int32_t hvd_prepared_start(hvd_prepared prepared);
HVD_C_API int32_t hvd_prepared_poll(hvd_prepared prepared, int32_t* done);
/* Waits for the last run and returns its outcome.
 *   HVD_FAILED_PRECONDITION  the collective was never started */
HVD_C_API int32_t hvd_prepared_wait(hvd_prepared prepared);
/* Start and wait in one, without waking another thread. */
HVD_C_API int32_t hvd_prepared_run(hvd_prepared prepared);
HVD_C_API int32_t hvd_prepared_release(hvd_prepared prepared);

/* Process sets. */

/* Every rank of the job calls these two, whether or not it is a member. */
HVD_C_API int32_t hvd_add_process_set(const int32_t* ranks, size_t count,
                                      hvd_process_set* set);
HVD_C_API int32_t hvd_remove_process_set(hvd_process_set set);
/* The members alone call these two. `key` tells apart sets of the same ranks. */
HVD_C_API int32_t hvd_new_process_set(const int32_t* ranks, size_t count,
                                      const char* key, hvd_process_set* set);
HVD_C_API int32_t hvd_free_process_set(hvd_process_set set);
/* The members in ascending order: sets `count` to their number, and writes the first
 * `capacity` of them to `ranks`, which may be NULL if `capacity` is 0. */
HVD_C_API int32_t hvd_process_set_ranks(hvd_process_set set, int32_t* ranks,
                                        size_t capacity, size_t* count);
/* This rank's position among them.
 *   HVD_INVALID_ARGUMENT  it is not a member */
HVD_C_API int32_t hvd_process_set_rank(hvd_process_set set, int32_t* rank);

/* Gradients: see horovodpp/replica/gradient_reducer.h. */

/* The compression of float32 gradients: see horovodpp/compression/compressors.h. */
enum {
  HVD_COMPRESSION_NONE = 0,
  HVD_COMPRESSION_FLOAT16 = 1,
  HVD_COMPRESSION_BFLOAT16 = 2,
  HVD_COMPRESSION_INT8 = 3,
  HVD_COMPRESSION_TOP_K = 4,
  HVD_COMPRESSION_SIGNS = 5,
  HVD_COMPRESSION_POWER_SGD = 6
};

typedef struct hvd_reducer_options {
  size_t size;
  const char* name; /* Prefix of the keys in the names that peers see. */
  int32_t op;
  int32_t reserved; /* 0. */
  double gradient_predivide_factor;
  double scale;
  hvd_process_set process_set;
  /* Groups of keys that are sent together: first group, second group and so on. */
  const char* const* group_keys;
  const size_t* group_sizes;
  size_t num_groups;
  int32_t compression;
  int32_t power_sgd_rank;
  double top_k_share; /* Of the elements of each gradient. */
  /* As in TopKOptions (compressors.h); the first two also for HVD_COMPRESSION_SIGNS. */
  double compression_momentum;
  int64_t compression_warmup_steps;
  double top_k_warmup_share;
  int64_t top_k_whole_below;
  double top_k_max_norm;
  int32_t top_k_mask_velocity; /* 1 or 0. */
  /* The threads with which each rank computes while gradients become final. If they
   * leave no core for the reduction, added gradients wait until they have 16 MiB, or
   * for hvd_reducer_finish(), and are sent together. 0: each is sent at once. */
  int32_t compute_threads;
} hvd_reducer_options;
#define HVD_REDUCER_OPTIONS                                                    \
  {                                                                            \
    sizeof(hvd_reducer_options), "gradient", HVD_AVERAGE, 0, 1.0, 1.0, 0,      \
        NULL, NULL, 0, HVD_COMPRESSION_NONE, 4, 0.01, 0.0, 0, 0.25, 0, 0.0, 0, \
        0                                                                      \
  }

/* A gradient that is part of a flat buffer. */
typedef struct hvd_gradient_piece {
  const char* key;
  int64_t offset;
  int64_t elements;
} hvd_gradient_piece;

HVD_C_API int32_t hvd_reducer_create(const hvd_reducer_options* options,
                                     hvd_reducer* reducer);
/* Waits for operations in flight. */
HVD_C_API int32_t hvd_reducer_destroy(hvd_reducer reducer);
/* Starts to reduce a final gradient in-place, once per key and step. Its memory is
 * borrowed until hvd_reducer_finish() has returned. The reduction of a gradient on a
 * GPU follows the work in the legacy default stream. */
HVD_C_API int32_t hvd_reducer_add(hvd_reducer reducer, const char* key,
                                  const hvd_tensor* gradient);
/* Adds all gradients in a flat buffer, or none. */
HVD_C_API int32_t hvd_reducer_add_pieces(hvd_reducer reducer, void* data,
                                         int64_t elements, int32_t dtype,
                                         const hvd_gradient_piece* pieces,
                                         size_t count);
/* hvd_reducer_expect() declares that the gradient of `key` has `contributions`
 * contributions in every step. hvd_reducer_contribute() counts one; `last` tells whether
 * to add the gradient now. */
HVD_C_API int32_t hvd_reducer_expect(hvd_reducer reducer, const char* key,
                                     int32_t contributions);
HVD_C_API int32_t hvd_reducer_contribute(hvd_reducer reducer, const char* key,
                                         int32_t* last);
/* Before hvd_reducer_finish(): sets `rest[i]` to 1 for each of these keys whose gradient
 * was not added in this step, else to 0: add it, as zeros if there is none. If `exist` is
 * not NULL, it has a 0 for each missing gradient, and the ranks, which all call this
 * alike, agree on which gradients exist on no rank: their `rest[i]` is 0. */
HVD_C_API int32_t hvd_reducer_rest(hvd_reducer reducer, const char* const* keys,
                                   size_t count, const uint8_t* exist,
                                   uint8_t* rest);
/* Waits until all added gradients are reduced. */
HVD_C_API int32_t hvd_reducer_finish(hvd_reducer reducer);
/* Ends a step without finishing it. */
HVD_C_API int32_t hvd_reducer_discard(hvd_reducer reducer);
/* Replaces numbers, for instance losses, by their sums over the ranks; waits. */
HVD_C_API int32_t hvd_reducer_sum(hvd_reducer reducer, const char* key,
                                  double* values, size_t count);

/* A reducer's totals so far. */
typedef struct hvd_reducer_stats {
  size_t size;
  uint64_t gradients;  /* One for each key and step. */
  uint64_t bytes;      /* Their size. */
  uint64_t sent_bytes; /* Bytes submitted for them. */
} hvd_reducer_stats;
#define HVD_REDUCER_STATS \
  { sizeof(hvd_reducer_stats), 0, 0, 0 }
HVD_C_API int32_t hvd_reducer_get_stats(hvd_reducer reducer,
                                        hvd_reducer_stats* stats);

/* Memory that the ranks of a node share, which is reduced without a copy: see
 * horovodpp/runtime/arena_alloc.h. NULL: no memory is left, also not of other kinds. */
HVD_C_API void* hvd_arena_alloc(size_t bytes);
/* Allocates on a device, for instance HVD_CUDA(0), for the job: see docs/gpu.md. */
HVD_C_API int32_t hvd_arena_alloc_on(int32_t device, size_t bytes,
                                     void** memory);
/* Frees either. No operation in flight may use the memory. NULL is no error. */
HVD_C_API int32_t hvd_arena_free(void* memory);
/* 1 or 0. */
HVD_C_API int32_t hvd_is_in_arena(const void* memory, size_t bytes);
/* Makes malloc() keep up to 256 MiB of free memory in this process: for programs that
 * copy gradients to the arena, and free their old memory. 1 if it does; 0 if the
 * environment configures malloc(). See horovodpp/runtime/freed_memory.h. */
HVD_C_API int32_t hvd_keep_freed_memory(void);

#ifdef __cplusplus
}
#endif

#endif
