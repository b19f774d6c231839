/* Chains: one call computes several convolutions. Threads that came to help stay until its end. */

#include "convolution.c"

#define WORTH_A_THREAD 100000 /* multiplications */

/* What `chains.py` says of a step. Places are a buffer (arguments, then results) and an offset. */
typedef struct {
  int64_t is_depthwise, former; /* the last of the steps that must be done before */
  int64_t data[2], addend[2], out[2], gap, weights, bias; /* a buffer or an offset of -1: none */
  int64_t n, h, w, c, oh, ow, f, kh, kw, stride_y, stride_x, top, left, dilation_y, dilation_x;
} Step;

typedef struct {
  const Step *steps;
  int64_t count;
  atomic_long users;
  Job jobs[];
} Chain;

static void wait_for(Chain *chain, int64_t step) {
  for (; step >= 0; step--) {
    Job *job = &chain->jobs[step];
    wait_until(&job->done, job->groups * job->chunks);
  }
}

static void work_chain(Chain *chain) {
  for (int64_t i = 0; i < chain->count; i++) {
    Job *job = &chain->jobs[i];
    int64_t tasks = job->groups * job->chunks, task;
    while ((task = atomic_fetch_add(&job->next, 1)) < tasks) {
      wait_for(chain, chain->steps[i].former);
      run_task(job, task);
      atomic_fetch_add(&job->done, 1);
    }
  }
}

static void leave_chain(Chain *chain) {
  if (atomic_fetch_sub(&chain->users, 1) == 1) free(chain);
}

static void help_chain(void *chain) {
  work_chain(chain);
  leave_chain(chain);
}

static float *find(const XLA_FFI_CallFrame *call, const int64_t *place) {
  int64_t n_args = call->args.size, number = place[0];
  if (number < 0) return NULL;
  void *buffer = number < n_args ? call->args.args[number] : call->rets.rets[number - n_args];
  return (float *)((XLA_FFI_Buffer *)buffer)->data + place[1];
}

/* Arguments: weights and biases one after the other, and arrays. Attributes, by name: bounds (lower
   and upper of each step); steps. The last result is for what only other steps read. */
XLA_FFI_Error *executorkit_convolution_chain(XLA_FFI_CallFrame *call) {
  if (tells_version(call)) return NULL;
  const float *bounds = ((XLA_FFI_Array *)call->attrs.attrs[0])->data;
  const XLA_FFI_Array *steps = call->attrs.attrs[1];
  const float *weights = ((XLA_FFI_Buffer *)call->args.args[0])->data;
  int64_t count = steps->size * sizeof(int64_t) / sizeof(Step);
  Chain *chain = malloc(sizeof *chain + count * sizeof(Job));
  chain->steps = steps->data, chain->count = count, chain->users = 1;
  int64_t threads = count_threads(call), most = 1;
  for (int64_t i = 0; i < count; i++) {
    const Step *t = &chain->steps[i];
    Job *job = &chain->jobs[i];
    *job = (Job){
        .s = {t->n, t->h, t->w, t->c, t->oh, t->ow, t->f, t->kh, t->kw, t->stride_y, t->stride_x,
              t->top, t->left, t->dilation_y, t->dilation_x, t->gap, bounds[2 * i],
              bounds[2 * i + 1], find(call, t->data), weights + t->weights,
              t->bias < 0 ? NULL : weights + t->bias, find(call, t->addend), find(call, t->out)},
        .is_depthwise = t->is_depthwise,
    };
    int64_t size = t->n * t->oh * t->ow * t->f * t->kh * t->kw * (t->is_depthwise ? 8 : t->c);
    int64_t wanted = MIN(threads, 1 + size / WORTH_A_THREAD);
    if (size) plan(job, wanted);
    if (wanted > most) most = wanted;
  }
  ask_for_help(call, most - 1, help_chain, chain, &chain->users);
  work_chain(chain);
  wait_for(chain, count - 1);
  leave_chain(chain);
  return NULL;
}
