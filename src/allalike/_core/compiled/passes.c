/* The passes of the default over answers that are sorted by task, beside their twins in numpy.

   Task t has the answers starts[t] to starts[t + 1]. Answer i is in the cell worker * k + label, and counts `voice[i]`,
   or 1 where there are no voices. Whoever calls has checked that all of this is within bounds (calls.py).

   Nothing depends on the machine: products and sums are not contracted, exp and log are here, and a pass adds up in
   the order of the answers. Numbers are added to what the arrays hold. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define AHEAD 12 /* answers, by which memory is asked for before it is needed */
#define TIE 1e-9 /* votes, within which labels tie */
#define NOTHING 1e-12
#define LEAST 1e-6     /* of a label's probability */
#define ROW_PRIOR 50.0 /* answers beside a worker's own to tasks of a class and level */
#define MAX_LABELS 64

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif
#define INLINE inline __attribute__((always_inline, unused)) /* GCC and Clang are known to compile this */
#define LOWEST(bits) __builtin_ctzll(bits)
#define FETCH(at, n)                                                                                                   \
    for (int f_ = 0; f_ < (n); f_ += 8) __builtin_prefetch((const double *)(at) + f_, 1)
#if defined(__x86_64__) && !defined(PLAIN)
#define HAS_AVX2 __builtin_cpu_supports("avx2")
#endif

#define CELLS const int64_t n_tasks, const int64_t *starts, const int32_t *cell, const double *voice /* or NULL */

#include "numbers.h"

#define VARIANT(name) name##_plain
#define TARGET
#include "vectors.h"
#undef VARIANT
#undef TARGET
#if defined(HAS_AVX2)
#define VARIANT(name) name##_avx2
#define TARGET __attribute__((target("avx2")))
#include "vectors.h"
#define CHOOSE(name, ...) (HAS_AVX2 ? name##_avx2(__VA_ARGS__) : name##_plain(__VA_ARGS__))
#else
#define CHOOSE(name, ...) name##_plain(__VA_ARGS__)
#endif

EXPORT int64_t source(void) { return SOURCE; } /* a number of these files, which the build knows */

/* Without `shares`: the sums of rows, per task; with them, how probable each state is, and the log likelihood. */
EXPORT int64_t expect(CELLS, const int64_t n_labels, const int64_t width, const double *rows, const double *shares,
                      double *tasks, double *likelihood) {
    CHOOSE(expect, (int)width, n_tasks, starts, cell, voice, (int)n_labels, rows, shares, tasks, likelihood);
    return 0;
}

EXPORT int64_t count(CELLS, const int64_t width, const double *tasks, double *counts) {
    CHOOSE(count, (int)width, n_tasks, starts, cell, voice, tasks, counts);
    return 0;
}

/* Count the votes for each label of each task, weighted by worker. */
EXPORT int64_t votes(CELLS, const int64_t n_labels, const double *weight, double *votes) {
    const int32_t k = (int32_t)n_labels;
    for (int64_t t = 0; t < n_tasks; t++)
        for (int64_t i = starts[t]; i < starts[t + 1]; i++) {
            const int32_t w = cell[i] / k;
            votes[t * k + (cell[i] - w * k)] += weight[w] * (voice ? voice[i] : 1.0);
        }
    return 0;
}

/* How an answer stands among the votes of those who are not of its group: their votes for its label, for the label that
   has most, and all, and whether its label has most, shared among those that have as many. */
typedef struct {
    double own, top, total, hit;
} Standing;

typedef struct {
    double most, number, second, n_second; /* the most votes, those behind them, and how many labels have as many */
} Leaders;

static Leaders find_leaders(const double *votes, const int k) {
    Leaders found = {-HUGE_VAL, 0.0, -HUGE_VAL, 0.0};
    for (int c = 0; c < k; c++) found.most = votes[c] > found.most ? votes[c] : found.most;
    for (int c = 0; c < k; c++)
        if (votes[c] >= found.most - TIE) found.number += 1;
        else found.second = votes[c] > found.second ? votes[c] : found.second;
    for (int c = 0; c < k; c++) found.n_second += votes[c] < found.most - TIE && votes[c] >= found.second - TIE;
    return found;
}

/* Find how the n answers to a task stand. An answer without a group takes its vote away from its own label alone, so
   that its rivals are known from the leaders. The scratch has 2 k places, and with groups k for each answer. */
static void stand(const int64_t n, const int k, const int32_t *label, const double *vote, const int64_t *group,
                  double *scratch, Standing *found) {
    double *votes = scratch, *others = scratch + k, *inside = scratch + 2 * k, total = 0.0;
    int64_t first = group ? group[0] : 0;
    memset(scratch, 0, (size_t)k * (group ? (size_t)n + 2 : 1) * sizeof(double));
    for (int64_t i = 0; group && i < n; i++) first = group[i] < first ? group[i] : first;
    for (int64_t i = 0; i < n; i++) {
        votes[label[i]] += vote[i];
        total += vote[i];
        if (group) inside[(group[i] - first) * k + label[i]] += vote[i];
    }
    Leaders leaders = find_leaders(votes, k);
    for (int64_t i = 0; i < n; i++) {
        double cast = votes[label[i]];
        Standing is = {cast - vote[i], 0.0, total - vote[i], 0.0};
        if (group) {
            is.total = 0.0;
            for (int c = 0; c < k; c++) is.total += others[c] = votes[c] - inside[(group[i] - first) * k + c];
            is.own = cast = others[label[i]];
            leaders = find_leaders(others, k);
        }
        const int leads = cast >= leaders.most - TIE, alone = leads && leaders.number == 1;
        const double most = alone ? leaders.second : leaders.most;
        const double rivals = alone ? leaders.n_second : leaders.number - leads;
        is.top = is.own > most ? is.own : most;
        is.hit = is.own > most + TIE ? 1.0 : is.own >= most - TIE ? 1.0 / (1.0 + rivals) : 0.0;
        found[i] = is;
    }
}

static int64_t most_answers(const int64_t n_tasks, const int64_t *starts) {
    int64_t most = 0;
    for (int64_t t = 0; t < n_tasks; t++) most = starts[t + 1] - starts[t] > most ? starts[t + 1] - starts[t] : most;
    return most;
}

/* Find how each answer stands: see `ballots.count_others`. */
EXPORT int64_t count_others(const int64_t n_tasks, const int64_t *starts, const int32_t *label, const double *vote,
                            const int64_t *group, const int64_t n_labels, Standing *found) {
    const int64_t most = group ? most_answers(n_tasks, starts) : 0;
    double *scratch = malloc((size_t)(n_labels * (2 + most)) * sizeof(double));
    if (!scratch) return -1;
    for (int64_t t = 0; t < n_tasks; t++) {
        const int64_t a = starts[t];
        stand(starts[t + 1] - a, (int)n_labels, label + a, vote + a, group ? group + a : NULL, scratch, found + a);
    }
    free(scratch);
    return 0;
}

/* Add up, per worker, how she agrees with the others: see `consensus.agreement_sums`. The columns of `sums` are hits and
   strength; where all are wanted, answers and pairs, and of hits and of shares: deviations, their squares, those of
   two, and all. */
enum { HITS, STRENGTH, ANSWERS, PAIRS, MOMENTS, N_SUMS = 12 };

EXPORT int64_t agree(CELLS, const int64_t *group, const int64_t n_labels, const double *weight, const int64_t all,
                     double *sums) {
    const int32_t k = (int32_t)n_labels;
    const int64_t most = most_answers(n_tasks, starts), width = all ? N_SUMS : 2;
    double *vote = malloc((size_t)(6 * most + k * (2 + (group ? most : 0))) * sizeof(double));
    if (!vote) return -1;
    int32_t *label = (int32_t *)(vote + most);
    Standing *standing = (Standing *)(vote + 2 * most);
    double *scratch = vote + 6 * most;
    for (int64_t t = 0; t < n_tasks; t++) {
        const int64_t a = starts[t], n = starts[t + 1] - a;
        double size = 0.0, mean[2] = {0.0, 0.0};
        for (int64_t i = 0; i < n; i++) {
            const int32_t w = cell[a + i] / k;
            const double v = voice ? voice[a + i] : 1.0;
            label[i] = cell[a + i] - w * k;
            vote[i] = v * weight[w];
            size += v;
        }
        if (size < 2 - NOTHING) continue;
        stand(n, k, label, vote, group ? group + a : NULL, scratch, standing);
        const int two = size < 3 - NOTHING;
        for (int64_t i = 0; i < n; i++) {
            const Standing is = standing[i];
            const double v = voice ? voice[a + i] : 1.0, each = is.total > NOTHING ? 1.0 / is.total : 0.0;
            const double lead = (is.top * each - 1.0 / k) / (1 - 1.0 / k);
            const double strength = v * (lead > 0 ? lead * lead : 0.0);
            const double hit = is.hit, share = is.own * each;
            double *sum = sums + (int64_t)(cell[a + i] / k) * width;
            sum[HITS] += strength * hit;
            sum[STRENGTH] += strength;
            if (!all) continue;
            sum[ANSWERS] += v;
            sum[PAIRS] += two ? v : 0.0;
            mean[0] += v * (standing[i].hit = hit);
            mean[1] += v * (standing[i].own = share);
        }
        const double stretch = two ? 1.0 : sqrt(size / (size - 1));
        for (int64_t i = 0; all && i < n; i++) {
            double *sum = sums + (int64_t)(cell[a + i] / k) * width + MOMENTS;
            const double v = voice ? voice[a + i] : 1.0;
            for (int j = 0; j < 2; j++, sum += 4) {
                const double value = j ? standing[i].own : standing[i].hit;
                const double deviation = (value - (two ? 0.0 : mean[j] / size)) * stretch;
                sum[0] += v * deviation;
                sum[1] += v * (deviation * deviation);
                sum[2] += two ? v * value : 0.0;
                sum[3] += v * value;
            }
        }
    }
    free(vote);
    return 0;
}

/* Count the votes of a task's answers a to b, with the voices of workers, and return how many there are. */
static double cast(const int64_t a, const int64_t b, const int32_t *cell, const int32_t k, const double *voice,
                   double *votes) {
    double total = 0.0;
    memset(votes, 0, (size_t)k * sizeof(double));
    for (int64_t i = a; i < b; i++) {
        const int32_t w = cell[i] / k;
        votes[cell[i] - w * k] += voice[w];
        total += voice[w];
    }
    return total;
}

/* Add up, per worker, her share of agreement with the others, how often she gave each label, and how often they did:
   see `signal.signal_sums`. Here `voice` is that of each worker. */
EXPORT int64_t listen(CELLS, const int64_t n_labels, double *votes, double *own, double *given, double *heard) {
    const int32_t k = (int32_t)n_labels;
    for (int64_t t = 0; t < n_tasks; t++) {
        const double total = cast(starts[t], starts[t + 1], cell, k, voice, votes);
        for (int64_t i = starts[t]; i < starts[t + 1]; i++) {
            const int32_t w = cell[i] / k;
            if (total - voice[w] <= 0.5) continue;
            const double each = 1.0 / (total - voice[w]);
            own[w] += each * (votes[cell[i] - w * k] - voice[w]);
            given[cell[i]] += 1.0;
            for (int c = 0; c < k; c++) heard[(int64_t)w * k + c] += each * votes[c];
            heard[cell[i]] -= each * voice[w];
        }
    }
    return 0;
}

/* Add up, per worker, what each answer adds to her signal, and its square: see `signal.deviation_sums`. */
EXPORT int64_t deviate(CELLS, const int64_t n_labels, const double *heard, const double *given, const double *cross,
                       double *votes, double *sum, double *squares) {
    const int32_t k = (int32_t)n_labels;
    for (int64_t t = 0; t < n_tasks; t++) {
        const double total = cast(starts[t], starts[t + 1], cell, k, voice, votes);
        for (int64_t i = starts[t]; i < starts[t + 1]; i++) {
            const int32_t w = cell[i] / k;
            if (total - voice[w] <= 0.5) continue;
            double usual = -voice[w] * given[cell[i]];
            for (int c = 0; c < k; c++) usual += given[(int64_t)w * k + c] * votes[c];
            const double own = votes[cell[i] - w * k] - voice[w];
            const double deviation = (own - usual) / (total - voice[w]) - heard[cell[i]] + cross[w];
            sum[w] += deviation;
            squares[w] += deviation * deviation;
        }
    }
    return 0;
}

static int64_t find_root(int64_t *part, int64_t w) {
    while (part[w] != w) w = part[w] = part[part[w]];
    return w;
}

/* Connect the workers of each task with each other: part[w] becomes the least worker whom a chain connects with w.
   Answers without a voice connect nobody. */
EXPORT int64_t connect(const int64_t n_tasks, const int64_t *starts, const int64_t *worker, const double *voice,
                       const int64_t n_workers, int64_t *part) {
    for (int64_t w = 0; w < n_workers; w++) part[w] = w;
    for (int64_t t = 0; t < n_tasks; t++) {
        int64_t before = -1;
        for (int64_t i = starts[t]; i < starts[t + 1]; i++) {
            if (voice && !(voice[i] > 0)) continue;
            const int64_t root = find_root(part, worker[i]);
            if (before >= 0 && root != before) part[root > before ? root : before] = root < before ? root : before;
            before = before >= 0 && before < root ? before : root;
        }
    }
    for (int64_t w = 0; w < n_workers; w++) part[w] = find_root(part, w);
    return 0;
}

/* The log likelihood of each worker's expected answers said[l, c] beside so many of the rows that are expected of her:
   of a Dirichlet-multinomial for each class c; see `rows._weigh_strength`. */
EXPORT int64_t weigh_strength(const int64_t n_workers, const int64_t n_labels, const double *said,
                              const double *expected, const double strength, double *likelihood) {
    CHOOSE(weigh_strength, (int)n_labels, n_workers, said, expected, strength, likelihood);
    return 0;
}

/* The logarithms of the probabilities of answers, by label, class and level; see `rows._complete_rows`. */
EXPORT int64_t complete_rows(const int64_t n_workers, const int64_t n_labels, const int64_t n_levels,
                             const double *counts, const double *own, const double *shift, double *rows) {
    CHOOSE(complete_rows, (int)n_labels, (int)n_levels, n_workers, counts, own, shift, rows);
    return 0;
}

/* Count, for each pair of the workers `first` to `last` with all, their common tasks and those where they differ.

   Equal answers to a task have the same `group`. Row by row: what a worker has in common with others is added up in
   places, and their bits tell which of them were met, in order. Return the number of entries, of a matrix by rows. */
typedef struct {
    int32_t worker, group;
} Answer;

typedef struct {
    int32_t begin, end, group; /* of an answer: where its task begins and ends, and its group */
} Visit;

EXPORT int64_t pairs(const int64_t n_tasks, const int64_t *starts, const int64_t *worker, const int64_t *group,
                     const int64_t n_workers, const int64_t first, const int64_t last, int32_t *indptr,
                     int32_t *indices, double *common, double *differ) {
    const int64_t n_rows = last - first, n_words = (n_workers + 63) / 64;
    int64_t n = 0, *next = calloc((size_t)n_rows + 1, sizeof(int64_t));
    Visit *visits = malloc((size_t)(starts[n_tasks] + 1) * sizeof(Visit));
    Answer *answers = malloc((size_t)(starts[n_tasks] + 1) * sizeof(Answer));
    int32_t *places = calloc((size_t)n_workers * 2, sizeof(int32_t));
    uint64_t *bits = calloc((size_t)n_words, sizeof(uint64_t));
    if (!next || !visits || !answers || !places || !bits) n = -1;
    for (int64_t i = 0; n == 0 && i < starts[n_tasks]; i++) {
        const Answer answer = {(int32_t)worker[i], (int32_t)group[i]};
        answers[i] = answer;
        if (worker[i] >= first && worker[i] < last) next[worker[i] - first + 1]++;
    }
    for (int64_t row = 0; n == 0 && row < n_rows; row++) next[row + 1] += next[row];
    for (int64_t t = 0; n == 0 && t < n_tasks; t++)
        for (int64_t i = starts[t]; i < starts[t + 1]; i++) {
            const Visit visit = {(int32_t)starts[t], (int32_t)starts[t + 1], (int32_t)group[i]};
            if (worker[i] >= first && worker[i] < last) visits[next[worker[i] - first]++] = visit;
        }
    for (int64_t row = 0, at = 0; n >= 0 && row < n_rows; row++) { /* now next[row] is where the row's visits end */
        for (; at < next[row]; at++) {
            const Visit visit = visits[at];
            if (at + AHEAD < next[n_rows - 1]) FETCH(answers + visits[at + AHEAD].begin, 16);
            for (int64_t j = visit.begin; j < visit.end; j++) {
                const int32_t w = answers[j].worker;
                places[2 * w] += 1;
                places[2 * w + 1] += answers[j].group != visit.group;
                bits[w >> 6] |= (uint64_t)1 << (w & 63);
            }
        }
        for (int64_t word = 0; word < n_words; word++) {
            for (; bits[word]; bits[word] &= bits[word] - 1) {
                const int64_t w = word * 64 + LOWEST(bits[word]);
                if (w != first + row) {
                    indices[n] = (int32_t)w;
                    common[n] = places[2 * w];
                    differ[n++] = places[2 * w + 1];
                }
                places[2 * w] = places[2 * w + 1] = 0;
            }
        }
        indptr[row + 1] = (int32_t)n;
    }
    free(next);
    free(visits);
    free(answers);
    free(places);
    free(bits);
    return n;
}
