package main

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"unsafe"
)

// MADV_POPULATE_READ (Linux 5.14), for which the standard library has no name.
const populateRead = 22

// mapping maps a window of a file for all passes, or within one: the pages that hold its range, and no others.
type mapping struct {
	bytes []byte
	// Where the first mapped page begins in the file.
	base uint64
}

func mapRange(fd int, offset, bytes uint64, protection, flags int) (*mapping, error) {
	base := offset - offset%uint64(pageBytes)
	made, err := syscall.Mmap(fd, int64(base), int(offset+bytes-base), protection, flags)
	if err != nil {
		return nil, os.NewSyscallError("mmap(2)", err)
	}
	return &mapping{made, base}, nil
}

func (m *mapping) unmap() error { return syscall.Munmap(m.bytes) }

// at is a block of the file, in place.
func (m *mapping) at(offset, length uint64) []byte {
	from := offset - m.base
	return m.bytes[from : from+length : from+length]
}

func (m *mapping) holds(address uintptr) bool {
	start := uintptr(unsafe.Pointer(unsafe.SliceData(m.bytes)))
	return address >= start && address-start < uintptr(len(m.bytes))
}

// pin locks the pages in memory.
func (m *mapping) pin() error {
	if err := syscall.Mlock(m.bytes); err != nil {
		return unavailable(fmt.Sprintf("%d bytes could not be locked in memory: mlock(2): %v; see ulimit -l", len(m.bytes), err))
	}
	return nil
}

// pages are those that hold a block, from the start of the first one.
func (m *mapping) pages(offset, length uint64) []byte {
	from := (offset - m.base) / uint64(pageBytes) * uint64(pageBytes)
	return m.bytes[from : offset-m.base+length]
}

func advise(bytes []byte, advice int, name string) error {
	err := syscall.Madvise(bytes, advice)
	switch {
	case err == nil:
		return nil
	case advice == populateRead && err == syscall.EINVAL:
		return unavailable("MADV_POPULATE_READ needs Linux 5.14")
	case advice == populateRead && err == syscall.EFAULT:
		// What is SIGBUS where the processor meets it.
		return fmt.Errorf("%w: madvise(%s): %w", errGone, name, err)
	case advice == syscall.MADV_HUGEPAGE && err == syscall.EINVAL:
		return unavailable("madvise(MADV_HUGEPAGE): this kernel has no transparent huge pages")
	}
	return fmt.Errorf("madvise(%s): %w", name, err)
}

var errGone = errors.New("a mapped page could not be had: the file was truncated, or a read from the device failed")

// A mapper is the method mmap: each block in place, or copied to memory of the process's own first.
type mapper struct {
	flags    int
	advice   int
	called   string
	populate bool
	// The pages of each block come by a system call before the block is looked at, during which the goroutine can give its
	// processor up. A page fault is none.
	faultsByCall bool
	// Nothing where blocks are consumed in place.
	room []byte
}

func mappedWay(j *job) (way, error) {
	use, err1 := j.word("use", "in-place", "copy")
	advice, err2 := j.word("advice", "normal", "sequential", "random", "willneed", "hugepage")
	populate, err3 := j.word("populate", "no", "map-populate", "populate-read")
	fault, err4 := j.word("fault", "go", "syscall")
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return nil, err
	}
	w := &mapper{flags: syscall.MAP_SHARED, populate: populate == "populate-read", faultsByCall: fault == "syscall"}
	if populate == "map-populate" {
		w.flags |= syscall.MAP_POPULATE
	}
	switch advice {
	case "sequential":
		w.advice, w.called = syscall.MADV_SEQUENTIAL, "MADV_SEQUENTIAL"
	case "random":
		w.advice, w.called = syscall.MADV_RANDOM, "MADV_RANDOM"
	case "willneed":
		w.advice, w.called = syscall.MADV_WILLNEED, "MADV_WILLNEED"
	case "hugepage":
		w.advice, w.called = syscall.MADV_HUGEPAGE, "MADV_HUGEPAGE"
	}
	// Does to one page what the pass will do to all.
	tried, err := w.mapped(j.File, j.Range.Offset, 1)
	if err != nil {
		return nil, err
	}
	if w.faultsByCall {
		err = advise(tried.pages(j.Range.Offset, 1), populateRead, "MADV_POPULATE_READ")
	}
	if err := errors.Join(err, tried.close()); err != nil {
		return nil, err
	}
	if use == "copy" {
		w.room, err = memoryOf(j.BlockBytes)
	}
	return w, err
}

func (w *mapper) open(j *job, beside access) (access, error) {
	if other, ok := beside.(*mapped); ok {
		return &mapped{mapping: other.mapping, faultsByCall: w.faultsByCall, room: w.room}, nil
	}
	return w.mapped(j.File, j.Range.Offset, j.Range.Bytes)
}

func (w *mapper) mapped(path string, offset, bytes uint64) (*mapped, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	made, err := mapRange(int(file.Fd()), offset, bytes, syscall.PROT_READ, w.flags)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	it := &mapped{mapping: made, file: file, faultsByCall: w.faultsByCall, room: w.room}
	// Each is one call over the whole mapping, as programs make it, and none at all is not MADV_NORMAL.
	if w.called != "" {
		err = advise(made.bytes, w.advice, w.called)
	}
	if err == nil && w.populate {
		err = advise(made.bytes, populateRead, "MADV_POPULATE_READ")
	}
	if err != nil {
		return nil, errors.Join(err, it.close())
	}
	return it, nil
}

type mapped struct {
	*mapping
	// Nothing where another thread has opened it.
	file         *os.File
	faultsByCall bool
	room         []byte
}

func (it *mapped) pass(o *offsets, c *consumer, n *count) error {
	n.ops = o.blocks
	if it.faultsByCall {
		return walk(it, o, c, n)
	}
	it.withoutCalls(o, c, n)
	return nil
}

// withoutCalls is a loop of its own: a call through an interface for each block would show in small ones.
func (it *mapped) withoutCalls(o *offsets, c *consumer, n *count) {
	if it.room == nil && c.does == touch && c.percent == 100 && !o.random {
		it.touchInOrder(o, n)
		return
	}
	for left := o.blocks; left > 0; left-- {
		offset := o.next()
		used, checksum := c.take(it.block(offset, o.length(offset)))
		n.bytes += used
		n.checksum += checksum
	}
}

// block is in place, or copied.
func (it *mapped) block(offset, length uint64) []byte {
	block := it.at(offset, length)
	if it.room == nil {
		return block
	}
	return it.room[:copy(it.room, block)]
}

// touchInOrder is `touch` of a scan, which takes some nanoseconds a page. A processor waits for many pages at once, as long as few
// instructions lie between them: so nothing is done for each block that can be done for all up to the end of the range.
func (it *mapped) touchInOrder(o *offsets, n *count) {
	for left := o.blocks; left > 0; {
		here := o.following
		whole := min(left, (o.end-here)/o.block)
		bytes, checksum := touchedWhole(it.at(here, whole*o.block), o.block)
		left, here = left-whole, here+bytes
		if left > 0 && here < o.end {
			rest := it.at(here, o.end-here)
			bytes, checksum = bytes+uint64(len(rest)), checksum+touched(rest)
			left, here = left-1, o.end
		}
		if here == o.end {
			here = o.start
		}
		o.following = here
		n.bytes += bytes
		n.checksum += checksum
	}
}

// touchedWhole touches one block after the other, all of one length. In line, its sums would go to memory and back with each block.
//
//go:noinline
func touchedWhole(all []byte, length uint64) (bytes, checksum uint64) {
	for ; bytes < uint64(len(all)); bytes += length {
		checksum += touched(all[bytes : bytes+length])
	}
	return bytes, checksum
}

func (it *mapped) view(offset uint64, length int) ([]byte, error) {
	if err := advise(it.pages(offset, uint64(length)), populateRead, "MADV_POPULATE_READ"); err != nil {
		return nil, err
	}
	return it.block(offset, uint64(length)), nil
}

func (it *mapped) lock() (bool, error) { return true, it.pin() }

// close goes backwards, as in a program that closes what it opened in the opposite order.
func (it *mapped) close() error { return errors.Join(it.unmap(), it.file.Close()) }
