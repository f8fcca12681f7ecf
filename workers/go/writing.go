package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
	"unsafe"
)

// Workloads that change the file, which is one of faultline's own. What is written stands in docs/FORMATS.md.

// A writer is a file that blocks are written to.
type writer interface {
	// put writes a block, whole.
	put(offset uint64, block []byte) error
	// load is a block as it is, to be changed in place; store follows.
	load(offset uint64, length int) ([]byte, error)
	store(offset uint64, block []byte) error
	// finish is the sync of `sync-end`.
	finish() error
	lock() (bool, error)
	holds(address uintptr) bool
	close() error
}

// written is what the blocks are written from.
type written struct {
	flags int
	// The words of the generator.
	source []byte
	// What an update reads into, where it does not change the mapping.
	room []byte
	// Of a rehearsal: what a block was.
	before []byte
}

func writingWay(j *job) (way, error) {
	switch j.Durability {
	case "", "none", "sync-each", "sync-end":
	default:
		return nil, unavailable("the Go worker has no durability " + j.Durability)
	}
	w := &written{}
	if j.Method == "pwrite" {
		sync, err := j.word("sync", "fdatasync", "o-dsync", "o-sync")
		if err != nil {
			return nil, err
		}
		if sync != "fdatasync" && j.Durability != "sync-each" {
			return nil, unavailable("a file opened with O_SYNC or O_DSYNC syncs every write, which is durability sync-each")
		}
		w.flags = map[string]int{"o-dsync": syscall.O_DSYNC, "o-sync": syscall.O_SYNC}[sync]
	}
	var errs [3]error
	w.source, errs[0] = memoryOf(j.BlockBytes)
	if j.Workload == "update" {
		w.room, errs[1] = memoryOf(j.BlockBytes)
		w.before, errs[2] = memoryOf(j.BlockBytes)
	}
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	words := offsets{state: j.Seed}
	for rest := w.source; len(rest) > 0; {
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], words.output())
		rest = rest[copy(rest, word[:]):]
	}
	return w, nil
}

// isOfController says whether a path is a descriptor of the controller's, which leads to the same file however often it is opened.
func isOfController(path string) bool {
	var process, descriptor uint
	_, err := fmt.Sscanf(path, "/proc/%d/fd/%d", &process, &descriptor)
	return err == nil && path == fmt.Sprintf("/proc/%d/fd/%d", process, descriptor)
}

// openForWriting compares what it has opened with what may be written, before anything is. A name could lead to another file by
// then, so no link is followed from one.
func openForWriting(j *job, flags int) (int, error) {
	flags |= syscall.O_RDWR | syscall.O_CLOEXEC | syscall.O_NOCTTY | syscall.O_NONBLOCK
	if !isOfController(j.File) {
		flags |= syscall.O_NOFOLLOW
	}
	fd, err := syscall.Open(j.File, flags, 0)
	if err != nil {
		return -1, os.NewSyscallError("open(2) for writing", err)
	}
	if err := j.isPermitted(fd); err != nil {
		return -1, errors.Join(err, syscall.Close(fd))
	}
	return fd, nil
}

func (w *written) open(j *job, _ access) (access, error) {
	fd, err := openForWriting(j, w.flags)
	if err != nil {
		return nil, err
	}
	it := &writes{written: w, job: j}
	switch j.Method {
	case "pwrite":
		it.writer = &pwrite{fd: fd, room: w.room, syncs: j.Durability == "sync-each" && w.flags == 0}
	default:
		made, err := stored(j, fd)
		if err != nil {
			return nil, errors.Join(err, syscall.Close(fd))
		}
		it.writer = made
	}
	return it, nil
}

// sync writes back what was written before the clock starts.
func syncFile(j *job) error {
	fd, err := openForWriting(j, 0)
	if err != nil {
		return err
	}
	return errors.Join(os.NewSyscallError("fsync(2)", syscall.Fsync(fd)), syscall.Close(fd))
}

type writes struct {
	writer
	*written
	job *job
}

func (it *writes) pass(o *offsets, _ *consumer, n *count) error {
	step := it.replace
	if it.job.Workload == "update" {
		step = it.update
	}
	for left := o.blocks; left > 0; left-- {
		offset := o.next()
		length := o.length(offset)
		if err := step(offset, length, n); err != nil {
			return err
		}
		n.bytes += length
	}
	n.ops = o.blocks
	if it.job.Durability != "sync-end" {
		return nil
	}
	finishing := time.Now()
	err := it.finish()
	n.writeNs += int64(time.Since(finishing))
	return err
}

func (it *writes) replace(offset, length uint64, _ *count) error {
	var stamp [8]byte
	binary.LittleEndian.PutUint64(stamp[:], offset)
	block := it.source[:length]
	copy(block, stamp[:])
	return it.put(offset, block)
}

func (it *writes) update(offset, length uint64, n *count) error {
	begun := time.Now()
	block, err := it.load(offset, int(length))
	if err != nil {
		return err
	}
	if it.job.undone {
		copy(it.before, block)
	}
	loaded := time.Now()
	addFive(block)
	changed := time.Now()
	if it.job.undone {
		copy(block, it.before)
	}
	if err := it.store(offset, block); err != nil {
		return err
	}
	n.readNs += int64(loaded.Sub(begun))
	n.loopNs += int64(changed.Sub(loaded))
	n.writeNs += int64(time.Since(changed))
	return nil
}

func addFive(block []byte) {
	for at, value := range block {
		block[at] = byte((uint16(value) + 5) % 250)
	}
}

// pwrite is syscall.Pwrite, at explicit offsets.
type pwrite struct {
	unmapped
	fd   int
	room []byte
	// After each write, where no flag does it.
	syncs bool
}

func (it *pwrite) put(offset uint64, block []byte) error {
	for done := 0; done < len(block); {
		count, err := syscall.Pwrite(it.fd, block[done:], int64(offset)+int64(done))
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return os.NewSyscallError("pwrite(2)", err)
		case count == 0:
			return errors.New("the kernel wrote nothing")
		default:
			done += count
		}
	}
	if it.syncs {
		return it.finish()
	}
	return nil
}

func (it *pwrite) load(offset uint64, length int) ([]byte, error) {
	block := it.room[:length]
	return block, readFully(it.fd, block, length, offset)
}

func (it *pwrite) store(offset uint64, block []byte) error { return it.put(offset, block) }

func (it *pwrite) finish() error { return os.NewSyscallError("fdatasync(2)", syscall.Fdatasync(it.fd)) }

func (it *pwrite) close() error { return syscall.Close(it.fd) }

// stores are through a shared mapping of the range. Nothing but msync(2) brings them to the device.
type stores struct {
	*mapping
	fd    int
	syncs bool
}

func stored(j *job, fd int) (*stores, error) {
	// What is beyond the end of a file cannot be stored to: a program that appends through a mapping makes the file longer first.
	if j.Workload == "append" {
		if err := syscall.Ftruncate(fd, int64(j.end())); err != nil {
			return nil, os.NewSyscallError("ftruncate(2)", err)
		}
	}
	made, err := mapRange(fd, j.Range.Offset, j.Range.Bytes, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	return &stores{mapping: made, fd: fd, syncs: j.Durability == "sync-each"}, nil
}

func (it *stores) put(offset uint64, block []byte) error {
	copy(it.at(offset, uint64(len(block))), block)
	return it.store(offset, block)
}

func (it *stores) load(offset uint64, length int) ([]byte, error) {
	return it.at(offset, uint64(length)), nil
}

func (it *stores) store(offset uint64, block []byte) error {
	if !it.syncs {
		return nil
	}
	return msync(it.pages(offset, uint64(len(block))))
}

func (it *stores) finish() error { return msync(it.bytes) }

func (it *stores) lock() (bool, error) { return true, it.pin() }

func (it *stores) close() error { return errors.Join(it.unmap(), syscall.Close(it.fd)) }

func msync(pages []byte) error {
	start := uintptr(unsafe.Pointer(unsafe.SliceData(pages)))
	if _, _, errno := syscall.Syscall(syscall.SYS_MSYNC, start, uintptr(len(pages)), syscall.MS_SYNC); errno != 0 {
		return fmt.Errorf("msync(2): %w", errno)
	}
	return nil
}
