/* Functions of numbers, without the machine's library of them, whose last bits differ from one to the other. */

#define LOW 1e-3 /* no probability of being right is closer to 0 or 1 */

typedef union {
    double number;
    int64_t bits;
} Bits;

static const double LOG_2_HIGH = 6.93147180369123816490e-01, LOG_2_LOW = 1.90821492927058770002e-10;

/* exp(x) for x <= 0: 2^n times the series of what is left, which is at most log(2) / 2. */
static INLINE double exp_negative(double x) {
    x = x < -700.0 ? -700.0 : x;
    Bits whole, power;
    whole.number = x * 1.4426950408889634074 + 0x1.8p52;
    const double n = whole.number - 0x1.8p52, r = (x - n * LOG_2_HIGH) - n * LOG_2_LOW;
    double sum = ((1.0 / 479001600 * r + 1.0 / 39916800) * r + 1.0 / 3628800) * r + 1.0 / 362880;
    sum = (((sum * r + 1.0 / 40320) * r + 1.0 / 5040) * r + 1.0 / 720) * r + 1.0 / 120;
    sum = ((((sum * r + 1.0 / 24) * r + 1.0 / 6) * r + 0.5) * r + 1.0) * r + 1.0;
    power.bits = (int64_t)((uint64_t)(whole.bits + 1023) << 52);
    return sum * power.number;
}

/* log(x) for normal x > 0: x = 2^n m with m near 1, and log m = 2 artanh((m - 1) / (m + 1)). */
static INLINE double log_positive(const double x) {
    Bits part, power;
    part.number = x;
    power.bits = (int64_t)((uint64_t)part.bits >> 52 | 0x4330000000000000); /* 2^52 and the exponent, as a number */
    part.bits = (part.bits & 0x000FFFFFFFFFFFFF) | 0x3FF0000000000000;
    const int above = part.number > 1.4142135623730951;
    const double m = above ? part.number * 0.5 : part.number;
    const double n = power.number - (above ? 4503599627370496.0 + 1022 : 4503599627370496.0 + 1023);
    const double s = (m - 1.0) / (m + 1.0), z = s * s;
    double sum = (((1.0 / 21 * z + 1.0 / 19) * z + 1.0 / 17) * z + 1.0 / 15) * z + 1.0 / 13;
    sum = ((((sum * z + 1.0 / 11) * z + 1.0 / 9) * z + 1.0 / 7) * z + 1.0 / 5) * z + 1.0 / 3;
    return n * LOG_2_HIGH + (2.0 * s + (2.0 * s * z * sum + n * LOG_2_LOW));
}

/* Stirling's series of log Gamma(x), without a constant, for x >= 8. */
static INLINE double stirling(const double x) {
    const double r = 1.0 / x, q = r * r;
    const double end = 1.0 / 1680 - q * (1.0 / 1188 - q * (691.0 / 360360 - q * (1.0 / 156)));
    const double sum = 1.0 / 12 - q * (1.0 / 360 - q * (1.0 / 1260 - q * end));
    return (x - 0.5) * log_positive(x) - x + r * sum;
}

/* log Gamma(x + more) - log Gamma(x), for x > 0: both are moved by 8, to where the series holds. */
static INLINE double log_rise(const double x, const double more) {
    const double y = x + more;
    const double high = y * (y + 1) * (y + 2) * (y + 3) * (y + 4) * (y + 5) * (y + 6) * (y + 7);
    const double low = x * (x + 1) * (x + 2) * (x + 3) * (x + 4) * (x + 5) * (x + 6) * (x + 7);
    return stirling(y + 8) - stirling(x + 8) - log_positive(high / low);
}

static INLINE double logit(const double share) {
    const double inside = share < LOW ? LOW : share > 1 - LOW ? 1 - LOW : share;
    return log_positive(inside / (1 - inside));
}

static INLINE double sigmoid(const double x) {
    const double e = exp_negative(x < 0 ? x : -x);
    return (x < 0 ? e : 1.0) / (1.0 + e);
}
