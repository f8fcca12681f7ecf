package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"syscall"
)

// More are a typing mistake.
const mostThreads = 4096

// A job is one arm under one condition.
type job struct {
	Pass       uint64         `json:"pass"`
	Method     string         `json:"method"`
	Options    map[string]any `json:"options"`
	Workload   string         `json:"workload"`
	Consume    string         `json:"consume"`
	File       string         `json:"file"`
	BlockBytes uint64         `json:"block_bytes"`
	Range      struct {
		Offset uint64 `json:"offset"`
		Bytes  uint64 `json:"bytes"`
	} `json:"range"`
	Ops          uint64  `json:"ops"`
	Aligned      bool    `json:"aligned"`
	Threads      uint64  `json:"threads"`
	Descriptor   string  `json:"descriptor"`
	Percent      *uint64 `json:"consumed_percent"`
	Durability   string  `json:"durability"`
	Seed         uint64  `json:"seed"`
	Hold         string  `json:"hold"`
	TimesItsLoop bool    `json:"times_its_loop"`
	Beside       string  `json:"beside"`
	Permit       struct {
		Write *struct {
			Device uint64 `json:"device"`
			Inode  uint64 `json:"inode"`
		} `json:"write"`
	} `json:"permit"`

	percent   uint64
	fileBytes uint64
	// Each block is stored as it was: of a rehearsal, nothing may be seen in the file.
	undone bool
}

func (j *job) writes() bool { return j.Workload != "scan" && j.Workload != "random" }

func (j *job) isRandom() bool { return j.Workload == "random" || j.Workload == "overwrite-random" }

// shares says whether several threads use one open file. A single thread has no one to share with.
func (j *job) shares() bool { return j.Threads > 1 && j.Descriptor == "shared" }

func (j *job) end() uint64 { return j.Range.Offset + j.Range.Bytes }

// endsWithFile says whether there is nothing behind the range.
func (j *job) endsWithFile() bool { return j.end() == j.fileBytes }

// word is what an option is set to; every option comes with every job.
func (j *job) word(name string, words ...string) (string, error) {
	given, isSet := j.Options[name]
	if !isSet {
		return words[0], nil
	}
	for _, word := range words {
		if given == word {
			return word, nil
		}
	}
	return "", fmt.Errorf("%s does not know %s = %v", j.Method, name, given)
}

// check looks at the job and its file, and leaves no file open.
func (j *job) check() error {
	switch j.Workload {
	case "scan", "random", "overwrite", "overwrite-random", "append", "update":
	default:
		return unavailable("the Go worker has no workload " + j.Workload)
	}
	j.percent = 100
	if j.Percent != nil {
		j.percent = *j.Percent
	}
	// Looked at before anything opens it: opening a pipe would wait for its writer.
	about, err := os.Stat(j.File)
	if err != nil {
		return err
	}
	if !about.Mode().IsRegular() {
		return fmt.Errorf("%s is no regular file", j.File)
	}
	j.fileBytes = uint64(about.Size())
	appends := j.Workload == "append"
	switch {
	case j.fileBytes == 0 && !appends:
		return errors.New("the file is empty: there is nothing to read")
	case j.Range.Bytes == 0:
		return errors.New("the range is empty: there is nothing to read")
	case j.Range.Offset > math.MaxInt64 || j.Range.Bytes > math.MaxInt64-j.Range.Offset,
		!appends && j.end() > j.fileBytes:
		return fmt.Errorf("a range of %d bytes at %d ends beyond the file's %d bytes", j.Range.Bytes, j.Range.Offset, j.fileBytes)
	case j.BlockBytes == 0:
		return errors.New("a block of 0 bytes cannot be read")
	case j.percent < 1 || j.percent > 100:
		return fmt.Errorf("%d %% of a block cannot be consumed; expected 1 to 100", j.percent)
	case j.Ops == 0:
		return errors.New("a pass needs at least one block")
	case j.Threads < 1 || j.Threads > mostThreads:
		return fmt.Errorf("%d threads; expected 1 to %d", j.Threads, mostThreads)
	case j.writes() && j.Threads > 1:
		return errors.New("workloads that write have one thread")
	case j.writes() && j.Permit.Write == nil:
		return errors.New("the job writes, and has no permission to")
	}
	j.BlockBytes = min(j.BlockBytes, j.Range.Bytes)
	return nil
}

// warm is the same work with the offsets of a pass before the timed one, by its number from 1.
func (j *job) warm(number uint32) *job {
	other := *j
	other.Seed += uint64(number) << 16
	return &other
}

// shortened is alike, with no more blocks than that; what populates its range takes no longer than they do. Of a job that
// writes, the range stays: the file has to be mapped as it is.
func (j *job) shortened(ops uint64) *job {
	few := *j
	// What it leaves in the CPU caches is what the pass begins with.
	few.Ops = min(ops, j.Ops, max(rehearsedBytes/max(j.BlockBytes, 1), j.Threads))
	if !j.writes() {
		few.Range.Bytes = min(j.Range.Bytes, few.Ops*j.BlockBytes)
	}
	few.undone = true
	return &few
}

// isPermitted compares an open file with the one that the job may write.
func (j *job) isPermitted(fd int) error {
	var is syscall.Stat_t
	if err := syscall.Fstat(fd, &is); err != nil {
		return os.NewSyscallError("fstat(2)", err)
	}
	may := j.Permit.Write
	if may == nil || uint64(is.Dev) != may.Device || uint64(is.Ino) != may.Inode {
		return fmt.Errorf("%s is not the file that the job may write", j.File)
	}
	return nil
}
