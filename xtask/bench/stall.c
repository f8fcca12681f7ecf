// How late a second thread is while a thread reads blocks of 4 KiB at random places of a file: stall FILE BYTES READS call|map
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { BLOCK = 4096, PERIOD = 1000000, MOST = 1 << 20 };
static int64_t late[MOST];
static size_t deadlines;
static atomic_int is_done;

static int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

// Each deadline that has passed counts, from its own time.
static void *beat(void *start) {
    int64_t next = *(int64_t *)start + PERIOD;
    while (!atomic_load(&is_done)) {
        struct timespec until = {next / 1000000000, next % 1000000000};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
        for (int64_t at = now(); next <= at && deadlines < MOST; next += PERIOD) late[deadlines++] = at - next;
    }
    return NULL;
}

static int ascending(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    if (argc != 5) return 2;
    size_t bytes = strtoull(argv[2], 0, 10), reads = strtoull(argv[3], 0, 10), blocks = bytes / BLOCK;
    int is_map = !strcmp(argv[4], "map"), file = open(argv[1], O_RDONLY);
    if (file < 0) return perror(argv[1]), 1;
    char *map = is_map ? mmap(NULL, bytes, PROT_READ, MAP_SHARED, file, 0) : NULL;
    if (map == MAP_FAILED) return perror("mmap"), 1;
    static char buffer[BLOCK];
    uint64_t seed = 88172645463325252ULL, sum = 0;
    int64_t start = now();
    pthread_t other;
    pthread_create(&other, NULL, beat, &start);
    for (size_t i = 0; i < reads; i++) {
        seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
        uint64_t offset = seed % blocks * BLOCK;
        if (is_map) sum += map[offset];
        else if (pread(file, buffer, BLOCK, offset) != BLOCK) return perror("pread"), 1;
        else sum += buffer[0];
    }
    int64_t took = now() - start;
    atomic_store(&is_done, 1);
    pthread_join(other, NULL);
    if (!deadlines) return fprintf(stderr, "no deadline passed in %.1f ms\n", took / 1e6), 1;
    qsort(late, deadlines, sizeof *late, ascending);
    size_t stalled = 0;
    for (size_t i = 0; i < deadlines; i++) stalled += late[i] > 2 * PERIOD;
    printf("{\"took_ms\": %.1f, \"deadlines\": %zu, \"median_ms\": %.3f, \"p99_ms\": %.3f, \"worst_ms\": %.3f, \"stalled\": %.4f, \"sum\": %lu}\n",
           took / 1e6, deadlines, late[deadlines / 2] / 1e6, late[deadlines * 99 / 100] / 1e6, late[deadlines - 1] / 1e6,
           (double)stalled / deadlines, sum);
}
