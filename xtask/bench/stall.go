// How late a second goroutine is while one reads blocks of 4 KiB at random places of a file:
// stall FILE BYTES READS call|map [stops]. GOMAXPROCS is taken from the environment.
package main

import (
	"fmt"
	"log"
	"os"
	"runtime"
	"sort"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	block  = 4096
	period = int64(time.Millisecond)
)

func main() {
	file, err := os.Open(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	bytes, _ := strconv.Atoi(os.Args[2])
	reads, _ := strconv.Atoi(os.Args[3])
	isMap, stops := os.Args[4] == "map", len(os.Args) > 5
	var mapped []byte
	if isMap {
		if mapped, err = syscall.Mmap(int(file.Fd()), 0, bytes, syscall.PROT_READ, syscall.MAP_SHARED); err != nil {
			log.Fatal(err)
		}
	}
	var isDone atomic.Bool
	ended := make(chan struct{})
	late := make([]int64, 0, 1<<20)
	// In the first milliseconds of a process a second thread of Go's may not be there, and whoever reads keeps all others waiting.
	begins := make(chan time.Time)
	// Each deadline that has passed counts, from its own time.
	go func() {
		for range 20 {
			time.Sleep(time.Millisecond)
		}
		began := <-begins
		for due := period; !isDone.Load(); {
			time.Sleep(time.Duration(due - int64(time.Since(began))))
			for at := int64(time.Since(began)); due <= at && len(late) < cap(late); due += period {
				late = append(late, at-due)
			}
		}
		close(ended)
	}()
	if stops {
		go func() {
			for memory := new(runtime.MemStats); !isDone.Load(); time.Sleep(time.Millisecond) {
				runtime.ReadMemStats(memory)
			}
		}()
	}
	time.Sleep(30 * time.Millisecond)
	began := time.Now()
	begins <- began
	seed, sum, buffer := uint64(88172645463325252), uint64(0), make([]byte, block)
	for i := 0; i < reads; i++ {
		seed ^= seed << 13
		seed ^= seed >> 7
		seed ^= seed << 17
		offset := int64(seed % uint64(bytes/block) * block)
		if isMap {
			sum += uint64(mapped[offset])
		} else if _, err := file.ReadAt(buffer, offset); err != nil {
			log.Fatal(err)
		} else {
			sum += uint64(buffer[0])
		}
	}
	took := time.Since(began)
	isDone.Store(true)
	<-ended
	sort.Slice(late, func(a, b int) bool { return late[a] < late[b] })
	stalled := 0
	for _, it := range late {
		if it > 2*period {
			stalled++
		}
	}
	ms := func(it int64) float64 { return float64(it) / 1e6 }
	n := len(late)
	fmt.Printf("{\"took_ms\": %.1f, \"deadlines\": %d, \"median_ms\": %.3f, \"p99_ms\": %.3f, \"worst_ms\": %.3f, \"stalled\": %.4f, \"sum\": %d}\n",
		ms(int64(took)), n, ms(late[n/2]), ms(late[n*99/100]), ms(late[n-1]), float64(stalled)/float64(n), sum)
}
