/*
 * One pass over a file, by one method, in a process of its own: an independent check of what the tool says.
 *
 *   cc -O3 -falign-loops=64 -pthread -o truth truth.c
 *   ./truth FILE METHOD WORKLOAD BLOCK READS SEED [held]
 *
 *   METHOD    read, pread, mmap; with +random, +sequential, +hugepage or +populate: advice of posix_fadvise(2) or madvise(2)
 *   WORKLOAD  scan (the whole file; READS is ignored) or random (READS blocks at multiples of BLOCK)
 *   SEED      of the offsets; the same seed gives the same offsets to every method
 *   held      the file is open, and one byte of each page of the mapping was read before; the time is that of the reads
 *
 * It leaves the page cache as it is: fill.c brings the file there. Every method adds up the same 64-bit words, so the
 * checksums of two methods with one seed are equal. The time is from open(2) to close(2), with the parts beside it, and
 * with the processor's time: of a resident file that is the same, unless other jobs take the processor in between. The
 * buffer of read(2) and the offsets are made and touched before the clock starts. BLOCK is a multiple of 8 bytes.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static uint64_t read_clock(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* splitmix64: one state word, every seed is good. */
static uint64_t next(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

/* Not inlined: every method runs the same instructions over its bytes. */
__attribute__((noinline)) static uint64_t sum(const void *bytes, size_t length) {
    const uint64_t *words = bytes;
    uint64_t total = 0;
    for (size_t i = 0; i < length / 8; i++) total += words[i];
    return total;
}

/* What this process had read from the device, as /proc/self/io says; 0 where it is not readable. */
static uint64_t from_device(void) {
    char line[128];
    uint64_t bytes = 0;
    FILE *io = fopen("/proc/self/io", "r");
    while (io && fgets(line, sizeof line, io)) sscanf(line, "read_bytes: %lu", &bytes);
    if (io) fclose(io);
    return bytes;
}

int main(int argc, char **argv) {
    if (argc != 7 && argc != 8) errx(2, "usage: truth FILE METHOD scan|random BLOCK READS SEED [held]");
    int held = argc == 8;
    const char *path = argv[1], *method = argv[2];
    int scan = !strcmp(argv[3], "scan"), mapping = !strncmp(method, "mmap", 4), lseek_read = !strncmp(method, "read", 4);
    const char *advice = strchr(method, '+');
    size_t block = strtoull(argv[4], 0, 0), reads = strtoull(argv[5], 0, 0);
    uint64_t seed = strtoull(argv[6], 0, 0);
    struct stat st;
    if (stat(path, &st)) err(1, "%s", path);
    size_t size = st.st_size, places = size / block;
    if (!block || block % 8 || !places) errx(2, "BLOCK must be a multiple of 8 and at most the file");
    if (!mapping && strncmp(method, "pread", 5) && !lseek_read) errx(2, "unknown method %s", method);

    if (scan) reads = places;
    uint64_t *offsets = malloc(reads * sizeof *offsets);
    for (size_t i = 0; i < reads; i++)
        offsets[i] = (scan ? i : (size_t)((unsigned __int128)next(&seed) * places >> 64)) * block;
    char *buffer = aligned_alloc(4096, (block + 4095) / 4096 * 4096);
    memset(buffer, 1, block);

    int fadvice = POSIX_FADV_NORMAL, madvice = MADV_NORMAL;
    if (advice && !strcmp(advice, "+random")) fadvice = POSIX_FADV_RANDOM, madvice = MADV_RANDOM;
    if (advice && !strcmp(advice, "+sequential")) fadvice = POSIX_FADV_SEQUENTIAL, madvice = MADV_SEQUENTIAL;
    if (advice && !strcmp(advice, "+hugepage")) madvice = MADV_HUGEPAGE;
    if (advice && !strcmp(advice, "+populate")) madvice = MADV_POPULATE_READ;

    struct rusage before, after;
    uint64_t device = from_device(), total = 0;
    getrusage(RUSAGE_SELF, &before);
    uint64_t cpu = read_clock(CLOCK_PROCESS_CPUTIME_ID), start = read_clock(CLOCK_MONOTONIC);
    int file = open(path, O_RDONLY);
    if (file < 0) err(1, "%s", path);
    const char *map = 0;
    if (mapping) {
        map = mmap(0, size, PROT_READ, MAP_SHARED, file, 0);
        if (map == MAP_FAILED) err(1, "mmap");
        if (advice && madvise((void *)map, size, madvice)) err(1, "madvise");
    } else if (advice && posix_fadvise(file, 0, 0, fadvice)) err(1, "posix_fadvise");
    /* The compiler must not leave it out. */
    volatile uint64_t untimed = 0;
    for (size_t at = 0; held && mapping && at < size; at += 4096) untimed += map[at];
    if (held) start = read_clock(CLOCK_MONOTONIC), cpu = read_clock(CLOCK_PROCESS_CPUTIME_ID);
    uint64_t opened = read_clock(CLOCK_MONOTONIC);
    if (mapping)
        for (size_t i = 0; i < reads; i++) total += sum(map + offsets[i], block);
    else
        for (size_t i = 0; i < reads; i++) {
            ssize_t got;
            if (lseek_read) {
                if (!scan && lseek(file, offsets[i], SEEK_SET) < 0) err(1, "lseek");
                got = read(file, buffer, block);
            } else got = pread(file, buffer, block, offsets[i]);
            if (got != (ssize_t)block) errx(1, "%zd of %zu bytes at %lu", got, block, offsets[i]);
            total += sum(buffer, block);
        }
    uint64_t worked = read_clock(CLOCK_MONOTONIC);
    uint64_t work_cpu = read_clock(CLOCK_PROCESS_CPUTIME_ID);
    if (mapping) munmap((void *)map, size);
    close(file);
    uint64_t closed = held ? worked : read_clock(CLOCK_MONOTONIC);
    cpu = (held ? work_cpu : read_clock(CLOCK_PROCESS_CPUTIME_ID)) - cpu;
    getrusage(RUSAGE_SELF, &after);

    printf("{\"method\":\"%s\",\"workload\":\"%s\",\"block\":%zu,\"reads\":%zu,\"bytes\":%zu,\"ns\":%lu,\"cpu_ns\":%lu,"
           "\"open_ns\":%lu,\"work_ns\":%lu,\"close_ns\":%lu,\"minor\":%ld,\"major\":%ld,\"device_bytes\":%lu,\"sum\":%lu}\n",
           method, argv[3], block, reads, reads * block, closed - start, cpu, opened - start, worked - opened, closed - worked,
           after.ru_minflt - before.ru_minflt, after.ru_majflt - before.ru_majflt, from_device() - device, total);
}
