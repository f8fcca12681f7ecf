package main

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"
)

var pageBytes = os.Getpagesize()

// memoryOf are bytes of the process's own, which begin at a page and are all there. They are no part of the heap. What is
// first touched within a pass would charge its faults to the methods that need a buffer.
func memoryOf(bytes uint64) ([]byte, error) {
	memory, err := anonymous(max(1, bytes))
	if err != nil {
		return nil, err
	}
	// Not zero: a page that only was read would be the one shared zero page, and live in the first-level cache.
	for at := range memory {
		memory[at] = 0xA5
	}
	return memory, nil
}

// wordsOf are zeros, until they are given back.
func wordsOf(count uint64) ([]uint64, error) {
	memory, err := anonymous(count * 8)
	if err != nil {
		return nil, err
	}
	return unsafe.Slice((*uint64)(unsafe.Pointer(&memory[0])), count), nil
}

func free(words []uint64) {
	// A failure would only leak it.
	_ = syscall.Munmap(unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), len(words)*8))
}

func anonymous(bytes uint64) ([]byte, error) {
	const most = 1 << 46
	if bytes > most {
		return nil, fmt.Errorf("%d bytes of memory: %w", bytes, syscall.ENOMEM)
	}
	memory, err := syscall.Mmap(-1, 0, int(bytes), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("%d bytes of memory: %w", bytes, err)
	}
	return memory, nil
}
