/* Convolutions of training, whose weights are packed inside of each call, and weight gradients. */

#include <math.h>

#include "chain.c"

#define MAX(a, b) ((a) > (b) ? (a) : (b))

/* Weights ----------------------------------------------------------------------------------------
   Weights of training come as they are stored, (filters, channels, kh, kw). A gradient of the input
   is a convolution with the channels for filters, the filters for channels, and the window turned. */

typedef struct {
  const float *from;
  float *to;
  int is_turned;
} Weights;

typedef int32_t index_vec __attribute__((vector_size(LANES * 4)));

INLINE void transpose(vec rows[LANES]) {
#ifdef __clang__ /* has no shuffles by a vector of numbers */
  vec old[LANES];
  for (int i = 0; i < LANES; i++) old[i] = rows[i];
  for (int i = 0; i < LANES; i++)
    for (int k = 0; k < LANES; k++) rows[i][k] = old[k][i];
#else
#pragma GCC unroll 4
  for (int step = 1; step < LANES; step *= 2) {
    index_vec low, high;
    for (int k = 0; k < LANES; k++) {
      low[k] = k & step ? LANES + k - step : k;
      high[k] = k & step ? LANES + k : k + step;
    }
#pragma GCC unroll 16
    for (int i = 0; i < LANES; i++) {
      if (i & step) continue;
      vec a = rows[i], b = rows[i + step];
      rows[i] = __builtin_shuffle(a, b, low), rows[i + step] = __builtin_shuffle(a, b, high);
    }
  }
#endif
}

/* Packs one vector of filters, `next` floats from each other, in rows of `width` floats. */
static void pack_vector(const Convolution *s, int is_turned, const float *from, const float *end,
                        int64_t next, float *to, int64_t width) {
  int64_t taps = s->kh * s->kw, run = is_turned ? taps : taps * s->c;
  for (int64_t k = 0; k < (is_turned ? s->c : 1); k++, from += taps * s->f) {
    if (next == 1) { /* and one tap */
      *(vec *)(to + k * width) = load(from);
      continue;
    }
    for (int64_t first = 0; first < run; first += LANES) {
      vec rows[LANES];
      const float *row = from + first;
      for (int lane = 0; lane < LANES; lane++, row += next) {
        if (row + LANES <= end) rows[lane] = load(row);
        else for (int64_t i = 0; i < MIN(run - first, LANES); i++) rows[lane][i] = row[i];
      }
      transpose(rows);
      for (int64_t i = 0; i < MIN(run - first, LANES); i++) {
        int64_t tap = (first + i) % taps, c = is_turned ? k : (first + i) / taps;
        *(vec *)(to + ((is_turned ? taps - 1 - tap : tap) * s->c + c) * width) = rows[i];
      }
    }
  }
}

/* Weight gradients -------------------------------------------------------------------------------
   data (n, h, w, c) and the gradient of the result (n, oh, ow, f) give (f, c, kh, kw). A tile of P
   filters x V vectors of channels stays in registers while the pixels of a block pass by; a block
   of pixels stays in L2 while the tiles of a group and their taps pass by. */

#define BLOCK 131072     /* floats of data and gradients of a block */
#define MOST_SUMMED 1024 /* pixels of a block: longer sums are less exact */
#define MOST_RUNS 256    /* rows of a block */
#define TILE 384         /* floats: 24 vectors of 16 */
#define MOST_SUMS 49     /* tiles x taps of a group */
#define SPLIT 1000000    /* floats of data and gradients that are better read once */

typedef struct {
  const float *data, *gradient; /* of the first pixel */
  int64_t count;
} Run; /* pixels of a row */

typedef struct {
  Run runs[MOST_RUNS];
  int64_t count, next; /* `next` floats from a pixel's data to the next one's */
} Runs;

INLINE void correlate(const int P, const int V, const Runs *t, int64_t f, int64_t channel,
                      int64_t last, int64_t filter, int is_first, float *out) {
  vec sums[MOST_PIXELS][WIDEST], w[WIDEST];
  EACH_SUM sums[p][v] = (vec){0};
  for (int64_t i = 0; i < t->count; i++) {
    const float *data = t->runs[i].data + channel, *gradient = t->runs[i].gradient + filter;
    for (int64_t k = t->runs[i].count; k > 0; k--) {
      for (int v = 0; v < V; v++) w[v] = load(data + (v < V - 1 ? v * LANES : last));
      EACH_SUM sums[p][v] += gradient[p] * w[v];
      data += t->next, gradient += f;
    }
  }
  if (!is_first) EACH_SUM sums[p][v] += load(out + (p * V + v) * LANES);
  EACH_SUM *(vec *)(out + (p * V + v) * LANES) = sums[p][v];
}

#undef DO
#define DO(V, P)                                                                                \
  static void correlate_##V##_##P(const Runs *t, int64_t f, int64_t channel, int64_t last,      \
                                  int64_t filter, int is_first, float *out) {                   \
    correlate(P, V, t, f, channel, last, filter, is_first, out);                                \
  }
SIZES
#undef DO
static const struct {
  int64_t filters;
  void (*correlate)(const Runs *, int64_t, int64_t, int64_t, int64_t, int, float *);
} correlations[] = {
#define DO(V, P) {P, correlate_##V##_##P},
    SIZES
#undef DO
};

/* Finds the pixels of rows [top, bottom) and columns [left, right) whose tap is inside. */
static void find_runs(const Convolution *s, int64_t tap, int64_t top, int64_t bottom, int64_t left,
                      int64_t right, Runs *t) {
  int64_t down = tap / s->kw * s->dilation_y - s->top;
  int64_t across = tap % s->kw * s->dilation_x - s->left;
  while (left < right && left * s->stride_x + across < 0) left++;
  while (left < right && (right - 1) * s->stride_x + across >= s->w) right--;
  t->count = 0;
  for (int64_t row = top; row < bottom && left < right; row++) {
    int64_t picture = row / s->oh, y = (row - picture * s->oh) * s->stride_y + down;
    if (y < 0 || y >= s->h) continue;
    int64_t x = left * s->stride_x + across;
    t->runs[t->count++] = (Run){s->data + ((picture * s->h + y) * s->w + x) * s->c,
                                s->weights + (row * s->ow + left) * s->f, right - left};
  }
}

/* Tasks ---------------------------------------------------------------------------------------- */

typedef struct Call {
  Job job; /* for a weight gradient, with the panels of its channels */
  Weights raw;
  int64_t tasks, packs;           /* of all tasks the first ones pack weights */
  int64_t strips, across, splits; /* of a weight gradient: blocks of pixels along rows, columns */
  float *sums;                    /* of the other splits */
  void (*run)(const struct Call *, int64_t);
  atomic_long packed, users;
} Call;

static void pack_panel(const Call *call, int64_t panel) {
  const Convolution *s = &call->job.s;
  Span span = find_panel(&call->job, panel, s->f);
  int64_t taps = s->kh * s->kw, next = call->raw.is_turned ? taps : taps * s->c;
  float *to = call->raw.to + span.first * taps * s->c;
  for (int64_t v = 0; v < span.vectors; v++) {
    int64_t filter = span.first + (v + 1 < span.vectors ? v * LANES : span.last);
    pack_vector(s, call->raw.is_turned, call->raw.from + filter * next,
                call->raw.from + s->f * s->c * taps, next, to + v * LANES, span.vectors * LANES);
  }
}

static void run_packed(const Call *call, int64_t task) { run_task(&call->job, task); }

/* One task sums a group of tiles of filters for a panel of channels, over one split of the blocks. */
static void run_gradient(const Call *call, int64_t task) {
  const Job *job = &call->job;
  const Convolution *s = &job->s;
  int64_t split = task % call->splits, group = task / call->splits % job->groups;
  Span span = find_panel(job, task / call->splits / job->groups, s->c);
  int64_t taps = s->kh * s->kw, rows = s->n * s->oh, blocks = call->strips * call->across;
  int64_t tiles = ceiling(s->f, most_pixels[span.vectors - 1]);
  int64_t from = part(tiles, job->groups, group), to = part(tiles, job->groups, group + 1);
  int64_t first = part(blocks, call->splits, split), end = part(blocks, call->splits, split + 1);
  float sums[MOST_SUMS][TILE];
  int64_t filters[MOST_SUMS];
  int size_of[MOST_SUMS];
  Runs runs = {.next = s->stride_x * s->c};
  for (int64_t tile = from; tile < to; tile++) {
    int64_t filter = part(s->f, tiles, tile);
    int size = 4 * (WIDEST - span.vectors) + 3;
    while (correlations[size].filters < part(s->f, tiles, tile + 1) - filter) size--;
    filters[tile - from] = MIN(filter, s->f - correlations[size].filters);
    size_of[tile - from] = size;
  }
  for (int64_t block = first; block < end; block++) {
    int64_t strip = block / call->across, place = block % call->across;
    for (int64_t tap = 0; tap < taps; tap++) {
      find_runs(s, tap, part(rows, call->strips, strip), part(rows, call->strips, strip + 1),
                part(s->ow, call->across, place), part(s->ow, call->across, place + 1), &runs);
      for (int64_t tile = 0; tile < to - from; tile++)
        correlations[size_of[tile]].correlate(&runs, s->f, span.first, span.last, filters[tile],
                                              block == first, sums[tile * taps + tap]);
    }
  }
  float *out = split ? call->sums + (split - 1) * s->f * s->c * taps : s->out;
  for (int64_t tile = 0; tile < to - from; tile++)
    for (int64_t p = 0; p < correlations[size_of[tile]].filters; p++)
      for (int64_t v = 0; v < span.vectors; v++) {
        int64_t channel = span.first + (v + 1 < span.vectors ? v * LANES : span.last);
        int64_t at = (p * span.vectors + v) * LANES;
        float *row = out + ((filters[tile] + p) * s->c + channel) * taps;
        if (taps == 1) {
          *(vec *)row = load(sums[tile] + at);
          continue;
        }
        for (int64_t lane = 0; lane < LANES; lane++)
          for (int64_t tap = 0; tap < taps; tap++)
            *row++ = sums[tile * taps + tap][at + lane];
      }
}

static void work_on(Call *call) {
  int64_t task;
  while ((task = atomic_fetch_add(&call->job.next, 1)) < call->tasks) {
    if (task < call->packs) {
      pack_panel(call, task);
      atomic_fetch_add(&call->packed, 1);
    } else {
      wait_until(&call->packed, call->packs);
      call->run(call, task - call->packs);
    }
    atomic_fetch_add(&call->job.done, 1);
  }
}

static void leave_call(Call *call) {
  if (atomic_fetch_sub(&call->users, 1) == 1) free(call);
}

static void help_with(void *call) {
  work_on(call);
  leave_call(call);
}

/* Handlers ------------------------------------------------------------------------------------- */

/* The threads that so many multiplications are worth. */
static int64_t worth_threads(XLA_FFI_CallFrame *frame, int64_t size) {
  return size > SMALL ? MIN(count_threads(frame), 1 + size / SMALL) : 1;
}

static void finish(XLA_FFI_CallFrame *frame, Call *call, int64_t threads) {
  ask_for_help(frame, MIN(threads, call->tasks) - 1, help_with, call, &call->users);
  work_on(call);
  wait_until(&call->job.done, call->tasks);
}

/* Arguments: data (n, h, w, c), weights (f, c, kh, kw), or (c, f, kh, kw) turned. Results: (n, oh,
   ow, f), and the packed weights. Attributes: settings (kh, kw, strides, padding, dilation,
   is_turned). */

XLA_FFI_Error *executorkit_packing_convolution(XLA_FFI_CallFrame *frame) {
  if (tells_version(frame)) return NULL;
  const int64_t *settings = ((XLA_FFI_Array *)frame->attrs.attrs[0])->data;
  XLA_FFI_Buffer **args = (XLA_FFI_Buffer **)frame->args.args;
  XLA_FFI_Buffer **rets = (XLA_FFI_Buffer **)frame->rets.rets;
  const int64_t *in = args[0]->dims, *result = rets[0]->dims;
  Call *call = malloc(sizeof *call);
  *call = (Call){
      .job = {.s = {.n = in[0], .h = in[1], .w = in[2], .c = in[3],
                    .oh = result[1], .ow = result[2], .f = result[3], .gap = result[3],
                    .kh = settings[0], .kw = settings[1],
                    .stride_y = settings[2], .stride_x = settings[3],
                    .top = settings[4], .left = settings[5],
                    .dilation_y = settings[6], .dilation_x = settings[7],
                    .lower = -INFINITY, .upper = INFINITY,
                    .data = args[0]->data, .weights = rets[1]->data, .out = rets[0]->data}},
      .raw = {args[1]->data, rets[1]->data, settings[8]},
      .run = run_packed,
      .users = 1,
  };
  const Convolution *s = &call->job.s;
  int64_t threads = worth_threads(frame, s->n * s->oh * s->ow * s->f * s->kh * s->kw * s->c);
  plan(&call->job, threads);
  call->packs = call->job.panels;
  call->tasks = call->packs + call->job.groups * call->job.chunks;
  finish(frame, call, threads);
  leave_call(call);
  return NULL;
}

/* Arguments: data (n, h, w, c), the gradient of the result (n, oh, ow, f). Result (f, c, kh, kw).
   Attributes: settings (strides, padding, dilation). */

XLA_FFI_Error *executorkit_weight_gradient(XLA_FFI_CallFrame *frame) {
  if (tells_version(frame)) return NULL;
  const int64_t *settings = ((XLA_FFI_Array *)frame->attrs.attrs[0])->data;
  XLA_FFI_Buffer **args = (XLA_FFI_Buffer **)frame->args.args, *out = frame->rets.rets[0];
  const int64_t *in = args[0]->dims, *gradient = args[1]->dims;
  Call *call = malloc(sizeof *call);
  *call = (Call){
      .job = {.s = {.n = in[0], .h = in[1], .w = in[2], .c = in[3],
                    .oh = gradient[1], .ow = gradient[2], .f = gradient[3],
                    .kh = out->dims[2], .kw = out->dims[3],
                    .stride_y = settings[0], .stride_x = settings[1],
                    .top = settings[2], .left = settings[3],
                    .dilation_y = settings[4], .dilation_x = settings[5],
                    .data = args[0]->data, .weights = args[1]->data, .out = out->data}},
      .run = run_gradient,
      .splits = 1,
      .users = 1,
  };
  Job *job = &call->job;
  Convolution *s = &job->s;
  int64_t taps = s->kh * s->kw, size = s->f * s->c * taps, pixels = s->n * s->oh * s->ow;
  int64_t threads = worth_threads(frame, size * pixels), wanted = threads > 1 ? 4 * threads : 1;
  join_rows(s);
  divide(job, s->c);
  int64_t widest = job->few + (job->more > 0);
  int64_t tiles = ceiling(s->f, most_pixels[widest - 1]);
  int64_t least = ceiling(tiles, MOST_SUMS / taps);
  job->groups = MIN(tiles, MAX(least, ceiling(wanted, job->panels)));
  int64_t of_pixel = widest * LANES + s->f / job->groups + LANES;
  int64_t most = MIN(BLOCK / of_pixel, MOST_SUMMED), columns = MIN(s->ow, most);
  call->across = ceiling(s->ow, columns);
  call->strips = ceiling(s->n * s->oh, MIN(most / columns, MOST_RUNS));
  int64_t splits = MIN(wanted, call->strips * call->across), read = pixels * (s->c + s->f);
  if (read > SPLIT && size * splits < read / 4) {
    call->sums = malloc((splits - 1) * size * sizeof(float));
    if (call->sums) call->splits = splits, job->groups = least;
  }
  call->tasks = job->panels * job->groups * call->splits;
  finish(frame, call, threads);
  for (int64_t split = 1; split < call->splits; split++)
    for (int64_t i = 0; i < size; i++) s->out[i] += call->sums[(split - 1) * size + i];
  free(call->sums);
  leave_call(call);
  return NULL;
}
