package main

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"time"
)

// A team is the threads of a pass, which are goroutines: the main one and `threads - 1` more. Phases begin when the first one
// begins them and end when the last one ends them; between phases all of them wait for each other.
type team struct {
	// Of each thread, with its own memory.
	ways      []way
	consumers []*consumer
	// Open between passes; nothing if each pass opens the file itself.
	held []access
}

func teamOf(j *job) (*team, error) {
	t := &team{}
	for thread := uint64(0); thread < j.Threads; thread++ {
		w, err := wayOf(j)
		if err != nil {
			return nil, err
		}
		c, err := consumerOf(j, w)
		if err != nil {
			return nil, err
		}
		t.ways, t.consumers = append(t.ways, w), append(t.consumers, c)
	}
	return t, nil
}

func consumerOf(j *job, w way) (*consumer, error) {
	does, known := consumesByName[j.Consume]
	if !known {
		return nil, unavailable("the Go worker has no consume " + j.Consume)
	}
	c := &consumer{does: does, percent: j.percent}
	var err error
	if lends, ok := w.(*mapper); ok && lends.room == nil && does == copyOut {
		c.destination, err = memoryOf(j.BlockBytes)
	}
	return c, err
}

func owns(j *job, thread int) bool { return thread == 0 || !j.shares() }

// hold opens the file for all passes.
func (t *team) hold(j *job) error {
	for thread, w := range t.ways {
		var beside access
		if !owns(j, thread) {
			beside = t.held[0]
		}
		opened, err := w.open(j, beside)
		if err != nil {
			return err
		}
		t.held = append(t.held, opened)
	}
	return nil
}

func (t *team) release(j *job) {
	for thread, opened := range t.held {
		if owns(j, thread) {
			// Nothing can be done about it any more.
			_ = opened.close()
		}
	}
	t.held = nil
}

// interval is when a phase began and ended, of one thread.
type interval struct{ from, to time.Time }

// part is what one thread does.
type part struct {
	thread              int
	count               count
	opened              access
	open, work, closing interval
	err                 error
}

// passed is what all of them did.
type passed struct {
	count  count
	openNs *int64
	workNs int64
	// As openNs, there only where the pass opened the file itself.
	closeNs *int64
	usage   usage
	seen    collections
}

func (t *team) pass(j *job) (*passed, error) {
	crew := &crew{team: t, job: j, together: newBarrier(len(t.ways)), parts: make([]part, len(t.ways))}
	for thread := range crew.parts {
		crew.parts[thread].thread = thread
	}
	var others sync.WaitGroup
	for thread := 1; thread < len(crew.parts); thread++ {
		others.Add(1)
		go func() {
			defer others.Done()
			crew.run(&crew.parts[thread])
		}()
	}
	crew.run(&crew.parts[0])
	others.Wait()
	return crew.summary()
}

// crew is a team at work.
type crew struct {
	*team
	job          *job
	together     *barrier
	parts        []part
	spent        usage
	collectedNow collections
}

// run waits at the same number of barriers whatever fails on the way.
func (c *crew) run(p *part) {
	c.together.wait()
	var before usage
	if p.thread == 0 {
		c.collectedNow = collectionsNow()
		before = usageNow()
	}
	c.together.wait()
	if c.held != nil {
		p.err = c.work(p, c.held[p.thread])
	} else {
		c.whole(p)
	}
	c.together.wait()
	if p.thread == 0 {
		c.spent = usageNow().since(before)
		c.collectedNow = collectionsNow().since(c.collectedNow)
	}
}

func (c *crew) whole(p *part) {
	p.open.from = time.Now()
	p.opened, p.err = c.open(p.thread)
	p.open.to = time.Now()
	c.together.wait()
	if p.err == nil {
		p.err = c.work(p, p.opened)
	}
	c.together.wait()
	if p.opened == nil {
		return
	}
	p.closing.from = time.Now()
	if owns(c.job, p.thread) {
		if err := p.opened.close(); p.err == nil && err != nil {
			p.err = inPhase{"close", err}
		}
	}
	p.closing.to = time.Now()
}

var errOtherThread = errors.New("another thread of the pass failed")

func (c *crew) open(thread int) (access, error) {
	var beside access
	if c.job.shares() {
		// What is shared is there first.
		if thread != 0 {
			c.together.wait()
			if beside = c.parts[0].opened; beside == nil {
				return nil, inPhase{"open", errOtherThread}
			}
		} else {
			defer c.together.wait()
		}
	}
	opened, err := c.ways[thread].open(c.job, beside)
	if err != nil {
		return nil, inPhase{"open", err}
	}
	if thread == 0 {
		c.parts[0].opened = opened
	}
	return opened, nil
}

func (c *crew) work(p *part, opened access) (err error) {
	// Otherwise a page that could not be had would end the process. It is a setting of the goroutine.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		p.work.to = time.Now()
		if panicked := recover(); panicked != nil {
			err = because(panicked, opened)
		}
		if err != nil {
			err = inPhase{"work", err}
		}
	}()
	o := offsetsOf(c.job, uint64(p.thread))
	p.work.from = time.Now()
	return opened.pass(o, c.consumers[p.thread], &p.count)
}

// because tells a page that could not be had, whose panic says "nil pointer dereference", from a mistake in this program.
func because(panicked any, opened access) error {
	if fault, ok := panicked.(interface {
		runtime.Error
		Addr() uintptr
	}); ok && opened.holds(fault.Addr()) {
		return errGone
	}
	return fmt.Errorf("a mistake in the worker: %v", panicked)
}

func (c *crew) summary() (*passed, error) {
	all := &passed{usage: c.spent, seen: c.collectedNow}
	var failure error
	for at := range c.parts {
		p := &c.parts[at]
		all.count.add(&p.count)
		if p.err != nil && (failure == nil || errors.Is(failure, errOtherThread)) {
			failure = p.err
		}
	}
	if failure != nil {
		return nil, failure
	}
	all.workNs = c.elapsed(func(p *part) interval { return p.work })
	if c.held == nil {
		open := c.elapsed(func(p *part) interval { return p.open })
		closing := c.elapsed(func(p *part) interval { return p.closing })
		all.openNs, all.closeNs = &open, &closing
	}
	return all, nil
}

// elapsed is from when the first thread began a phase until the last one ended it.
func (c *crew) elapsed(of func(*part) interval) int64 {
	all := of(&c.parts[0])
	for at := range c.parts {
		one := of(&c.parts[at])
		if one.from.Before(all.from) {
			all.from = one.from
		}
		if one.to.After(all.to) {
			all.to = one.to
		}
	}
	return int64(all.to.Sub(all.from))
}

// barrier lets goroutines go on when all of them are there.
type barrier struct {
	mutex         sync.Mutex
	turned        *sync.Cond
	size, waiting int
	turn          uint
}

func newBarrier(size int) *barrier {
	b := &barrier{size: size}
	b.turned = sync.NewCond(&b.mutex)
	return b
}

func (b *barrier) wait() {
	if b.size == 1 {
		return
	}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.waiting++
	if b.waiting == b.size {
		b.waiting = 0
		b.turn++
		b.turned.Broadcast()
		return
	}
	for turn := b.turn; turn == b.turn; {
		b.turned.Wait()
	}
}
