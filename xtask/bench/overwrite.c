// What one small overwrite costs in a file whose pages are all in the page cache: so many blocks at random places of its
// first bytes, by pwrite(2) or by stores through a shared mapping, from open to close. Nothing is synced within the time;
// the file is synced after it.
//
// overwrite FILE pwrite|mmap BLOCK OPS RANGE SEED, prints nanoseconds for a block.
//
// It shares no code with faultline.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

static uint64_t next(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

static void check(int bad, const char *what) {
    if (bad) {
        perror(what);
        exit(1);
    }
}

int main(int argc, char **argv) {
    if (argc != 7) {
        fprintf(stderr, "overwrite FILE pwrite|mmap BLOCK OPS RANGE SEED\n");
        return 2;
    }
    const int mapped = !strcmp(argv[2], "mmap");
    const uint64_t block = strtoull(argv[3], 0, 10), ops = strtoull(argv[4], 0, 10), range = strtoull(argv[5], 0, 10);
    uint64_t state = strtoull(argv[6], 0, 10) * 0x9e3779b97f4a7c15u + 1;
    char *buffer = malloc(block);
    memset(buffer, 0x5a, block);

    const double begin = now_ns();
    const int fd = open(argv[1], O_RDWR);
    check(fd < 0, "open");
    char *map = 0;
    if (mapped) {
        map = mmap(0, range, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        check(map == MAP_FAILED, "mmap");
    }
    for (uint64_t i = 0; i < ops; i++) {
        const uint64_t at = next(&state) % (range / block) * block;
        if (mapped)
            memcpy(map + at, buffer, block);
        else
            check(pwrite(fd, buffer, block, at) != (ssize_t)block, "pwrite");
    }
    if (mapped) check(munmap(map, range), "munmap");
    close(fd);
    printf("%.0f\n", (now_ns() - begin) / ops);

    const int again = open(argv[1], O_RDWR);
    check(again < 0 || fsync(again), "fsync");
    return 0;
}
