package main

import (
	"bufio"
	"io"
	"math"
	"os"
)

// lastLine is where strings go that nothing else uses, so that they are made: of the one thread that a scanner has.
var lastLine string

// scanner is bufio.Scanner until there is nothing left. What it counts is ends of lines, as `lines` does; with `decode-lines`
// each line is a string.
type scanner struct {
	decodes bool
	// As large as the one that a Scanner makes first. It makes larger ones for longer lines.
	room []byte
}

func scannerWay(j *job) (way, error) {
	switch {
	case j.Workload != "scan" || j.Consume != "lines" && j.Consume != "decode-lines":
		return nil, unavailable("scanner makes lines of a file from its start on: workload scan, consume lines or decode-lines")
	case j.percent != 100:
		return nil, unavailable("scanner looks at every byte")
	case j.Range.Offset != 0:
		return nil, unavailable("scanner begins at the start of the file")
	case j.Threads > 1:
		return nil, unavailable("scanner reads from one position, as one thread does")
	}
	if file, err := os.Open(j.File); err != nil {
		return nil, err
	} else {
		file.Close()
	}
	room, err := memoryOf(4096)
	return &scanner{decodes: j.Consume == "decode-lines", room: room}, err
}

func (w *scanner) open(j *job, _ access) (access, error) {
	file, err := os.Open(j.File)
	if err != nil {
		return nil, err
	}
	return &scanned{file: file, decodes: w.decodes, room: w.room, bytes: j.Range.Bytes}, nil
}

type scanned struct {
	unmapped
	file    *os.File
	decodes bool
	room    []byte
	bytes   uint64
	started bool
}

func (it *scanned) pass(o *offsets, _ *consumer, n *count) error {
	for left := o.blocks; left > 0; {
		if it.started {
			if _, err := it.file.Seek(0, io.SeekStart); err != nil {
				return err
			}
		}
		it.started = true
		blocks := min(left, (it.bytes+o.block-1)/o.block)
		part := &bounded{from: it.file, left: min(blocks*o.block, it.bytes)}
		n.bytes += part.left
		found := bufio.NewScanner(part)
		// Of any length: beyond 64 KiB a Scanner gives up, unless it is told otherwise.
		found.Buffer(it.room[:0], math.MaxInt)
		if it.decodes {
			for ; found.Scan(); n.checksum++ {
				lastLine = decoded(found.Text())
			}
		} else {
			for ; found.Scan(); n.checksum++ {
			}
		}
		if err := found.Err(); err != nil {
			return err
		}
		if part.left > 0 {
			return errShorter
		}
		// A part may end within a line, of which a Scanner returns what is there.
		if part.last != '\n' {
			n.checksum--
		}
		left -= blocks
	}
	n.ops = o.blocks
	return nil
}

func (it *scanned) close() error { return it.file.Close() }

// bounded is so many bytes and then the end.
type bounded struct {
	from io.Reader
	left uint64
	last byte
}

func (it *bounded) Read(into []byte) (int, error) {
	if it.left == 0 {
		return 0, io.EOF
	}
	read, err := it.from.Read(into[:min(uint64(len(into)), it.left)])
	if read > 0 {
		it.left -= uint64(read)
		it.last = into[read-1]
	}
	return read, err
}
