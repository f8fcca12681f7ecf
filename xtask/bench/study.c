/*
 * One pass of a published program, with its mistakes mended, in a process of its own: an independent check of what the
 * studies say about time.
 *
 *   cc -O3 -falign-loops=64 -o study study.c
 *   ./study FILE METHOD WORK BLOCK OPS SEED [CONSUME] [held] [sync=each|sync=end] [from=BYTES]
 *
 *   METHOD    reading: read, pread, mmap, mmap+willneed, mmap+private, stdio, stdio-mmap (fopen with "rm")
 *             writing: write, write+o-sync, pwrite, mmap
 *   WORK      scan       OPS blocks in ascending order
 *             random     OPS blocks at multiples of BLOCK; unaligned: anywhere
 *             update     OPS blocks in ascending order: read, each byte (b + 5) % 250, written back
 *             overwrite  OPS blocks in ascending order
 *   OPS       0: the whole file
 *   CONSUME   sum (64-bit words), copy, lines (newlines are counted)
 *   held      the file is open, and the same pass was made before; the time is that of the reads, which must have no minor
 *             faults
 *   sync      each: O_SYNC (method write+o-sync) or MS_SYNC after every block; end: fsync(2) or MS_SYNC before the end
 *   from      of an update: where its first block lies, 0 without it
 *
 * An update through a mapping maps each block and unmaps it; an overwrite maps the file once. It leaves the page cache as it
 * is: fill.c brings the file there. The time is from open(2) to close(2). Buffers and offsets are made and touched before.
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

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* splitmix64: one state word, every seed is good. */
static uint64_t next(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

/* As fast as memory, as a worker's, so that the method decides and not the loop: of one sum gcc makes additions that wait for each
 * other, half of a mapping's time in a cached file. Not inlined: every method runs the same instructions over its bytes. */
typedef uint64_t words __attribute__((vector_size(16), may_alias, aligned(1)));

__attribute__((noinline)) static uint64_t sum(const unsigned char *bytes, size_t length) {
    uint64_t total = 0, word;
    words lanes[4] = {{0}};
    size_t i = 0;
    /* Of a shorter block, the sums of the parts cost more than the additions. */
    if (length >= 512) {
        for (; i + sizeof lanes <= length; i += sizeof lanes)
            for (int k = 0; k < 4; k++) lanes[k] += *(const words *)(bytes + i + sizeof *lanes * k);
        for (int k = 0; k < 4; k++) total += lanes[k][0] + lanes[k][1];
    }
    for (; i + 8 <= length; i += 8) {
        memcpy(&word, bytes + i, 8);
        total += word;
    }
    return total;
}

/* As fast as memory, too: of one byte after the other gcc makes a loop that counts slower than memory delivers, and that on some
 * processors waits for each line of a mapping. */
typedef unsigned char lanes __attribute__((vector_size(32)));
enum { STEPS = 255 };

__attribute__((noinline, target_clones("avx2", "default"))) static uint64_t lines(const unsigned char *bytes, size_t length) {
    uint64_t total = 0;
    size_t i = 0;
    while (i + sizeof(lanes) <= length) {
        lanes seen = {0}, next;
        for (int step = 0; step < STEPS && i + sizeof next <= length; step++, i += sizeof next) {
            __builtin_prefetch(bytes + i + 1024);
            memcpy(&next, bytes + i, sizeof next);
            seen -= (lanes)(next == '\n');
        }
        for (size_t lane = 0; lane < sizeof seen; lane++) total += seen[lane];
    }
    for (; i < length; i++) total += bytes[i] == '\n';
    return total;
}

/* (byte + 5) % 250, without a division: compilers make from 2 to 32 us of 64 KiB of that (LLVM 1.8, as of this; gcc -O3 8, -O2 32),
 * and a study about system calls is not about those. Of `byte < 245 ? byte + 5 : byte - 245` gcc makes 2.9. */
__attribute__((noinline)) static void change(unsigned char *bytes, size_t length) {
    for (size_t i = 0; i < length; i++) bytes[i] = (unsigned char)(bytes[i] + (bytes[i] > 244 ? 11 : 5));
}

enum consume { SUM, COPY, LINES };

/* Bytes that a call has copied already are a program's own. What it does with them, and where a copy goes, are arguments: the
 * barrier below has variables in memory read again for each block. */
static inline uint64_t take(const unsigned char *bytes, size_t length, int own, enum consume consume, unsigned char *copy) {
    switch (consume) {
    case SUM: return sum(bytes, length);
    case LINES: return lines(bytes, length);
    case COPY:
        if (!own) bytes = memcpy(copy, bytes, length);
        __asm__ volatile("" : : "r"(bytes) : "memory");
        return bytes[0] + bytes[length - 1];
    }
    return 0;
}

static unsigned char *buffer_of(size_t bytes) {
    size_t whole = (bytes + 4095) / 4096 * 4096;
    unsigned char *buffer = aligned_alloc(4096, whole);
    if (!buffer) err(1, "memory");
    memset(buffer, 1, whole);
    return buffer;
}

static void *mapped(size_t bytes, int writes, int private, int file, off_t at) {
    void *map = mmap(0, bytes, PROT_READ | (writes ? PROT_WRITE : 0), private ? MAP_PRIVATE : MAP_SHARED, file, at);
    if (map == MAP_FAILED) err(1, "mmap");
    return map;
}

#define MUST(what) do { if ((what) < 0) err(1, #what); } while (0)
#define WHOLE(what, bytes) do { if ((what) != (ssize_t)(bytes)) err(1, #what); } while (0)

int main(int argc, char **argv) {
    if (argc < 7) errx(2, "usage: study FILE METHOD WORK BLOCK OPS SEED [sum|copy|lines] [held] [sync=each|sync=end]");
    const char *path = argv[1], *method = argv[2], *work = argv[3], *sync = "";
    size_t block = strtoull(argv[4], 0, 0), ops = strtoull(argv[5], 0, 0);
    uint64_t seed = strtoull(argv[6], 0, 0), check = 0;
    int held = 0;
    off_t from = 0;
    enum consume consume = SUM;
    for (int i = 7; i < argc; i++) {
        if (!strcmp(argv[i], "held")) held = 1;
        else if (!strncmp(argv[i], "sync=", 5)) sync = argv[i] + 5;
        else if (!strncmp(argv[i], "from=", 5)) from = strtoull(argv[i] + 5, 0, 0);
        else if (!strcmp(argv[i], "copy")) consume = COPY;
        else if (!strcmp(argv[i], "lines")) consume = LINES;
        else if (strcmp(argv[i], "sum")) errx(2, "unknown word %s", argv[i]);
    }
    int mapping = !strncmp(method, "mmap", 4), stdio = !strncmp(method, "stdio", 5);
    int update = !strcmp(work, "update"), overwrite = !strcmp(work, "overwrite"), writes = update || overwrite;
    int random = !strcmp(work, "random"), unaligned = !strcmp(work, "unaligned");
    int o_sync = strstr(method, "o-sync") != 0, private = strstr(method, "private") != 0;
    int each = !strcmp(sync, "each"), end = !strcmp(sync, "end");
    struct stat st;
    if (stat(path, &st)) err(1, "%s", path);
    size_t size = st.st_size - from, places = size / block;
    if (!block || !places) errx(2, "BLOCK must be at most the file");
    if (!ops || (!random && !unaligned && ops > places)) ops = places;
    size_t reached = random || unaligned ? size : ops * block;

    uint64_t *offsets = malloc(ops * sizeof *offsets);
    for (size_t i = 0; i < ops; i++)
        offsets[i] = random ? (uint64_t)((unsigned __int128)next(&seed) * places >> 64) * block
                   : unaligned ? (uint64_t)((unsigned __int128)next(&seed) * (size - block + 1) >> 64)
                               : from + i * block;
    unsigned char *buffer = buffer_of(block);
    unsigned char *const copy = buffer_of(block);
    for (size_t i = 0; i < block; i++) buffer[i] = i * 31 + seed;

    int file = -1;
    unsigned char *map = 0;
    FILE *stream = 0;
    struct rusage before, used;
    uint64_t part[3] = {0}, begun = 0;
    for (int warm = held; warm >= 0; warm--) {
        if (!held || warm) {
            if (!held) begun = now();
            if (stdio) {
                stream = fopen(path, strcmp(method, "stdio") ? "rm" : "r");
                if (!stream) err(1, "fopen");
            } else {
                MUST(file = open(path, (writes ? O_RDWR : O_RDONLY) | (o_sync ? O_SYNC : 0)));
                if (from) MUST(lseek(file, from, SEEK_SET));
            }
            if (mapping && !update) {
                map = mapped(reached, writes, private, file, 0);
                if (strstr(method, "willneed")) MUST(madvise(map, reached, MADV_WILLNEED));
            }
        }
        getrusage(RUSAGE_SELF, &before);
        if (held) begun = now();
        check = 0;
        /* A block of 64 B takes 3 ns of a mapping, and a list of offsets and the choice below one more. */
        int plain = mapping && !writes && !random && !unaligned;
        for (size_t at = 0; plain && at < reached; at += block) check += take(map + at, block, 0, consume, copy);
        for (size_t i = plain ? ops : 0; i < ops; i++) {
            off_t at = offsets[i];
            if (update) {
                uint64_t first = now();
                size_t before = at & 4095, length = before + block;
                unsigned char *bytes = buffer;
                if (mapping) bytes = (unsigned char *)mapped(length, 1, 0, file, at - before) + before;
                else WHOLE(read(file, buffer, block), block);
                uint64_t second = now();
                change(bytes, block);
                uint64_t third = now();
                if (mapping) {
                    if (each) MUST(msync(bytes - before, length, MS_SYNC));
                    MUST(munmap(bytes - before, length));
                } else {
                    MUST(lseek(file, at, SEEK_SET));
                    WHOLE(write(file, buffer, block), block);
                }
                part[0] += second - first;
                part[1] += third - second;
                part[2] += now() - third;
            } else if (overwrite) {
                if (mapping) {
                    memcpy(map + at, buffer, block);
                    if (each) MUST(msync(map + (at & ~4095l), block + (at & 4095), MS_SYNC));
                } else {
                    WHOLE(pwrite(file, buffer, block, at), block);
                }
            } else if (mapping) {
                check += take(map + at, block, 0, consume, copy);
            } else if (stdio) {
                if (fread(buffer, 1, block, stream) != block) err(1, "fread");
                check += take(buffer, block, 1, consume, copy);
            } else if (!strcmp(method, "pread")) {
                WHOLE(pread(file, buffer, block, at), block);
                check += take(buffer, block, 1, consume, copy);
            } else {
                if (random || unaligned) MUST(lseek(file, at, SEEK_SET));
                WHOLE(read(file, buffer, block), block);
                check += take(buffer, block, 1, consume, copy);
            }
        }
        if (warm) {
            /* As a worker, which begins its pass with nothing to be written back. */
            if (writes) MUST(fsync(file));
            continue;
        }
        if (end) {
            if (map) MUST(msync(map, reached, MS_SYNC));
            else MUST(fsync(file));
        }
        if (held) {
            begun = now() - begun;
        } else {
            if (map) MUST(munmap(map, reached));
            if (stream) fclose(stream);
            else close(file);
            begun = now() - begun;
        }
    }
    getrusage(RUSAGE_SELF, &used);
    printf("{\"ns\":%lu,\"read_ns\":%lu,\"loop_ns\":%lu,\"write_ns\":%lu,\"minor_faults\":%ld,\"check\":\"%016lx\"}\n", begun,
           part[0], part[1], part[2], used.ru_minflt - before.ru_minflt, check);
    return 0;
}
