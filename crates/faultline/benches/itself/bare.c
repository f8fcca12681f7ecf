/* The hand-written loop that faultline's own cells are held against: no framework, the same offsets (SplitMix64 and
 * multiply-shift), the same sum of little-endian 64-bit words or of one byte of each 4096, the same file in the page table beforehand.
 *
 *   bare pread|mmap FILE BLOCK OPS SEED sum|touch [LIST]  ->  nanoseconds of the second of two passes, and the checksum
 *
 * LIST has OPS pairs of 64-bit numbers, an offset and a length of at most BLOCK, and is read before the clock starts.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SWEEP (64u << 20)
#define CHUNK (1u << 20)

static inline uint64_t next(uint64_t *state) {
    uint64_t z = (*state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* The file as words and as pairs of them, wherever a block begins; read in place: through a copy gcc goes over the stack. */
typedef uint64_t word __attribute__((may_alias, aligned(1)));
typedef uint64_t pair __attribute__((vector_size(16)));
typedef pair loose_pair __attribute__((may_alias, aligned(1)));

static inline uint64_t sum(const uint8_t *bytes, size_t count) {
    uint64_t total = 0;
    size_t i = 0;
    /* A block of a line or a few: putting vectors together again would cost more than adding up. */
    for (; count < 256 && i + 64 <= count; i += 64) {
        const word *w = (const word *)(bytes + i);
        total += ((w[0] + w[1]) + (w[2] + w[3])) + ((w[4] + w[5]) + (w[6] + w[7]));
    }
    /* Four vectors of two sums side by side: additions do not wait for each other. Written as vectors because gcc makes
     * scalar code of the plain loop, slower than memory. */
    if (i + 64 <= count) {
        pair lanes[4] = {{0}};
        for (; i + 64 <= count; i += 64)
            for (int k = 0; k < 4; k++) lanes[k] += *(const loose_pair *)(bytes + i + 16 * k);
        for (int k = 0; k < 4; k++) total += lanes[k][0] + lanes[k][1];
    }
    for (; i + 8 <= count; i += 8) total += *(const word *)(bytes + i);
    return total;
}

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* One loop for each method, as a program would have it: a branch on the method within the loop, or a generator whose
 * state lies in memory, was seen to cost a third of a 64-byte read, because fewer of them are under way at once. */
static inline uint64_t offset(uint64_t *state, uint64_t slots, size_t block) {
    return (uint64_t)(((unsigned __int128)next(state) * slots) >> 64) * block;
}

struct place {
    uint64_t offset, length;
};

struct todo {
    const uint8_t *map;
    int fd;
    uint8_t *buffer;
    uint64_t slots, block, ops, state;
    const struct place *list;
};

/* One byte of each 4096. */
static inline uint64_t touch(const uint8_t *bytes, size_t count) {
    uint64_t total = 0;
    for (size_t i = 0; i < count; i += 4096) total += bytes[i];
    return total;
}

static inline const uint8_t *in_buffer(const struct todo *of, uint64_t offset, uint64_t length) {
    if (pread(of->fd, of->buffer, length, (off_t)offset) != (ssize_t)length) exit(1);
    return of->buffer;
}

#define LOOPS(LOOK)                                                                                                    \
    static uint64_t mmap_##LOOK(struct todo of) {                                                                      \
        uint64_t total = 0, state = of.state;                                                                          \
        for (uint64_t i = 0; i < of.ops; i++) total += LOOK(of.map + offset(&state, of.slots, of.block), of.block);    \
        return total;                                                                                                  \
    }                                                                                                                  \
    static uint64_t pread_##LOOK(struct todo of) {                                                                     \
        uint64_t total = 0, state = of.state;                                                                          \
        for (uint64_t i = 0; i < of.ops; i++)                                                                          \
            total += LOOK(in_buffer(&of, offset(&state, of.slots, of.block), of.block), of.block);                     \
        return total;                                                                                                  \
    }                                                                                                                  \
    static uint64_t list_mmap_##LOOK(struct todo of) {                                                                 \
        uint64_t total = 0;                                                                                            \
        for (uint64_t i = 0; i < of.ops; i++) total += LOOK(of.map + of.list[i].offset, of.list[i].length);            \
        return total;                                                                                                  \
    }                                                                                                                  \
    static uint64_t list_pread_##LOOK(struct todo of) {                                                                \
        uint64_t total = 0;                                                                                            \
        for (uint64_t i = 0; i < of.ops; i++)                                                                          \
            total += LOOK(in_buffer(&of, of.list[i].offset, of.list[i].length), of.list[i].length);                    \
        return total;                                                                                                  \
    }

LOOPS(sum)
LOOPS(touch)

int main(int argc, char **argv) {
    if (argc != 7 && argc != 8) return 2;
    int mapped = strcmp(argv[1], "mmap") == 0, touches = strcmp(argv[6], "touch") == 0;
    int fd = open(argv[2], O_RDONLY);
    size_t block = strtoull(argv[3], 0, 10);
    uint64_t ops = strtoull(argv[4], 0, 10), seed = strtoull(argv[5], 0, 10), total = 0, begun = 0, took = 0, swept = 0;
    struct stat st;
    if (fd < 0 || fstat(fd, &st)) return 1;
    uint64_t slots = (uint64_t)st.st_size / block;
    uint8_t *buffer = mmap(0, block < 4096 ? 4096 : block, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    memset(buffer, 1, block);
    struct place *list = 0;
    if (argc == 8) {
        FILE *from = fopen(argv[7], "rb");
        list = malloc(ops * sizeof *list);
        if (!from || fread(list, sizeof *list, ops, from) != ops) return 1;
    }
    const uint8_t *map = mapped ? mmap(0, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0) : 0;
    for (int pass = 0; pass < 2; pass++) {
        if (pass) { /* what comes before a timed pass in state mapped: the end of the file, so that caches are not warm */
            uint64_t end = (uint64_t)st.st_size, from = end > SWEEP ? end - SWEEP : 0;
            uint8_t *chunk = malloc(CHUNK);
            for (uint64_t at = from; at < end; at += CHUNK) {
                size_t length = end - at < CHUNK ? end - at : CHUNK;
                if (!mapped && pread(fd, chunk, length, (off_t)at) < 0) return 1;
                swept += sum(mapped ? map + at : chunk, length);
            }
            free(chunk);
        }
        uint64_t state = seed;
        state = next(&state); /* the first thread's own generator: docs/FORMATS.md, "Offsets" */
        struct todo of = {map, fd, buffer, slots, block, ops, state, list};
        uint64_t (*loops[2][2][2])(struct todo) = {
            {{pread_sum, mmap_sum}, {pread_touch, mmap_touch}},
            {{list_pread_sum, list_mmap_sum}, {list_pread_touch, list_mmap_touch}},
        };
        begun = now();
        total = loops[list != 0][touches][mapped](of);
        took = now() - begun;
    }
    if (swept == 1) puts(""); /* keeps the sweep */
    printf("%llu %016llx\n", (unsigned long long)took, (unsigned long long)total);
    return 0;
}
