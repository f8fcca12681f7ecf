package main

import (
	"bufio"
	"errors"
	"io"
	"math"
	"os"
	"syscall"
)

// In the order in which hello names them.
var methods = []string{"read", "readat", "pread", "bufio", "scanner", "direct", "mmap", "pwrite", "mmap-store"}

// An access is a file that a method has open.
type access interface {
	// pass makes a thread's share of a pass.
	pass(o *offsets, c *consumer, n *count) error
	// lock pins the pages of its own mapping; false where it has none.
	lock() (bool, error)
	// holds says whether an address is in its mapping.
	holds(address uintptr) bool
	close() error
}

// A way is how a method opens the file within a pass, with everything that comes before it made already: for one thread.
type way interface {
	// open shares what another thread of a pass has open, if there is one.
	open(j *job, beside access) (access, error)
}

// count is what a thread did.
type count struct {
	ops, bytes, checksum uint64
	// Of an update: until the block is there, its change, until it is written.
	readNs, loopNs, writeNs int64
}

func (n *count) add(other *count) {
	n.ops += other.ops
	n.bytes += other.bytes
	n.checksum += other.checksum
	n.readNs += other.readNs
	n.loopNs += other.loopNs
	n.writeNs += other.writeNs
}

var errShorter = errors.New("the file was truncated after the pass was prepared")

func wayOf(j *job) (way, error) {
	switch j.Method {
	case "pwrite", "mmap-store":
		if !j.writes() {
			return nil, unavailable(j.Method + " only writes")
		}
		return writingWay(j)
	}
	if j.writes() {
		return nil, unavailable(j.Method + " only reads")
	}
	switch j.Method {
	case "mmap":
		return mappedWay(j)
	case "direct":
		return directWay(j)
	case "scanner":
		return scannerWay(j)
	}
	return callsWay(j)
}

// A caller reaches blocks by calls that read into memory of the process's own.
type caller interface {
	// view is the block, all of it: a file that ends early is an error.
	view(offset uint64, length int) ([]byte, error)
}

func walk(by caller, o *offsets, c *consumer, n *count) error {
	for left := o.blocks; left > 0; left-- {
		offset := o.next()
		block, err := by.view(offset, int(o.length(offset)))
		if err != nil {
			return err
		}
		used, checksum := c.take(block)
		n.bytes += used
		n.checksum += checksum
	}
	n.ops = o.blocks
	return nil
}

// unmapped is what accesses without a mapping have in common.
type unmapped struct{}

func (unmapped) lock() (bool, error)  { return false, nil }
func (unmapped) holds(_ uintptr) bool { return false }

// calls are the ways by one call for each block.
type calls struct {
	method string
	room   []byte
	// Of bufio; the file is set when it is opened.
	reader *bufio.Reader
}

func callsWay(j *job) (way, error) {
	switch j.Method {
	case "read", "bufio":
		if j.shares() {
			return nil, unavailable(j.Method + " keeps one position per open file, so threads cannot share it; readat can")
		}
	case "readat", "pread":
	default:
		return nil, unavailable("the Go worker has no method " + j.Method)
	}
	// Once before the clock: with its first file the runtime makes what it waits for descriptors with.
	if file, err := os.Open(j.File); err != nil {
		return nil, err
	} else {
		file.Close()
	}
	room, err := memoryOf(j.BlockBytes)
	if err != nil {
		return nil, err
	}
	way := &calls{method: j.Method, room: room}
	if j.Method == "bufio" {
		way.reader = bufio.NewReader(nil)
	}
	return way, nil
}

func (w *calls) open(j *job, beside access) (access, error) {
	if w.method == "pread" {
		return openPread(j.File, 0, w.room, beside)
	}
	if w.method == "readat" {
		if other, ok := beside.(*readAt); ok {
			return &readAt{file: other.file, room: w.room}, nil
		}
	}
	file, err := os.Open(j.File)
	switch {
	case err != nil:
		return nil, err
	case w.method == "readat":
		return &readAt{file: file, room: w.room}, nil
	case w.method == "read":
		return &positioned{file: file, from: file, room: w.room}, nil
	default:
		w.reader.Reset(file)
		return &positioned{file: file, from: w.reader, buffer: w.reader, room: w.room}, nil
	}
}

// positioned reads at the file's own position, directly or by a bufio.Reader; it seeks when the workload jumps.
type positioned struct {
	unmapped
	file *os.File
	from io.Reader
	// Nothing where it reads directly.
	buffer   *bufio.Reader
	room     []byte
	position uint64
}

func (it *positioned) pass(o *offsets, c *consumer, n *count) error { return walk(it, o, c, n) }

func (it *positioned) view(offset uint64, length int) ([]byte, error) {
	if offset != it.position {
		// Unknown until the block is read: an error in between must not leave a position that is wrong.
		it.position = math.MaxUint64
		if _, err := it.file.Seek(int64(offset), io.SeekStart); err != nil {
			return nil, err
		}
		if it.buffer != nil {
			it.buffer.Reset(it.file)
		}
	}
	block := it.room[:length]
	if _, err := io.ReadFull(it.from, block); err != nil {
		return nil, ended(err)
	}
	it.position = offset + uint64(length)
	return block, nil
}

func (it *positioned) close() error { return it.file.Close() }

// ended says what an early end of the file is.
func ended(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return errShorter
	}
	return err
}

// readAt is os.File.ReadAt.
type readAt struct {
	unmapped
	file *os.File
	room []byte
}

func (it *readAt) pass(o *offsets, c *consumer, n *count) error { return walk(it, o, c, n) }

func (it *readAt) view(offset uint64, length int) ([]byte, error) {
	block := it.room[:length]
	if _, err := it.file.ReadAt(block, int64(offset)); err != nil {
		return nil, ended(err)
	}
	return block, nil
}

func (it *readAt) close() error { return it.file.Close() }

// pread is syscall.Pread of a descriptor that the runtime knows nothing of.
type pread struct {
	unmapped
	fd   int
	room []byte
}

func openPread(path string, flags int, room []byte, beside access) (access, error) {
	if other, ok := beside.(*pread); ok {
		return &pread{fd: other.fd, room: room}, nil
	}
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC|flags, 0)
	if err != nil {
		return nil, os.NewSyscallError("open(2)", err)
	}
	return &pread{fd: fd, room: room}, nil
}

func (it *pread) pass(o *offsets, c *consumer, n *count) error { return walk(it, o, c, n) }

func (it *pread) view(offset uint64, length int) ([]byte, error) {
	block := it.room[:length]
	return block, readFully(it.fd, block, length, offset)
}

func (it *pread) close() error { return syscall.Close(it.fd) }

// readFully reads so much at least, by as many calls as it takes.
func readFully(fd int, room []byte, needed int, offset uint64) error {
	for done := 0; done < needed; {
		read, err := syscall.Pread(fd, room[done:], int64(offset)+int64(done))
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return os.NewSyscallError("pread(2)", err)
		case read == 0:
			return errShorter
		default:
			done += read
		}
	}
	return nil
}
