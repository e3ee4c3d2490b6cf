/* The passes that pay for vectors, to be included once for each set of instructions: the E and M steps.

   VARIANT(name) is the name of a function there. Numbers of different states never meet in a vector, so every set of
   instructions gives the same bits; sums over states and over answers are made in order. */

/* Add up, per task, the rows of its answers' cells. With `shares`, these are logarithms: those of the task's first
   worker are added, and the shares of the states are returned, p_s ~ shares_s prod_i rows[cell_i, s], with the log
   likelihood of the answers. */
static INLINE TARGET void VARIANT(expect_of)(const int width, CELLS, const int k, const double *restrict rows,
                                             const double *restrict shares, double *restrict tasks,
                                             double *restrict likelihood) {
    const int64_t last = starts[n_tasks] - 1;
    for (int64_t t = 0; t < n_tasks; t++, tasks += width) {
        double *restrict p = tasks;
        for (int s = 0; s < width; s++) p[s] = 0.0;
        for (int64_t i = starts[t]; i < starts[t + 1]; i++) {
            const double *restrict row = rows + (int64_t)cell[i] * width, v = voice ? voice[i] : 1.0;
            FETCH(rows + (int64_t)cell[i + AHEAD < last ? i + AHEAD : last] * width, width);
            for (int s = 0; s < width; s++) p[s] += v * row[s];
        }
        if (!shares) continue;
        const double *restrict prior = shares + (int64_t)(cell[starts[t]] / k) * width;
        for (int s = 0; s < width; s++) p[s] += prior[s];
        double top = p[0], total = 0.0;
        for (int s = 1; s < width; s++) top = p[s] > top ? p[s] : top;
        for (int s = 0; s < width; s++) p[s] = exp_negative(p[s] - top);
        for (int s = 0; s < width; s++) total += p[s];
        for (int s = 0; s < width; s++) p[s] /= total;
        likelihood[t] = top + log_positive(total);
    }
}

/* Add up, per cell, the rows of the tasks that were answered so. */
static INLINE TARGET void VARIANT(count_of)(const int width, CELLS, const double *restrict tasks,
                                            double *restrict counts) {
    const int64_t last = starts[n_tasks] - 1;
    for (int64_t t = 0; t < n_tasks; t++, tasks += width)
        for (int64_t i = starts[t]; i < starts[t + 1]; i++) {
            double *restrict count = counts + (int64_t)cell[i] * width;
            const double v = voice ? voice[i] : 1.0;
            FETCH(counts + (int64_t)cell[i + AHEAD < last ? i + AHEAD : last] * width, width);
            for (int s = 0; s < width; s++) count[s] += v * tasks[s];
        }
}

/* A width that the compiler knows lets it make vectors of all loops over it: 2 to 5 classes, alone and of 3 levels. */
#define FOR_WIDTH(run, ...)                                                                                            \
    switch (width) {                                                                                                   \
    case 2: run(2, __VA_ARGS__); break;                                                                                \
    case 3: run(3, __VA_ARGS__); break;                                                                                \
    case 4: run(4, __VA_ARGS__); break;                                                                                \
    case 6: run(6, __VA_ARGS__); break;                                                                                \
    case 9: run(9, __VA_ARGS__); break;                                                                                \
    case 12: run(12, __VA_ARGS__); break;                                                                              \
    case 15: run(15, __VA_ARGS__); break;                                                                              \
    default: run(width, __VA_ARGS__);                                                                                  \
    }

static TARGET void VARIANT(expect)(const int width, CELLS, const int k, const double *rows, const double *shares,
                                   double *tasks, double *likelihood) {
    FOR_WIDTH(VARIANT(expect_of), n_tasks, starts, cell, voice, k, rows, shares, tasks, likelihood)
}

static TARGET void VARIANT(count)(const int width, CELLS, const double *tasks, double *counts) {
    FOR_WIDTH(VARIANT(count_of), n_tasks, starts, cell, voice, tasks, counts)
}

static INLINE TARGET void VARIANT(weigh_strength_of)(const int k, const int64_t n_workers, const double *restrict said,
                                              const double *restrict expected, const double strength,
                                              double *restrict likelihood) {
    double asked[MAX_LABELS], each[MAX_LABELS];
    for (int64_t w = 0; w < n_workers; w++) {
        double sum = 0.0;
        for (int c = 0; c < k; c++) asked[c] = 0.0;
        for (int l = 0; l < k; l++, said += k, expected += k) {
            for (int c = 0; c < k; c++) asked[c] += said[c];
            for (int c = 0; c < k; c++) each[c] = said[c] > NOTHING ? log_rise(strength * expected[c], said[c]) : 0.0;
            for (int c = 0; c < k; c++) sum += each[c];
        }
        for (int c = 0; c < k; c++) each[c] = asked[c] > NOTHING ? log_rise(strength, asked[c]) : 0.0;
        for (int c = 0; c < k; c++) sum -= each[c];
        likelihood[w] = sum;
    }
}

static TARGET void VARIANT(weigh_strength)(const int width, const int64_t n_workers, const double *said,
                                    const double *expected, const double strength, double *likelihood) {
    FOR_WIDTH(VARIANT(weigh_strength_of), n_workers, said, expected, strength, likelihood)
}

static TARGET void VARIANT(complete_rows)(const int k, const int n_levels, const int64_t n_workers,
                                   const double *restrict counts, const double *restrict own,
                                   const double *restrict shift, double *restrict rows) {
    const int width = k * n_levels;
    for (int64_t w = 0; w < n_workers; w++, counts += k * width, rows += k * width, own += k * k, shift += width)
        for (int c = 0; c < k; c++) {
            double wrong = 0.0;
            for (int l = 0; l < k; l++) wrong += l == c ? 0.0 : own[l * k + c];
            wrong = wrong > NOTHING ? wrong : NOTHING;
            const double right = logit(own[c * k + c]);
            for (int s = c * n_levels; s < (c + 1) * n_levels; s++) {
                const double chance = sigmoid(right + shift[s]), rest = ROW_PRIOR * (1 - chance) / wrong;
                double total = 0.0;
                for (int l = 0; l < k; l++) {
                    const double prior = l == c ? ROW_PRIOR * chance : rest * own[l * k + c];
                    total += rows[l * width + s] = prior + counts[l * width + s];
                }
                const double each = 1.0 / total;
                for (int l = 0; l < k; l++) rows[l * width + s] *= each;
            }
        }
    rows -= n_workers * k * width;
    for (int64_t i = 0; i < n_workers * k * width; i++) rows[i] = log_positive(rows[i] > LEAST ? rows[i] : LEAST);
}
#undef FOR_WIDTH
