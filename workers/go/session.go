package main

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// session is everything that one `prepare` made.
type session struct {
	job     *job
	team    *team
	reached *reached
	// Pins the pages for methods that have no mapping of their own.
	pinned *mapping
	// What reading the clock once takes, where a pass reads it.
	clockNs int64
	// How fast the consume's loop is by itself, where that is asked for.
	loopBytesPerS float64
	// Only where the job asks for it, and the arm.
	beat    *beat
	stopper *stopper
}

type done struct {
	Pass   uint64 `json:"pass"`
	Phases struct {
		OpenNs  *int64 `json:"open_ns"`
		WorkNs  int64  `json:"work_ns"`
		CloseNs *int64 `json:"close_ns"`
	} `json:"phases"`
	Tally struct {
		Ops           uint64 `json:"ops"`
		Bytes         uint64 `json:"bytes"`
		DistinctBytes uint64 `json:"distinct_bytes"`
		// Of whole blocks, where a part of each is looked at.
		DistinctBlockBytes *uint64 `json:"distinct_block_bytes,omitempty"`
		DistinctPages      *uint64 `json:"distinct_pages,omitempty"`
		Checksum           string  `json:"checksum"`
		Threads            uint64  `json:"threads"`
		QueueDepth         int     `json:"queue_depth"`
	} `json:"tally"`
	Usage usage              `json:"usage"`
	Parts *parts             `json:"parts,omitempty"`
	Seen  map[string]float64 `json:"seen,omitempty"`
	Beats *beats             `json:"beats,omitempty"`
}

type parts struct {
	ReadNs  int64 `json:"read_ns"`
	LoopNs  int64 `json:"loop_ns"`
	WriteNs int64 `json:"write_ns"`
	ClockNs int64 `json:"clock_ns"`
}

// Blocks of a rehearsal.
const rehearsalOps = 16

// rehearsedBytes is far less than a last-level cache, and more than 16 blocks of usual sizes.
const rehearsedBytes = 1 << 20

func prepare(j *job) (made *session, err error) {
	if err := j.check(); err != nil {
		return nil, err
	}
	s := &session{job: j}
	defer func() {
		if err != nil {
			s.end()
		}
	}()
	// Files are opened for writing by the identity that is permitted; a refusal should not wait for the pass.
	if j.writes() {
		fd, err := openForWriting(j, 0)
		if err != nil {
			return nil, err
		}
		syscall.Close(fd)
	}
	if s.team, err = teamOf(j); err != nil {
		return nil, err
	}
	if s.reached, err = reachedBy(j, uint64(pageBytes)); err != nil {
		return nil, err
	}
	if j.Workload == "update" {
		s.clockNs = clockNs()
	}
	// What bufio.Scanner does with its buffer is no loop over a block, and is not to be had without the reading.
	if j.TimesItsLoop && !j.writes() && j.Method != "scanner" {
		if s.loopBytesPerS, err = loopAlone(j); err != nil {
			return nil, err
		}
	}
	if s.beat, err = besideOf(j); err != nil {
		return nil, err
	}
	if s.stopper, err = stopperOf(j); err != nil {
		return nil, err
	}
	// Its own lists are made now, and not between two looks at what the pass spent.
	collectionsNow()
	switch j.Hold {
	case "no":
	case "rehearse":
		return s, withoutPhase(s.rehearse())
	case "open", "warm", "locked":
		return s, withoutPhase(s.hold())
	default:
		return nil, unavailable("the Go worker has no hold " + j.Hold)
	}
	return s, nil
}

// withoutPhase is for passes before `prepared`.
func withoutPhase(err error) error {
	var within inPhase
	if errors.As(err, &within) {
		return within.error
	}
	return err
}

// rehearse makes one short pass, opened and closed. Without it the first blocks of the timed pass would include the worker's
// faults on its own code.
func (s *session) rehearse() error {
	if s.job.Workload == "append" {
		// There is no second end of the file.
		return nil
	}
	if _, err := s.team.pass(s.job.shortened(rehearsalOps)); err != nil {
		return err
	}
	if s.job.writes() {
		return syncFile(s.job)
	}
	return nil
}

// hold opens the file, pins its pages if asked for, and makes the pass that is not timed.
func (s *session) hold() error {
	if s.job.Hold == "open" && s.job.writes() {
		return errors.New("a workload that writes has no warm passes of its own")
	}
	if err := s.team.hold(s.job); err != nil {
		return err
	}
	if s.job.Hold == "locked" {
		if err := s.lock(); err != nil {
			return err
		}
	}
	if s.job.Hold == "open" {
		return nil
	}
	if _, err := s.team.pass(s.job); err != nil {
		return err
	}
	switch {
	case s.job.writes():
		return syncFile(s.job)
	case s.job.Method == "direct" || s.sweeps():
		return nil
	default:
		return s.sweep()
	}
}

func (s *session) lock() error {
	for thread, opened := range s.team.held {
		if !owns(s.job, thread) {
			continue
		}
		has, err := opened.lock()
		if err != nil {
			return err
		}
		// One mapping on the side is enough for all that have none.
		if !has && !s.job.writes() && s.pinned == nil {
			if s.pinned, err = s.aside(); err == nil {
				err = s.pinned.pin()
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *session) aside() (*mapping, error) {
	file, err := os.Open(s.job.File)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return mapRange(int(file.Fd()), s.job.Range.Offset, s.job.Range.Bytes, syscall.PROT_READ, syscall.MAP_SHARED)
}

// Larger than the last-level cache of most machines, small enough to be swept before every pass; as the native worker does.
const sweepBytes, sweepBlock = 64 << 20, 1 << 20

// sweeps says whether a pass does itself what a sweep would: it looks at every byte up to the end of a range that is as large.
func (s *session) sweeps() bool {
	j := s.job
	covers := j.Workload == "scan" && j.Ops >= (j.Range.Bytes-1)/j.BlockBytes+1
	return covers && j.Consume != "touch" && j.percent == 100 && j.Range.Bytes >= sweepBytes
}

// sweep reads the end of the range once, in every mapping of it, or else by calls: the processor's caches should not hold
// exactly the blocks of the pass before.
func (s *session) sweep() error {
	end := *s.job
	if skipped := (end.Range.Bytes - min(end.Range.Bytes, sweepBytes)) / sweepBlock * sweepBlock; skipped > 0 {
		end.Range.Offset += skipped
		end.Range.Bytes -= skipped
	}
	end.Workload, end.Threads, end.BlockBytes = "scan", 1, min(sweepBlock, end.Range.Bytes)
	end.Ops = (end.Range.Bytes + end.BlockBytes - 1) / end.BlockBytes
	looks := &consumer{does: sum, percent: 100}
	if s.job.Method == "mmap" {
		for thread, opened := range s.team.held {
			if it, ok := opened.(*mapped); ok && owns(s.job, thread) {
				sweeper := &mapped{mapping: it.mapping}
				// By the team's own guard: the file may be shorter by now.
				one := &crew{team: &team{consumers: []*consumer{looks}}, job: &end}
				if err := one.work(&part{}, sweeper); err != nil {
					return err
				}
			}
		}
		return nil
	}
	room, err := memoryOf(end.BlockBytes)
	if err != nil {
		return err
	}
	defer syscall.Munmap(room)
	by, err := openPread(end.File, 0, room, nil)
	if err != nil {
		return err
	}
	return errors.Join(by.pass(offsetsOf(&end, 0), looks, &count{}), by.close())
}

// pass is the timed one, or the given warm one before it (from 1).
func (s *session) pass(warm uint32) (*done, error) {
	j := s.job
	if warm > 0 {
		j = j.warm(warm)
	}
	d := &done{}
	all, err := s.beside(warm == 0, d, func() (*passed, error) { return s.team.pass(j) })
	if err != nil {
		return nil, err
	}
	d.Usage = all.usage
	d.Phases.OpenNs, d.Phases.WorkNs, d.Phases.CloseNs = all.openNs, all.workNs, all.closeNs
	d.Tally.Ops, d.Tally.Bytes = all.count.ops, all.count.bytes
	d.Tally.Threads, d.Tally.QueueDepth = j.Threads, 1
	checksum := all.count.checksum
	if j.writes() {
		// The controller reads the written bytes after this pass.
		checksum = 0
	}
	d.Tally.Checksum = fmt.Sprintf("%016x", checksum)
	if j.Workload == "update" {
		d.Parts = &parts{all.count.readNs, all.count.loopNs, all.count.writeNs, s.clockNs}
	}
	if warm > 0 {
		// What it reached is not said: its offsets are its own.
		return d, nil
	}
	d.Tally.DistinctBytes, d.Tally.DistinctPages = s.reached.bytes, &s.reached.pages
	if j.percent < 100 {
		d.Tally.DistinctBlockBytes = &s.reached.blocks
	}
	d.Seen = map[string]float64{
		"collections": float64(all.seen.count), "collection_ns": float64(all.seen.stoppedNs),
	}
	if s.stopper != nil {
		s.stopper.readings(d.Seen)
	}
	if s.loopBytesPerS > 0 {
		d.Seen["loop_bytes_per_s"] = s.loopBytesPerS
	}
	return d, nil
}

// beside makes a pass while what is beside the timed one is at work.
func (s *session) beside(timed bool, d *done, pass func() (*passed, error)) (*passed, error) {
	if !timed {
		return pass()
	}
	if s.stopper != nil {
		s.stopper.begin()
	}
	if s.beat != nil {
		s.beat.begin()
	}
	all, err := pass()
	if s.stopper != nil {
		s.stopper.stop()
	}
	if s.beat != nil {
		d.Beats = s.beat.end()
	}
	if s.stopper != nil {
		s.stopper.wait()
	}
	return all, err
}

func (s *session) end() {
	if s.beat != nil {
		s.beat.leave()
	}
	if s.stopper != nil {
		s.stopper.leave()
	}
	if s.team != nil {
		s.team.release(s.job)
		for at, w := range s.team.ways {
			release(w, s.team.consumers[at].destination)
		}
	}
	if s.pinned != nil {
		_ = s.pinned.unmap()
	}
}

// release gives memory back that is no part of the heap. A failure would only leak it.
func release(w way, more ...[]byte) {
	switch it := w.(type) {
	case *calls:
		more = append(more, it.room)
	case *direct:
		more = append(more, it.room)
	case *scanner:
		more = append(more, it.room)
	case *mapper:
		more = append(more, it.room)
	case *written:
		more = append(more, it.source, it.room, it.before)
	}
	for _, memory := range more {
		if memory != nil {
			_ = syscall.Munmap(memory)
		}
	}
}

func clockNs() int64 {
	const times = 4096
	begun := time.Now()
	for range times {
		_ = time.Now()
	}
	return int64(time.Since(begun)) / times
}

// Of the consume's loop by itself. The fastest stretch counts, because interference only makes others slower.
const loopBytes, stretchBytes, stretches = 32 << 10, 1 << 20, 8

func loopAlone(j *job) (float64, error) {
	memory, err := memoryOf(min(j.BlockBytes, loopBytes))
	if err != nil {
		return 0, err
	}
	defer syscall.Munmap(memory)
	words := offsets{state: j.Seed}
	for at := range memory {
		memory[at] = byte(words.output())
	}
	alone := *j
	alone.Workload, alone.Threads, alone.Aligned = "scan", 1, true
	alone.Range.Offset, alone.Range.Bytes, alone.BlockBytes = 0, uint64(len(memory)), uint64(len(memory))
	alone.Ops = max(1, stretchBytes/alone.BlockBytes)
	looks := &consumer{does: consumesByName[j.Consume], percent: 100}
	fastest := 0.0
	for range stretches {
		var n count
		again := mapped{mapping: &mapping{bytes: memory}}
		o := offsetsOf(&alone, 0)
		begun := time.Now()
		again.withoutCalls(o, looks, &n)
		fastest = max(fastest, float64(n.bytes)/max(1e-9, time.Since(begun).Seconds()))
	}
	return fastest, nil
}
