/* kern/quant/nibbles_x86.h - dot_nibbles_i8 on 256 bits. nb_dot(s, v, a) adds products of bytes, v unsigned and below 16,
 * by fours to the lanes of s. */
static inline __m256 nb_block(const DotNibbles *d, size_t b, __m256 sum)
{
    const __m128i low = _mm_set1_epi8(15);
    const uint8_t *q = d->q + b * d->bytes, *end = q + d->bytes;
    const int8_t *a = d->a + 2 * b * d->bytes;
    __m256i s = _mm256_setzero_si256();
    for (; q < end; q += 16, a += 32) {
        const __m128i x = _mm_loadu_si128((const __m128i *)q);
        const __m128i high = _mm_and_si128(_mm_srli_epi16(x, 4), low);
        const __m256i v = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_and_si128(x, low)), high, 1);
        s = nb_dot(s, v, _mm256_loadu_si256((const __m256i *)a));
    }
    const __m256 scale = _mm256_mul_ps(_mm256_broadcast_ss(d->scale + b), _mm256_broadcast_ss(d->a_scale + b));
    return _mm256_fmadd_ps(_mm256_cvtepi32_ps(s), scale, sum);
}

/* Four sums in turn, which need not wait for each other. */
static float dot_nibbles(const DotNibbles *d)
{
    __m256 s0 = _mm256_setzero_ps(), s1 = s0, s2 = s0, s3 = s0;
    size_t b = 0;
    for (; d->blocks - b >= 4; b += 4) {
        s0 = nb_block(d, b, s0);
        s1 = nb_block(d, b + 1, s1);
        s2 = nb_block(d, b + 2, s2);
        s3 = nb_block(d, b + 3, s3);
    }
    for (; b < d->blocks; b++) s0 = nb_block(d, b, s0);
    const __m256 sum = _mm256_add_ps(_mm256_add_ps(s0, s1), _mm256_add_ps(s2, s3));
    __m128 r = _mm_add_ps(_mm256_castps256_ps128(sum), _mm256_extractf128_ps(sum, 1));
    r = _mm_add_ps(r, _mm_movehl_ps(r, r));
    return _mm_cvtss_f32(_mm_add_ss(r, _mm_shuffle_ps(r, r, 1)));
}

void ISA(sdx_kern_init_nibbles)(Kern *k);
void ISA(sdx_kern_init_nibbles)(Kern *k) { k->dot_nibbles_i8 = dot_nibbles; }
