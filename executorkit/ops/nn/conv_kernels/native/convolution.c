/* Convolutions of float32 with channels last for one CPU: bias, addend and bounds are applied to
   the sums while they are still in registers. `native/__init__.py` builds it and calls it. */

#include <immintrin.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "xla/ffi/api/c_api.h"

/* A tile of pixels x a panel of vectors of filters is, with 32 registers, 6 x 4 (24 sums, 4
   weights), 8 x 3, 12 x 2 or 12 x 1; with 16 registers 6 x 2 or 12 x 1. `__init__.py` defines:
   LANES: the floats in a vector, 16 or 8; WIDEST: the most vectors of a panel, 4 or 2;
   MOST_TAPS: the most positions of a window; MOST_CHANNELS. */

#define MOST_PIXELS 12
#define CACHED_WEIGHTS 65536    /* floats of weights that stay in L2 while tiles pass by */
#define SMALL 1000000           /* multiplications that are not worth a second thread */
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define INLINE static inline __attribute__((always_inline))

typedef float vec __attribute__((vector_size(LANES * 4), aligned(4), may_alias));

static const float zeros[MOST_CHANNELS];

typedef struct {
  int64_t n, h, w, c, oh, ow, f, kh, kw;
  int64_t stride_y, stride_x, top, left, dilation_y, dilation_x;
  int64_t gap; /* floats from a pixel of the result to the next */
  float lower, upper;
  const float *data, *weights, *bias, *addend;
  float *out;
} Convolution;

INLINE vec load(const float *p) { return *(const vec *)p; }

INLINE int covers(const Convolution *s, int64_t y, int64_t x) {
  return (uint64_t)y < (uint64_t)s->h && (uint64_t)x < (uint64_t)s->w;
}

/* A NaN stays: the second operand is the result where one is NaN. */
INLINE vec clip(vec x, float lower, float upper) {
#if LANES == 16
  return _mm512_min_ps(_mm512_set1_ps(upper), _mm512_max_ps(_mm512_set1_ps(lower), x));
#else
  return _mm256_min_ps(_mm256_set1_ps(upper), _mm256_max_ps(_mm256_set1_ps(lower), x));
#endif
}

/* Pixels -----------------------------------------------------------------------------------------
   A tile is a run of output pixels, which may go over the ends of rows and pictures. `table` has
   MOST_PIXELS pointers for each position of the window: to the input below it, or to zeros. */

typedef struct {
  int64_t first, count, width;  /* `width` pixels, of which `count` are distinct */
  int64_t picture, oy, ox;      /* the pixel after the tile */
  int64_t steps, length;        /* table rows; how many floats of input each pointer is good for */
  const float *table[MOST_TAPS][MOST_PIXELS];
} Tile;

/* Points at channels [channel, channel + length) of all inputs of the next `count` pixels.
   Positions beside each other are one run of kw * c floats where no window leaves the picture. */
static __attribute__((noinline)) void point(const Convolution *s, Tile *t, int64_t channel,
                                            int64_t length) {
  int64_t down = (s->kh - 1) * s->dilation_y, right = (s->kw - 1) * s->dilation_x;
  int64_t ys[MOST_PIXELS], xs[MOST_PIXELS], offsets[MOST_PIXELS], p = 0;
  int inside = 1;
  while (p < t->count) { /* a row */
    int64_t y = t->oy * s->stride_y - s->top, x = t->ox * s->stride_x - s->left;
    int64_t offset = ((t->picture * s->h + y) * s->w + x) * s->c + channel;
    int64_t end = p + MIN(t->count - p, s->ow - t->ox);
    t->ox += end - p;
    inside = inside && covers(s, y, x) &&
             covers(s, y + down, x + (end - p - 1) * s->stride_x + right);
    for (; p < end; p++) {
      ys[p] = y, xs[p] = x, offsets[p] = offset;
      x += s->stride_x, offset += s->stride_x * s->c;
    }
    if (t->ox < s->ow) break;
    t->ox = 0;
    if (++t->oy == s->oh) t->oy = 0, t->picture++;
  }
  for (; p < t->width; p++) ys[p] = ys[p - 1], xs[p] = xs[p - 1], offsets[p] = offsets[p - 1];
  int joined = inside && s->dilation_x == 1 && length == s->c && s->kw * s->c <= MOST_CHANNELS;
  int64_t across = joined ? 1 : s->kw, step = 0;
  for (int64_t i = 0; i < s->kh; i++) {
    for (int64_t j = 0; j < across; j++, step++) {
      down = i * s->dilation_y, right = j * s->dilation_x;
      const float *data = s->data + (down * s->w + right) * s->c, **row = t->table[step];
      for (p = 0; p < t->width; p++) {
        int covered = inside || covers(s, ys[p] + down, xs[p] + right);
        row[p] = covered ? data + offsets[p] : zeros;
      }
    }
  }
  t->steps = step;
  t->length = joined ? s->kw * length : length;
}

/* Products ---------------------------------------------------------------------------------------
   A panel is V vectors of filters: weights (kh, kw, c, V * LANES). The last vector of all ends with
   the last filter: it may share filters with the vector before it, which compute the same. */

typedef struct {
  const float *weights; /* of the first channel of the block */
  int64_t gap;          /* floats between the weights of one step's block and the next's */
  const float *bias, *addend;
  int64_t addend_gap;   /* floats from pixel to pixel */
  float *out;           /* of the tile's first pixel, the panel's first filter */
  int64_t last;         /* the panel's last vector, in floats from its first */
  int is_last;          /* the last block of channels: bounds apply */
} Panel;

/* The loops over P pixels and V vectors are unrolled, so that all sums are in registers. */
#define EACH_SUM                                    \
  _Pragma("GCC unroll 12") for (int p = 0; p < P; p++) \
    _Pragma("GCC unroll 4") for (int v = 0; v < V; v++)

INLINE void product(const int P, const int V, const Convolution *s, const Tile *t, Panel panel) {
  vec sums[MOST_PIXELS][WIDEST], w[WIDEST];
  int64_t pixel[MOST_PIXELS], filter[WIDEST], gap = panel.addend_gap;
  for (int v = 0; v < V; v++) filter[v] = v < V - 1 ? v * LANES : panel.last;
  for (int p = 0; p < P; p++) pixel[p] = MIN(p, t->count - 1);
  for (int v = 0; v < V; v++) w[v] = panel.bias ? load(panel.bias + filter[v]) : (vec){0};
  EACH_SUM sums[p][v] = w[v];
  const float *weights = panel.weights;
  for (int64_t step = 0; step < t->steps; step++) {
    const float *inputs[MOST_PIXELS];
    for (int p = 0; p < P; p++) inputs[p] = t->table[step][p] + t->length;
    for (int64_t k = -t->length; k < 0; k++) {
      for (int v = 0; v < V; v++) w[v] = load(weights + v * LANES);
      EACH_SUM sums[p][v] += inputs[p][k] * w[v];
      weights += V * LANES;
    }
    weights += panel.gap;
  }
  if (panel.addend) EACH_SUM sums[p][v] += load(panel.addend + pixel[p] * gap + filter[v]);
  if (panel.is_last) EACH_SUM sums[p][v] = clip(sums[p][v], s->lower, s->upper);
  EACH_SUM *(vec *)(panel.out + pixel[p] * s->gap + filter[v]) = sums[p][v];
}

/* The most pixels of a tile for each number of vectors. */
#if WIDEST == 4
static const int64_t most_pixels[] = {12, 12, 8, 6};
#define SIZES DO(4, 6) DO(4, 5) DO(4, 3) DO(4, 1) DO(3, 8) DO(3, 7) DO(3, 6) DO(3, 2) \
              DO(2, 12) DO(2, 11) DO(2, 8) DO(2, 4) DO(1, 12) DO(1, 11) DO(1, 8) DO(1, 4)
#else
static const int64_t most_pixels[] = {12, 6};
#define SIZES DO(2, 6) DO(2, 5) DO(2, 3) DO(2, 1) DO(1, 12) DO(1, 11) DO(1, 6) DO(1, 3)
#endif

/* Pairs of vectors and pixels with code of their own: a tile takes the least that will do. */
#define DO(V, P)                                                                            \
  static void product_##V##_##P(const Convolution *s, const Tile *t, const Panel *panel) { \
    product(P, V, s, t, *panel);                                                           \
  }
SIZES
#undef DO
static const struct {
  int64_t pixels;
  void (*product)(const Convolution *, const Tile *, const Panel *);
} sizes[] = {
#define DO(V, P) {P, product_##V##_##P},
    SIZES
};

/* Depthwise --------------------------------------------------------------------------------------
   Weights are (kh, kw, c); a last vector that is not full starts earlier. A tile is COLUMNS pixels
   of a row; its table has pointers to the columns of input below it, for each row of the window.
   With known sizes all loops are unrolled, and each input is loaded once. */

#define COLUMNS 7

INLINE void sum_columns(const int kh, const int kw, const int stride, const int dilation,
                        const Convolution *s, const float *const *table, int64_t first,
                        int64_t count) {
  const int across = (COLUMNS - 1) * stride + (kw - 1) * dilation + 1;
  const int64_t c = s->c;
  const float lower = s->lower, upper = s->upper, *bias = s->bias;
  const float *addend = s->addend ? s->addend + first * c : NULL;
  float *out = s->out + first * s->gap;
  for (int64_t next = 0; next < c; next += LANES) {
    int64_t channel = MIN(next, c - LANES);
    const float *weights = s->weights + channel;
    vec sums[COLUMNS], start = bias ? load(bias + channel) : (vec){0};
    for (int p = 0; p < COLUMNS; p++) sums[p] = start;
#pragma GCC unroll 3
    for (int i = 0; i < kh; i++) {
#pragma GCC unroll 3
      for (int j = 0; j < kw; j++) {
        vec w = load(weights + (i * kw + j) * c);
#pragma GCC unroll 7
        for (int p = 0; p < COLUMNS; p++)
          sums[p] += load(table[i * across + p * stride + j * dilation] + channel) * w;
      }
    }
    for (int p = 0; p < COLUMNS; p++) {
      if (p >= count) break;
      if (addend) sums[p] += load(addend + p * c + channel);
      *(vec *)(out + p * s->gap + channel) = clip(sums[p], lower, upper);
    }
  }
}

static void run_rows(const Convolution *s, int64_t row, int64_t end) {
  const float *table[MOST_TAPS * MOST_PIXELS];
  int64_t across = (COLUMNS - 1) * s->stride_x + (s->kw - 1) * s->dilation_x + 1;
  int is_3x3 = s->kh == 3 && s->kw == 3 && s->dilation_x == 1;
  for (; row < end; row++) {
    int64_t picture = row / s->oh, top = (row - picture * s->oh) * s->stride_y - s->top;
    for (int64_t ox = 0; ox < s->ow; ox += COLUMNS) {
      for (int64_t i = 0; i < s->kh; i++) {
        int64_t y = top + i * s->dilation_y, left = ox * s->stride_x - s->left;
        for (int64_t j = 0; j < across; j++) {
          int64_t offset = ((picture * s->h + y) * s->w + left + j) * s->c;
          table[i * across + j] = covers(s, y, left + j) ? s->data + offset : zeros;
        }
      }
      int64_t first = row * s->ow + ox, count = MIN(s->ow - ox, COLUMNS);
      if (is_3x3 && s->stride_x == 1) sum_columns(3, 3, 1, 1, s, table, first, count);
      else if (is_3x3 && s->stride_x == 2) sum_columns(3, 3, 2, 1, s, table, first, count);
      else sum_columns(s->kh, s->kw, s->stride_x, s->dilation_x, s, table, first, count);
    }
  }
}

/* Tasks ------------------------------------------------------------------------------------------
   One task is a range of tiles with a group of panels whose weights stay in L2; where those of one
   panel do not fit, a block of channels is summed for all tiles before the next. */

typedef struct {
  Convolution s;
  int is_depthwise;
  int64_t panels, few, more;       /* of filters: `few` vectors each, the first `more` one more */
  int64_t tiles;                   /* of pixels; rows if depthwise */
  int64_t groups, chunks, block;   /* tasks are groups of panels x chunks of tiles */
  atomic_long next, done;
} Job;

INLINE int64_t ceiling(int64_t a, int64_t b) { return (a + b - 1) / b; }

/* The start of the i-th of n parts of a whole: the first parts have what does not divide. */
INLINE int64_t part(int64_t whole, int64_t n, int64_t i) {
  return whole / n * i + MIN(whole % n, i);
}

/* Makes one long row of pictures whose pixels are taken one by one. */
static void join_rows(Convolution *s) {
  if (s->kh * s->kw * s->stride_y * s->stride_x > 1 || s->h != s->oh || s->w != s->ow || s->top ||
      s->left)
    return;
  s->w = s->ow = s->n * s->h * s->w;
  s->n = s->h = s->oh = 1;
}

static void divide(Job *job, int64_t filters) {
  int64_t vectors = ceiling(filters, LANES);
  job->panels = ceiling(vectors, WIDEST);
  job->few = vectors / job->panels, job->more = vectors % job->panels;
}

/* The first filter of a panel, its number of vectors, the place of the last one. */
typedef struct {
  int64_t first, vectors, last;
} Span;

INLINE Span find_panel(const Job *job, int64_t panel, int64_t filters) {
  int64_t first = (panel * job->few + MIN(panel, job->more)) * LANES;
  int64_t vectors = job->few + (panel < job->more);
  int is_last = panel + 1 == job->panels;
  return (Span){first, vectors, is_last ? filters - LANES - first : (vectors - 1) * LANES};
}

static void plan(Job *job, int64_t threads) {
  Convolution *s = &job->s;
  int64_t wanted = threads > 1 ? 4 * threads : 1;
  job->groups = 1;
  if (job->is_depthwise) {
    job->tiles = s->n * s->oh;
  } else {
    join_rows(s);
    divide(job, s->f);
    int64_t widest = job->few + (job->more > 0);
    job->tiles = ceiling(s->n * s->oh * s->ow, most_pixels[widest - 1]);
    int64_t weights = s->kh * s->kw * s->c * widest * LANES;
    int repeats_one = s->f % LANES && job->few == 1; /* filters of two panels */
    job->block = repeats_one ? s->c : ceiling(s->c, ceiling(weights, CACHED_WEIGHTS));
    job->groups = ceiling(job->panels, weights < CACHED_WEIGHTS ? CACHED_WEIGHTS / weights : 1);
    if (job->tiles < 2 * wanted && job->groups < wanted) job->groups = MIN(wanted, job->panels);
  }
  job->chunks = MIN(ceiling(wanted, job->groups), job->tiles);
}

static void run_task(const Job *job, int64_t task) {
  const Convolution *s = &job->s;
  int64_t group = task / job->chunks, chunk = task % job->chunks, pixels = s->n * s->oh * s->ow;
  int64_t first = part(job->tiles, job->chunks, chunk);
  int64_t last = part(job->tiles, job->chunks, chunk + 1);
  if (job->is_depthwise) {
    run_rows(s, first, last);
    return;
  }
  int64_t start = part(job->panels, job->groups, group);
  int64_t end = part(job->panels, job->groups, group + 1);
  Tile tile = {.width = most_pixels[job->few + (job->more > 0) - 1]};
  for (int64_t channel = 0; channel < s->c; channel += job->block) {
    int64_t length = MIN(job->block, s->c - channel);
    tile.first = part(pixels, job->tiles, first);
    tile.ox = tile.first % s->ow;
    tile.oy = tile.first / s->ow % s->oh;
    tile.picture = tile.first / s->ow / s->oh;
    for (int64_t i = first; i < last; i++, tile.first += tile.count) {
      tile.count = pixels / job->tiles + (i < pixels % job->tiles);
      point(s, &tile, channel, length);
      for (int64_t g = start; g < end; g++) {
        Span span = find_panel(job, g, s->f);
        Panel panel = {
            .weights = s->weights + span.first * s->kh * s->kw * s->c + channel * span.vectors * LANES,
            .gap = (s->c - length) * span.vectors * LANES,
            .bias = s->bias && !channel ? s->bias + span.first : NULL,
            .out = s->out + tile.first * s->gap + span.first,
            .last = span.last,
            .is_last = channel + length == s->c,
        };
        panel.addend_gap = channel ? s->gap : s->f;
        if (channel) panel.addend = panel.out;
        else if (s->addend) panel.addend = s->addend + tile.first * s->f + span.first;
        int size = 4 * (WIDEST - span.vectors) + 3;
        while (sizes[size].pixels < tile.count) size--;
        sizes[size].product(s, &tile, &panel);
      }
    }
  }
}

/* Calls of XLA ----------------------------------------------------------------------------------- */

static int ignore(const XLA_FFI_Api *api, XLA_FFI_Error *error) {
  XLA_FFI_Error_Destroy_Args args = {XLA_FFI_Error_Destroy_Args_STRUCT_SIZE, NULL, error};
  if (error) api->XLA_FFI_Error_Destroy(&args);
  return error != NULL;
}

/* Answers a call that only asks for the version. */
static int tells_version(XLA_FFI_CallFrame *call) {
  XLA_FFI_Extension_Base *extension = call->extension_start;
  if (!extension || extension->type != XLA_FFI_Extension_Metadata) return 0;
  XLA_FFI_Metadata *metadata = ((XLA_FFI_Metadata_Extension *)extension)->metadata;
  metadata->api_version.major_version = XLA_FFI_API_MAJOR;
  metadata->api_version.minor_version = XLA_FFI_API_MINOR;
  return 1;
}

static int64_t count_threads(XLA_FFI_CallFrame *call) {
  int64_t threads = 1;
  XLA_FFI_ThreadPool_NumThreads_Args args = {
      XLA_FFI_ThreadPool_NumThreads_Args_STRUCT_SIZE, NULL, call->ctx, &threads};
  ignore(call->api, call->api->XLA_FFI_ThreadPool_NumThreads(&args));
  return threads;
}

/* Has up to `count` other threads run `help(job)`, each of which is one of the job's users. */
static void ask_for_help(XLA_FFI_CallFrame *call, int64_t count, void (*help)(void *), void *job,
                         atomic_long *users) {
  for (; count > 0; count--) {
    XLA_FFI_ThreadPool_Schedule_Args args = {XLA_FFI_ThreadPool_Schedule_Args_STRUCT_SIZE, NULL,
                                             call->ctx, help, job};
    atomic_fetch_add(users, 1);
    if (ignore(call->api, call->api->XLA_FFI_ThreadPool_Schedule(&args)))
      atomic_fetch_sub(users, 1);
  }
}

static void wait_until(atomic_long *done, int64_t count) {
  for (int spins = 0; atomic_load(done) < count; spins++) {
    if (spins < 1000) _mm_pause();
    else sched_yield();
  }
}
