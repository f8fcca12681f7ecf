package main

import (
	"fmt"
	"os"
	"syscall"
)

// direct is syscall.Pread of a file opened with O_DIRECT. Where a job does not fit the alignment, the method is unavailable:
// reading more than was asked for would be another method.
type direct struct {
	room  []byte
	align uint64
}

// The alignment of offsets and lengths; the file system's block, where that is smaller.
const usualAlignment = 4096

func directWay(j *job) (way, error) {
	impossible := func(err error) error { return unavailable(fmt.Sprintf("O_DIRECT is not possible here: %v", err)) }
	fd, err := syscall.Open(j.File, syscall.O_RDONLY|syscall.O_CLOEXEC|syscall.O_DIRECT, 0)
	if err != nil {
		return nil, impossible(err)
	}
	defer syscall.Close(fd)
	var is syscall.Stat_t
	if err := syscall.Fstat(fd, &is); err != nil {
		return nil, impossible(err)
	}
	align := uint64(usualAlignment)
	if is.Blksize > 0 {
		align = min(align, uint64(is.Blksize))
	}
	one := j.BlockBytes == j.Range.Bytes && j.endsWithFile()
	places := j.Aligned || one || !j.isRandom()
	if j.Range.Offset%align != 0 || j.BlockBytes%align != 0 && !one || !places || j.end()%align != 0 && !j.endsWithFile() {
		return nil, unavailable(fmt.Sprintf("O_DIRECT in Go needs blocks and offsets in multiples of %d bytes", align))
	}
	room, err := memoryOf(upTo(j.BlockBytes, align))
	if err != nil {
		return nil, err
	}
	// No more than it takes to see: a cache below the kernel holds what was read just before a pass.
	few := room[:align]
	if _, err := syscall.Pread(fd, few, int64(j.Range.Offset)); err != nil {
		return nil, impossible(err)
	}
	return &direct{room, align}, nil
}

// upTo is the next multiple.
func upTo(bytes, align uint64) uint64 { return (bytes + align - 1) / align * align }

func (w *direct) open(j *job, beside access) (access, error) {
	if other, ok := beside.(*directFile); ok {
		return &directFile{pread{fd: other.fd, room: w.room}, w.align}, nil
	}
	fd, err := syscall.Open(j.File, syscall.O_RDONLY|syscall.O_CLOEXEC|syscall.O_DIRECT, 0)
	if err != nil {
		return nil, os.NewSyscallError("open(2) with O_DIRECT", err)
	}
	return &directFile{pread{fd: fd, room: w.room}, w.align}, nil
}

type directFile struct {
	pread
	align uint64
}

func (it *directFile) pass(o *offsets, c *consumer, n *count) error { return walk(it, o, c, n) }

// view reads whole sectors. Those end behind the block only where the file ends too.
func (it *directFile) view(offset uint64, length int) ([]byte, error) {
	whole := it.room[:upTo(uint64(length), it.align)]
	return it.room[:length], readFully(it.fd, whole, length, offset)
}
