package main

import (
	"bytes"
	"encoding/binary"
	"strings"
)

// The distance between the bytes that `touch` looks at.
const touchBytes = 4096

type consumes int

const (
	touch consumes = iota
	sum
	copyOut
	lines
	sumBytes
	decodeLines
)

var consumesByName = map[string]consumes{
	"touch": touch, "sum": sum, "copy": copyOut, "lines": lines, "sum-bytes": sumBytes, "decode-lines": decodeLines,
}

// A consumer does with each block what the job says. The choice is made for each block by a comparison that never changes,
// which a processor predicts: a call through a pointer would take longer, and show in the smallest blocks.
type consumer struct {
	does    consumes
	percent uint64
	// Where `copy` copies what is lent out of the file; nil where a method has read it into memory of the process's own.
	destination []byte
	// Where strings go that nothing else uses, so that they are made. Each thread has its own, on a cache line of its own: they
	// would pass a shared one to each other with every line.
	_    [128]byte
	kept string
	_    [128]byte
}

// take consumes the first bytes of a block, and says how many.
func (c *consumer) take(block []byte) (used, checksum uint64) {
	if c.percent != 100 {
		block = block[:partOf(uint64(len(block)), c.percent)]
	}
	return uint64(len(block)), c.all(block)
}

func (c *consumer) all(block []byte) uint64 {
	switch c.does {
	case touch:
		return touched(block)
	case sum:
		return summed(block)
	case lines:
		return uint64(bytes.Count(block, newline))
	case copyOut:
		return c.copied(block)
	case sumBytes:
		return summedBytes(block)
	default:
		return c.decodedLines(block)
	}
}

func touched(block []byte) (total uint64) {
	for at := 0; at < len(block); at += touchBytes {
		total += uint64(block[at])
	}
	return total
}

// summed has four sums: one alone waits for each addition, and takes three times as long as those that do not.
func summed(block []byte) uint64 {
	var a, b, c, d uint64
	for len(block) >= 32 {
		a += binary.LittleEndian.Uint64(block)
		b += binary.LittleEndian.Uint64(block[8:])
		c += binary.LittleEndian.Uint64(block[16:])
		d += binary.LittleEndian.Uint64(block[24:])
		block = block[32:]
	}
	for ; len(block) >= 8; block = block[8:] {
		a += binary.LittleEndian.Uint64(block)
	}
	for at, value := range block {
		b += uint64(value) << (8 * at)
	}
	return a + b + c + d
}

func summedBytes(block []byte) (total uint64) {
	for _, value := range block {
		total += uint64(value)
	}
	return total
}

func (c *consumer) copied(block []byte) uint64 {
	if len(block) == 0 {
		return 0
	}
	made := block
	if c.destination != nil {
		made = c.destination[:copy(c.destination, block)]
	}
	return uint64(made[0]) + uint64(made[len(made)-1])
}

var newline = []byte{'\n'}

func (c *consumer) decodedLines(block []byte) (count uint64) {
	for len(block) > 0 {
		end := bytes.IndexByte(block, '\n') + 1
		if end == 0 {
			end = len(block)
		} else {
			count++
		}
		c.kept = decoded(string(block[:end]))
		block = block[end:]
	}
	return count
}

// decoded is a text with U+FFFD for what is not UTF-8.
func decoded(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
