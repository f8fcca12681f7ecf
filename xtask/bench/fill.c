/*
 * Brings a file into the page cache in a given way, or says in which folios it lies there.
 *
 *   cc -O3 -pthread -o fill fill.c
 *   ./fill FILE FILL          fills and then says whether every page is resident
 *   ./fill FILE written=SIZE COPY
 *   ./fill FILE evict         fsync(2) and POSIX_FADV_DONTNEED
 *   ./fill FILE folios        sizes of the folios, by /proc/self/pagemap and /proc/kpageflags (root)
 *   ./fill FILE probe [N]     what an ordinary user can see of them, at N places
 *
 *   sequential[=SIZE]         read(2), ascending, in requests of SIZE (1 MiB)
 *   random                    every page once by pread(2) of 4 KiB in random order, under POSIX_FADV_RANDOM
 *   random-queued             the same, after POSIX_FADV_WILLNEED of each page in that order: many requests at once
 *   random-fast[=SIZE]        pread(2) of SIZE (1 MiB), ascending, under POSIX_FADV_RANDOM
 *   random-mixed[=SIZE]       the same in random order
 *   faults                    one byte of each page, ascending, through a mapping
 *   hugepage                  the same after MADV_HUGEPAGE
 *   written=SIZE              a copy of the file written by write(2) of SIZE, then fsync(2), not evicted
 *   read-ahead=SIZE           folios of SIZE without changing a setting: see `steered`
 *   readahead=SIZE, fadvise=SIZE, madvise=SIZE, descending=SIZE, shuffled=SIZE
 *                             readahead(2), POSIX_FADV_WILLNEED, MADV_WILLNEED, and pread(2) without advice, in pieces
 *
 * SIZE is a number of bytes with K or M. All but `written` evict the file first; `sequential`, `random`, `faults` and
 * `written` are the histories that programs have, the others were tried to learn what else leads to the same folios.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096ul
#define HUGE (2ul << 20)

static char buffer[16 << 20] __attribute__((aligned(4096)));
static size_t size;

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static uint64_t state = 0x853c49e6748fea9bull;
static uint64_t next(void) {
    uint64_t z = state += 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}
static size_t below(size_t limit) { return (unsigned __int128)next() * limit >> 64; }

static size_t bytes(const char *text, size_t otherwise) {
    const char *equals = strchr(text, '=');
    if (!equals) return otherwise;
    char *end;
    size_t n = strtoull(equals + 1, &end, 10);
    n <<= *end == 'K' || *end == 'k' ? 10 : *end == 'M' ? 20 : 0;
    if (!n || n > sizeof buffer || n % PAGE) errx(2, "SIZE must be a multiple of 4K, at most 16M: %s", text);
    return n;
}

static int opened(const char *path) {
    int file = open(path, O_RDONLY);
    struct stat st;
    if (file < 0 || fstat(file, &st)) err(1, "%s", path);
    size = st.st_size;
    return file;
}

static void *mapped(int file) {
    void *map = mmap(0, size, PROT_READ, MAP_SHARED, file, 0);
    if (map == MAP_FAILED) err(1, "mmap");
    return map;
}

static size_t resident(int file) {
    size_t pages = (size + PAGE - 1) / PAGE, count = 0;
    unsigned char *in = malloc(pages);
    void *map = mapped(file);
    if (mincore(map, size, in)) err(1, "mincore");
    for (size_t i = 0; i < pages; i++) count += in[i] & 1;
    munmap(map, size);
    free(in);
    return count;
}

static void evict(int file) {
    if (fsync(file)) err(1, "fsync");
    posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    if (resident(file)) errx(1, "%zu pages are not evicted", resident(file));
}

static void take(int file, size_t offset, size_t length) {
    if (offset + length > size) length = size - offset;
    if (pread(file, buffer, length, offset) != (ssize_t)length) err(1, "pread");
}

/* The numbers 0 to n-1 in random order. */
static uint32_t *mixed(size_t n) {
    uint32_t *order = malloc(n * sizeof *order);
    for (size_t i = 0; i < n; i++) order[i] = i;
    for (size_t i = n; i-- > 1;) {
        size_t j = below(i + 1);
        uint32_t t = order[i];
        order[i] = order[j], order[j] = t;
    }
    return order;
}

/*
 * Folios of one size by read(2) alone, whatever the device's read-ahead: `read-ahead=SIZE`.
 *
 * Linux (6.16 and later) keeps for each open file the order of the folios of its next read-ahead: 0 after a miss, and 2 more
 * each time a read meets the mark that the last window left, limited by the size of that window (page_cache_async_ra). A
 * mark that is met out of turn opens a window twice as long as the pages behind it, at most the read-ahead of the device.
 * So: bring the order to that of SIZE less 2 by small windows in a corner at the end of the file, evict the corner again,
 * then meet the mark of the last large window: the next one is made of folios of SIZE, and its first folio carries a mark.
 * The first pages, fewer than one folio of SIZE, lie in smaller ones. It needs a read-ahead of 2 MiB or more: with a smaller
 * one `sequential=4K` makes folios of the read-ahead's size by itself.
 */
/* Pages of `count` from `index` on that are in the page cache or on their way to it: cachestat(2), Linux 6.5. */
static size_t known(int file, size_t index, size_t count) {
    uint64_t range[2] = {index * PAGE, count * PAGE}, stat[5];
    if (syscall(451, file, range, stat, 0)) err(1, "cachestat");
    return stat[0];
}

static void drop(int file, size_t from, size_t count) {
    for (int tries = 0; known(file, from, count); tries++) {
        if (tries == 10000) errx(1, "a part of the file cannot be evicted");
        posix_fadvise(file, from * PAGE, count * PAGE, POSIX_FADV_DONTNEED);
        usleep(20);
    }
}

static int in_cache(unsigned char *map, size_t index) {
    unsigned char in;
    if (mincore(map + index * PAGE, 1, &in)) err(1, "mincore");
    return in & 1;
}

static void await(unsigned char *map, size_t index) {
    for (int tries = 0; !in_cache(map, index); tries++) {
        if (tries == 10000) errx(1, "read-ahead did not reach page %zu: another kernel?", index);
        usleep(20);
    }
}

static void touch(int file, size_t index) { take(file, index * PAGE, PAGE); }

/* Four pages from `index` on, with a mark on the second: what a second read in a row brings, after any other. */
static void start(int file, unsigned char *map, size_t index) {
    touch(file, index - 1);
    touch(file, index);
    await(map, index + 3);
}

static void steered(int file, size_t folio) {
    int order = __builtin_ctzl(folio / PAGE), steps = order / 2 - 1;
    size_t pages = size / PAGE, small = order > 5 ? 512 : 128;
    size_t corner = pages / 512 * 512 - small, mark = 1, hole = 4, longest;
    if (folio & (folio - 1) || order < 2 || order > 8 || order == 3) errx(2, "folios of 16K, 64K, 128K, 256K, 512K or 1M");
    struct stat st;
    char name[64];
    fstat(file, &st);
    snprintf(name, sizeof name, "/sys/class/bdi/%u:%u/read_ahead_kb", major(st.st_dev), minor(st.st_dev));
    FILE *setting = fopen(name, "r");
    if (!setting || fscanf(setting, "%zu", &longest) != 1) err(1, "%s", name);
    longest /= 4;
    if (longest < 512 || pages < 4096) errx(2, "this needs a read-ahead of 2 MiB and a file of 16 MiB");
    unsigned char *map = mapped(file);
    touch(file, 0);
    await(map, 3);
    while (hole < corner) {
        size_t a = corner + 76, b = corner + 22;
        if (order % 2) {
            start(file, map, b);
            drop(file, b + 2, 2);
        }
        start(file, map, a);                        /* order 0 */
        if (order % 2) {
            touch(file, a + 1);                     /* 2 */
            touch(file, b + 1);                     /* 4, cut to 3: a window of eight pages */
            if (order == 7) touch(file, b + 2);     /* 5 */
        } else {
            if (steps > 0) touch(file, a + 1);      /* 2 */
            if (steps > 1) touch(file, a + 4);      /* 4 */
            if (steps > 2) touch(file, a + 20);     /* 6 */
        }
        drop(file, corner, small);
        touch(file, mark);
        /* While the windows are short the kernel begins one page late. */
        mark = hole;
        if (!known(file, hole, 1)) {
            posix_fadvise(file, 0, 0, POSIX_FADV_RANDOM);
            touch(file, hole);
            posix_fadvise(file, 0, 0, POSIX_FADV_NORMAL);
            mark++;
        }
        hole = mark + known(file, mark, pages - mark);
        if (hole == mark) errx(1, "no read-ahead from page %zu on: another kernel?", mark);
        await(map, hole - 1);
    }
    munmap(map, size);
    for (size_t at = hole * PAGE; at < size; at += PAGE) take(file, at, PAGE);
}

static void fill(int file, const char *how, const char *copy) {
    size_t length = bytes(how, 1 << 20), pieces = (size + length - 1) / length;
    volatile const char *map;
    if (!strncmp(how, "written=", 8)) {
        if (!copy) errx(2, "written=SIZE makes a COPY: name it");
        int to = open(copy, O_RDWR | O_CREAT | O_TRUNC, 0600);
        if (to < 0) err(1, "%s", copy);
        for (size_t at = 0; at < size; at += length) {
            ssize_t got = pread(file, buffer, length, at);
            if (got <= 0 || write(to, buffer, got) != got) err(1, "%s", copy);
        }
        if (fsync(to)) err(1, "fsync");
        posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
        dup2(to, file);
        return;
    }
    evict(file);
    if (!strncmp(how, "sequential", 10)) {
        for (size_t i = 0; i < pieces; i++)
            if (read(file, buffer, length) <= 0) err(1, "read");
    } else if (!strncmp(how, "random", 6)) {
        posix_fadvise(file, 0, 0, POSIX_FADV_RANDOM);
        int queued = !strcmp(how, "random-queued");
        if (!strcmp(how, "random") || queued) length = PAGE, pieces = (size + PAGE - 1) / PAGE;
        uint32_t *order = !strncmp(how, "random-fast", 11) ? 0 : mixed(pieces);
        for (size_t i = 0; queued && i < pieces; i++) posix_fadvise(file, order[i] * length, length, POSIX_FADV_WILLNEED);
        for (size_t i = 0; i < pieces; i++) take(file, (order ? order[i] : i) * length, length);
    } else if (!strncmp(how, "shuffled", 8) || !strncmp(how, "descending", 10)) {
        uint32_t *order = *how == 's' ? mixed(pieces) : 0;
        for (size_t i = 0; i < pieces; i++) take(file, (order ? order[i] : pieces - 1 - i) * length, length);
    } else if (!strcmp(how, "faults") || !strcmp(how, "hugepage")) {
        map = mapped(file);
        if (*how == 'h' && madvise((void *)map, size, MADV_HUGEPAGE)) err(1, "MADV_HUGEPAGE");
        for (size_t at = 0; at < size; at += PAGE) map[at];
        munmap((void *)map, size);
    } else if (!strncmp(how, "read-ahead=", 11)) {
        steered(file, length);
    } else if (!strncmp(how, "readahead", 9) || !strncmp(how, "fadvise", 7) || !strncmp(how, "madvise", 7)) {
        map = mapped(file);
        for (size_t at = 0; at < size; at += length) {
            if (*how == 'r') readahead(file, at, length);
            if (*how == 'f') posix_fadvise(file, at, length, POSIX_FADV_WILLNEED);
            if (*how == 'm') madvise((char *)map + at, at + length > size ? size - at : length, MADV_WILLNEED);
        }
        munmap((void *)map, size);
        for (size_t at = 0; at < size; at += PAGE) take(file, at, 1);
    } else errx(2, "unknown fill %s", how);
}

/* Pages by the order of their folio, as root sees it: a head, its tails, and what is neither. */
static void folios(int file) {
    size_t pages = (size + PAGE - 1) / PAGE, histogram[16] = {0}, count = 0, breaks = 0;
    volatile const char *map = mapped(file);
    for (size_t at = 0; at < size; at += PAGE) map[at];
    int pagemap = open("/proc/self/pagemap", O_RDONLY), kpageflags = open("/proc/kpageflags", O_RDONLY);
    if (pagemap < 0 || kpageflags < 0) err(1, "/proc/kpageflags");
    uint64_t *entries = malloc(pages * 8), last = 0, flags;
    if (pread(pagemap, entries, pages * 8, (uintptr_t)map / PAGE * 8) != (ssize_t)(pages * 8)) err(1, "pagemap");
    for (size_t i = 0; i <= pages; i++) {
        int tail = 0;
        if (i < pages) {
            uint64_t frame = entries[i] & ((1ull << 55) - 1);
            if (!frame) errx(1, "no frame number: this needs CAP_SYS_ADMIN");
            if (pread(kpageflags, &flags, 8, frame * 8) != 8) err(1, "kpageflags");
            tail = flags >> 16 & 1;
            breaks += frame != last + 1;
            last = frame;
        }
        if (!tail && count) {
            int order = 0;
            while (1ul << order < count) order++;
            histogram[order] += count;
            count = 0;
        }
        count++;
    }
    printf("folios:");
    for (int order = 0; order < 16; order++)
        if (histogram[order]) printf(" %luK %.2f%%", 4ul << order, 100.0 * histogram[order] / pages);
    printf("; pages in a row in memory: %.1f\n", (double)pages / breaks);
    munmap((void *)map, size);
}

/*
 * The pages that one touch of a fresh mapping maps, at `samples` random places: `mapped[k]` counts touches after which
 * more than 2^(k-1) and at most 2^k pages of the 2 MiB around were present. Every user may read the present bit of the pages of
 * his own process. Folios of 64 KiB and less look alike, because the kernel maps 64 KiB around a fault anyway: `single_pages`
 * tells those of 4 KiB from the others.
 * A touch that finds nothing in the page cache reads from the device: call it only where everything is resident.
 */
static void pages_per_fault(int file, size_t samples, size_t mapped_pages[10]) {
    char *map = mapped(file);
    int pagemap = open("/proc/self/pagemap", O_RDONLY);
    uint64_t entries[HUGE / PAGE];
    for (size_t i = 0; i < samples; i++) {
        size_t places = size / PAGE, at = below(places) * PAGE;
        char *around = (char *)((uintptr_t)(map + at) & ~(HUGE - 1));
        *(volatile char *)(map + at);
        ssize_t got = pread(pagemap, entries, sizeof entries, (uintptr_t)around / PAGE * 8);
        size_t present = 0;
        for (ssize_t k = 0; k < got / 8; k++) {
            char *where = around + k * PAGE;
            present += where >= map && where < map + size && entries[k] >> 63;
        }
        int k = 0;
        while (1ul << k < present) k++;
        mapped_pages[k]++;
        char *from = around < map ? map : around, *to = around + HUGE > map + size ? map + size : around + HUGE;
        madvise(from, to - from, MADV_DONTNEED);
    }
    close(pagemap);
    munmap(map, size);
}

/*
 * The share of sampled pages that are folios of their own. POSIX_FADV_DONTNEED drops a folio only if all of it lies in the
 * range: of one page's range, a folio of that page alone. It is read again under POSIX_FADV_RANDOM, which makes the same
 * folio again, so the file lies as before. A page that is mapped, dirty or locked by a process stays and is counted as part
 * of something larger.
 */
static double single_pages(const char *path, size_t samples) {
    int file = opened(path);
    posix_fadvise(file, 0, 0, POSIX_FADV_RANDOM);
    char *map = mapped(file);
    size_t single = 0;
    for (size_t i = 0; i < samples; i++) {
        size_t at = below(size / PAGE) * PAGE;
        unsigned char in = 1;
        posix_fadvise(file, at, PAGE, POSIX_FADV_DONTNEED);
        if (mincore(map + at, 1, &in)) err(1, "mincore");
        if (!(in & 1)) single++, take(file, at, PAGE);
    }
    munmap(map, size);
    close(file);
    return (double)single / samples;
}

int main(int argc, char **argv) {
    if (argc < 3) errx(2, "usage: fill FILE FILL [COPY | N]");
    int file = opened(argv[1]);
    uint64_t start = now();
    if (!strcmp(argv[2], "folios")) {
        folios(file);
    } else if (!strcmp(argv[2], "probe")) {
        size_t samples = argc > 3 ? strtoull(argv[3], 0, 0) : 200, counts[10] = {0};
        pages_per_fault(file, samples, counts);
        uint64_t middle = now();
        printf("pages mapped by a fault, at most:");
        for (int k = 0; k < 10; k++)
            if (counts[k]) printf(" %d: %.1f%%", 1 << k, 100.0 * counts[k] / samples);
        printf("; %.1f us a place", (middle - start) / 1e3 / samples);
        double single = single_pages(argv[1], samples);
        if (single < 0) printf("; folios of one page: not known, the file is not this user's\n");
        else printf("; folios of one page: %.1f%%, %.1f us a place\n", 100 * single, (now() - middle) / 1e3 / samples);
    } else if (!strcmp(argv[2], "evict")) {
        evict(file);
    } else {
        fill(file, argv[2], argc > 3 ? argv[3] : 0);
        uint64_t filled = now();
        size_t in = resident(file), pages = (size + PAGE - 1) / PAGE;
        printf("%s: %zu of %zu pages resident, %.3f s\n", argv[2], in, pages, (filled - start) / 1e9);
        if (in != pages) return 1;
    }
    return 0;
}
