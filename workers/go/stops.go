package main

import (
	"math"
	"runtime"
	"runtime/metrics"
	"sync/atomic"
	"time"
)

const stopPause = time.Millisecond

// Go's own account of how long it took to stop the world, for other reasons than a collection.
const stopping = "/sched/pauses/stopping/other:seconds"

// stopper is another goroutine beside a pass, which stops the world by runtime.ReadMemStats and does so again a millisecond
// after all goroutines went on: what a program does that collects, profiles or dumps its goroutines.
type stopper struct {
	begins, ended chan struct{}
	on            atomic.Bool
	stops         uint64
	stats         runtime.MemStats
	before, after []metrics.Sample
}

// stopperOf is what the arm asks for; nothing where that is nothing.
func stopperOf(j *job) (*stopper, error) {
	word, err := j.word("meanwhile", "alone", "stops")
	if err != nil || word == "alone" {
		return nil, err
	}
	s := &stopper{begins: make(chan struct{}, 1), ended: make(chan struct{}, 1)}
	s.before, s.after = []metrics.Sample{{Name: stopping}}, []metrics.Sample{{Name: stopping}}
	metrics.Read(s.before)
	if s.before[0].Value.Kind() != metrics.KindFloat64Histogram {
		return nil, unavailable("this Go does not say how long it takes to stop its goroutines")
	}
	go func() {
		for range s.begins {
			for time.Sleep(stopPause); s.on.Load(); time.Sleep(stopPause) {
				runtime.ReadMemStats(&s.stats)
				s.stops++
			}
			s.ended <- struct{}{}
		}
	}()
	return s, nil
}

// begin has it stop the world from here on, until `stop`.
func (s *stopper) begin() {
	metrics.Read(s.before)
	s.stops = 0
	s.on.Store(true)
	s.begins <- struct{}{}
}

// stop asks for no other one.
func (s *stopper) stop() { s.on.Store(false) }

// wait is until the last one is over.
func (s *stopper) wait() {
	<-s.ended
	metrics.Read(s.after)
}

func (s *stopper) leave() { close(s.begins) }

// readings are by the upper ends of Go's bins; nothing of a pass that was over before the first stop.
func (s *stopper) readings(seen map[string]float64) {
	seen["stops"] = float64(s.stops)
	before, after := s.before[0].Value.Float64Histogram(), s.after[0].Value.Float64Histogram()
	var all uint64
	for at := range after.Counts {
		all += after.Counts[at] - before.Counts[at]
	}
	for name, share := range map[string]float64{"stop_median_ns": 0.5, "stop_p99_ns": 0.99, "stop_max_ns": 1} {
		rank := uint64(math.Ceil(share * float64(all)))
		var until uint64
		for at := range after.Counts {
			until += after.Counts[at] - before.Counts[at]
			if rank > 0 && until >= rank {
				end := after.Buckets[at+1]
				if math.IsInf(end, 1) {
					end = after.Buckets[at]
				}
				seen[name] = 1e9 * end
				break
			}
		}
	}
}
