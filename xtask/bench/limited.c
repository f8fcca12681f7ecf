/*
 * Passes of random 4 KiB reads over a file that is larger than the memory they may use: an independent check of what the
 * tool says in state `limited`.
 *
 *   cc -O3 -o limited limited.c
 *   (echo 0 > GROUP/cgroup.procs && ./limited FILE METHOD READS PASSES SEED)
 *
 *   METHOD    pread or mmap; with +random: POSIX_FADV_RANDOM or MADV_RANDOM
 *   GROUP     a memory cgroup below the file's size, made by hand (memory.limit_in_bytes, or memory.max)
 *
 * The file is evicted first, so that its pages are charged to the group. Every pass has offsets of its own. Per pass: the
 * time per read, bytes from the device per byte reached (/proc/self/io), and major faults and voluntary
 * switches per read.
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

#define PAGE 4096ul

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static uint64_t next(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

static uint64_t from_device(void) {
    char line[128];
    uint64_t bytes = 0;
    FILE *io = fopen("/proc/self/io", "r");
    if (!io) err(1, "/proc/self/io");
    while (fgets(line, sizeof line, io)) sscanf(line, "read_bytes: %lu", &bytes);
    fclose(io);
    return bytes;
}

static struct rusage used(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage;
}

int main(int argc, char **argv) {
    if (argc != 6) errx(2, "usage: limited FILE METHOD READS PASSES SEED");
    int mapping = !strncmp(argv[2], "mmap", 4), advised = strstr(argv[2], "+random") != 0;
    if (!mapping && strncmp(argv[2], "pread", 5)) errx(2, "unknown method %s", argv[2]);
    size_t reads = strtoull(argv[3], 0, 0), passes = strtoull(argv[4], 0, 0);
    uint64_t seed = strtoull(argv[5], 0, 0), total = 0;
    struct stat st;
    int file = open(argv[1], O_RDONLY);
    if (file < 0 || fstat(file, &st)) err(1, "%s", argv[1]);
    size_t pages = st.st_size / PAGE;
    if (fsync(file) || posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED)) err(1, "evicting");
    char *map = 0, *buffer = aligned_alloc(PAGE, PAGE);
    memset(buffer, 1, PAGE);
    if (mapping) {
        map = mmap(0, pages * PAGE, PROT_READ, MAP_SHARED, file, 0);
        if (map == MAP_FAILED) err(1, "mmap");
        if (advised && madvise(map, pages * PAGE, MADV_RANDOM)) err(1, "madvise");
    } else if (advised && posix_fadvise(file, 0, 0, POSIX_FADV_RANDOM)) err(1, "posix_fadvise");
    for (size_t pass = 1; pass <= passes; pass++) {
        uint64_t device = from_device(), start = now();
        struct rusage before = used();
        for (size_t i = 0; i < reads; i++) {
            size_t page = (unsigned __int128)next(&seed) * pages >> 64;
            if (!mapping && pread(file, buffer, PAGE, page * PAGE) != (ssize_t)PAGE) err(1, "pread");
            const char *bytes = mapping ? map + page * PAGE : buffer;
            for (size_t at = 0; at < PAGE; at += sizeof(uint64_t)) total += *(const uint64_t *)(bytes + at);
        }
        uint64_t took = now() - start;
        printf("pass %zu: %.2f us a read, %.4f device bytes per byte, %.4f major faults and %.4f waits a read\n", pass, took / 1e3 / reads,
               (double)(from_device() - device) / (reads * PAGE), (double)(used().ru_majflt - before.ru_majflt) / reads,
               (double)(used().ru_nvcsw - before.ru_nvcsw) / reads);
    }
    fprintf(stderr, "sum %lx\n", total);
}
