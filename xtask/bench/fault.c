/*
 * What a page fault costs and maps, for a file that lies in the page cache.
 *
 *   cc -O3 -pthread -o fault fault.c
 *   ./fault FILE TOUCHES ROUNDS
 *
 * Each round makes two fresh mappings. The first is touched at TOUCHES random places, the second at every page in
 * ascending order; one byte a touch. It prints medians over the rounds: faults, nanoseconds and pages mapped for each
 * fault, and the nanoseconds of munmap(2) for each mapped page. Pages are those that /proc/self/statm counts as resident
 * and shared, so a page that only lies in the page cache is not counted. Fill the page cache with fill.c first.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); /* a resident file waits for nothing; other jobs do not count */
    return t.tv_sec * 1e9 + t.tv_nsec;
}

static uint64_t state;
static size_t below(size_t limit) {
    uint64_t z = state += 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return (unsigned __int128)(z ^ z >> 31) * limit >> 64;
}

static long faults(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt + usage.ru_majflt;
}

static long mapped_pages(void) {
    long all, resident, shared = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    if (!statm || fscanf(statm, "%ld %ld %ld", &all, &resident, &shared) != 3) err(1, "statm");
    fclose(statm);
    return shared;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t n) {
    qsort(values, n, sizeof *values, ascending);
    return values[n / 2];
}

int main(int argc, char **argv) {
    if (argc != 4) errx(2, "usage: fault FILE TOUCHES ROUNDS");
    int file = open(argv[1], O_RDONLY);
    struct stat st;
    if (file < 0 || fstat(file, &st)) err(1, "%s", argv[1]);
    size_t size = st.st_size, pages = size / 4096, touches = atol(argv[2]), rounds = atol(argv[3]);
    size_t *places = malloc((touches > pages ? touches : pages) * sizeof *places);
    state = time(0);
    for (int scan = 0; scan < 2; scan++) {
        size_t count = scan ? pages : touches;
        double number[rounds], cost[rounds], mapped[rounds], unmapping[rounds];
        for (size_t round = 0; round < rounds; round++) {
            for (size_t i = 0; i < count; i++) places[i] = (scan ? i : below(pages)) * 4096;
            volatile char *map = mmap(0, size, PROT_READ, MAP_SHARED, file, 0);
            if (map == MAP_FAILED) err(1, "mmap");
            mapped_pages();
            long had = mapped_pages(), before = faults();
            double start = now();
            for (size_t i = 0; i < count; i++) map[places[i]];
            double end = now();
            number[round] = faults() - before;
            cost[round] = (end - start) / number[round];
            long brought = mapped_pages() - had;
            mapped[round] = brought / number[round];
            start = now();
            munmap((void *)map, size);
            unmapping[round] = (now() - start) / brought;
        }
        printf("{\"touches\":\"%s\",\"faults\":%.0f,\"ns_per_fault\":%.0f,\"pages_per_fault\":%.1f,\"unmap_ns_per_page\":%.2f}\n",
               scan ? "ascending" : "random", median(number, rounds), median(cost, rounds), median(mapped, rounds),
               median(unmapping, rounds));
    }
    return 0;
}
