// Scans a file in memory again and again, as one would write it by hand: loop FILE BYTES BLOCK METHOD CONSUME SCANS.
// Prints the nanoseconds that a block takes, the median of passes of so many scans after the first two. A scan that looks at one byte of each page
// leaves those cache lines in the last-level cache for the next one, so the last 64 MiB are read in between, as before a worker's.
package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"log"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"
)

var total uint64

func touch(block []byte) {
	for at := 0; at < len(block); at += 4096 {
		total += uint64(block[at])
	}
}

func sum(block []byte) {
	var a, b, c, d uint64
	for ; len(block) >= 32; block = block[32:] {
		a += binary.LittleEndian.Uint64(block)
		b += binary.LittleEndian.Uint64(block[8:])
		c += binary.LittleEndian.Uint64(block[16:])
		d += binary.LittleEndian.Uint64(block[24:])
	}
	total += a + b + c + d
}

var newline = []byte{'\n'}

func lines(block []byte) { total += uint64(bytes.Count(block, newline)) }

// What was copied is looked at where it begins and where it ends, which waits for the copy.
func ends(block []byte) { total += uint64(block[0]) + uint64(block[len(block)-1]) }

func main() {
	size, _ := strconv.Atoi(os.Args[2])
	block, _ := strconv.Atoi(os.Args[3])
	file, err := os.Open(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	mapped, err := syscall.Mmap(int(file.Fd()), 0, size, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		log.Fatal(err)
	}
	// In whole pages, as a worker has it: how fast the kernel copies depends on where a buffer begins.
	buffer, err := syscall.Mmap(-1, 0, block, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		log.Fatal(err)
	}
	consume := ends
	switch os.Args[5] {
	case "touch":
		consume = touch
	case "sum":
		consume = sum
	case "lines":
		consume = lines
	}
	scan := func() {
		for at := 0; at < size; at += block {
			if _, err := file.ReadAt(buffer, int64(at)); err != nil {
				log.Fatal(err)
			}
			consume(buffer)
		}
	}
	if os.Args[4] == "mmap" {
		scan = func() {
			for at := 0; at < size; at += block {
				part := mapped[at : at+block]
				if os.Args[5] == "copy" {
					part = buffer[:copy(buffer, part)]
				}
				consume(part)
			}
		}
	}
	scans, _ := strconv.Atoi(os.Args[6])
	var passes []float64
	for range 9 {
		if os.Args[5] == "touch" {
			lines(mapped[size-64<<20:])
		}
		// A worker waits for its pass to begin, and a processor that idled takes up to twice as long for the first ms.
		time.Sleep(time.Millisecond)
		began := time.Now()
		for range scans {
			scan()
		}
		passes = append(passes, float64(time.Since(began))/float64(scans*(size/block)))
	}
	passes = passes[2:]
	slices.Sort(passes)
	fmt.Println(passes[len(passes)/2])
}
