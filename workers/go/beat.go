package main

import (
	"math/bits"
	"sync/atomic"
	"time"
)

const beatPeriodNs = 1_000_000

// After the pass, while nothing else is at work.
const idleDeadlines = 100
const beatBins = 513

// Instead of the pass's end, until it has one.
const goesOn = -1

// beat is a second goroutine beside a pass: it has a deadline every millisecond and records how late it is for each, counted
// from the deadline's own time. One that cannot run for 200 ms was late for 200 deadlines, and not for one (docs/FORMATS.md,
// "Beats"). It and its counters exist before the pass; between two deadlines it sleeps, and its loop neither allocates nor
// locks.
type beat struct {
	// When the pass begins.
	begins chan time.Time
	// When it has ended, in nanoseconds from then.
	endedNs atomic.Int64
	began   time.Time
	counted chan struct{}
	// Of the pass, and after it.
	pass, idle beatCounters
}

type beatCounters struct {
	deadlines, wakeUps uint64
	maxNs              int64
	bins               [beatBins]uint64
}

type lateness struct {
	Deadlines uint64   `json:"deadlines"`
	WakeUps   uint64   `json:"wake_ups"`
	MaxNs     int64    `json:"max_ns"`
	Bins      []uint64 `json:"bins"`
}

type beats struct {
	PeriodNs int64 `json:"period_ns"`
	lateness
	Idle lateness `json:"idle"`
}

// besideOf is what the job asks for; nothing where that is nothing.
func besideOf(j *job) (*beat, error) {
	switch j.Beside {
	case "", "nothing":
		return nil, nil
	case "beat":
	default:
		return nil, unavailable("the Go worker has no " + j.Beside + " beside a pass")
	}
	b := &beat{begins: make(chan time.Time, 1), counted: make(chan struct{}, 1)}
	b.pass.clear()
	b.idle.clear()
	go func() {
		for began := range b.begins {
			b.pass.clear()
			b.idle.clear()
			b.run(began)
			b.counted <- struct{}{}
		}
	}()
	return b, nil
}

// begin has it beat from here on, until `end`.
func (b *beat) begin() {
	b.endedNs.Store(goesOn)
	b.began = time.Now()
	b.begins <- b.began
}

// end says what was counted, once the idle deadlines are, too.
func (b *beat) end() *beats {
	b.endedNs.Store(int64(time.Since(b.began)))
	<-b.counted
	return &beats{beatPeriodNs, b.pass.lateness(), b.idle.lateness()}
}

func (b *beat) leave() { close(b.begins) }

func (b *beat) run(began time.Time) {
	next := int64(beatPeriodNs)
	var now int64
	for {
		sleepUntil(began, next)
		b.pass.wakeUps++
		// Before the clock, so that what has ended by then ended before it.
		end := b.endedNs.Load()
		now = int64(time.Since(began))
		until := now
		if end != goesOn {
			until = min(now, end)
		}
		for ; next <= until; next += beatPeriodNs {
			b.pass.add(now - next)
		}
		if end != goesOn {
			break
		}
	}
	next = now + beatPeriodNs
	for left := idleDeadlines; left > 0; {
		sleepUntil(began, next)
		b.idle.wakeUps++
		now = int64(time.Since(began))
		for ; left > 0 && next <= now; next += beatPeriodNs {
			b.idle.add(now - next)
			left--
		}
	}
}

func sleepUntil(began time.Time, ns int64) {
	if left := time.Duration(ns) - time.Since(began); left > 0 {
		time.Sleep(left)
	}
}

// clear also touches its memory.
func (c *beatCounters) clear() { *c = beatCounters{} }

func (c *beatCounters) add(late int64) {
	c.deadlines++
	c.maxNs = max(c.maxNs, late)
	at := 0
	if parts := uint64(late) * 16 / 1000; parts >= 16 {
		doubling := bits.Len64(parts) - 5
		at = min(1+16*doubling+int(parts>>doubling&15), beatBins-1)
	}
	c.bins[at]++
}

func (c *beatCounters) lateness() lateness {
	used := beatBins
	for used > 0 && c.bins[used-1] == 0 {
		used--
	}
	return lateness{c.deadlines, c.wakeUps, c.maxNs, c.bins[:used]}
}
