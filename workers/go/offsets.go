package main

import (
	"math/bits"
	"slices"
)

// offsets are the blocks that a thread of a pass reads, in their order, as docs/FORMATS.md says under "Offsets".
type offsets struct {
	random     bool
	start, end uint64
	block      uint64
	slots      uint64
	stride     uint64
	state      uint64
	following  uint64
	// How many blocks this thread reads.
	blocks uint64
}

func offsetsOf(j *job, thread uint64) *offsets {
	o := &offsets{random: j.isRandom(), start: j.Range.Offset, end: j.end(), block: j.BlockBytes}
	o.slots, o.stride = max(1, j.Range.Bytes/o.block), o.block
	if !j.Aligned {
		o.slots, o.stride = j.Range.Bytes-o.block+1, 1
	}
	o.state = j.Seed + thread
	o.state = o.output()
	each, rest := j.Ops/j.Threads, j.Ops%j.Threads
	o.blocks = each
	if thread < rest {
		o.blocks++
	}
	before := each*thread + min(thread, rest)
	o.following = o.start + before%((j.Range.Bytes+o.block-1)/o.block)*o.block
	return o
}

// output is one of SplitMix64.
func (o *offsets) output() uint64 {
	o.state += 0x9E3779B97F4A7C15
	z := o.state
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

func (o *offsets) drawn() uint64 {
	slot, _ := bits.Mul64(o.output(), o.slots)
	return o.start + slot*o.stride
}

func (o *offsets) next() uint64 {
	if o.random {
		return o.drawn()
	}
	here := o.following
	if o.following += o.block; o.following >= o.end {
		o.following = o.start
	}
	return here
}

func (o *offsets) length(offset uint64) uint64 { return min(o.block, o.end-offset) }

// reached is what a pass reaches of its file, each byte and each page once. It is computed outside of the timed phases.
type reached struct {
	bytes, pages       uint64
	bytesEnd, pagesEnd uint64
	page, looksEvery   uint64
	percent            uint64
	// Of the whole blocks, unless all of each is consumed.
	blocks, blocksEnd uint64
}

func reachedBy(j *job, page uint64) (*reached, error) {
	r := &reached{page: page, looksEvery: 1, percent: j.percent}
	if j.Consume == "touch" && !j.writes() {
		r.looksEvery = touchBytes
	}
	if j.isRandom() {
		return r, r.random(j)
	}
	r.ascending(j)
	return r, nil
}

// random goes through the slots in their order: by a bit for each slot, or by a word for each block, whichever takes less
// memory. It is not of the heap: the collector would be busy with it, and give it back while the pass runs.
func (r *reached) random(j *job) error {
	first := offsetsOf(j, 0)
	slotOf := func(offset uint64) uint64 { return (offset - first.start) / first.stride }
	each := func(slot uint64) { r.block(first.start+slot*first.stride, first.block) }
	byBits := (first.slots+63)/64 <= j.Ops
	words, err := wordsOf(min((first.slots+63)/64, j.Ops))
	if err != nil {
		return err
	}
	defer free(words)
	count := 0
	for thread := uint64(0); thread < j.Threads; thread++ {
		o := offsetsOf(j, thread)
		for left := o.blocks; left > 0; left-- {
			slot := slotOf(o.drawn())
			if byBits {
				words[slot/64] |= 1 << (slot % 64)
			} else {
				words[count] = slot
				count++
			}
		}
	}
	if !byBits {
		slices.Sort(words)
		for _, slot := range words {
			each(slot)
		}
		return nil
	}
	for at, word := range words {
		for ; word != 0; word &= word - 1 {
			each(uint64(at)*64 + uint64(bits.TrailingZeros64(word)))
		}
	}
	return nil
}

func (r *reached) ascending(j *job) {
	covered, offset := j.Range.Bytes, j.Range.Offset
	if j.Ops <= j.Range.Bytes/j.BlockBytes {
		covered = j.Ops * j.BlockBytes
	}
	end := offset + covered
	// Whole blocks leave no gap: all but the last one are one interval.
	if joined := (covered - 1) / j.BlockBytes * j.BlockBytes; r.percent == 100 && joined > 0 {
		offset += joined
		r.add(j.Range.Offset, offset, offset-j.BlockBytes+(j.BlockBytes-1)/r.looksEvery*r.looksEvery)
	}
	for ; offset < end; offset += j.BlockBytes {
		r.block(offset, min(j.BlockBytes, end-offset))
	}
}

func (r *reached) block(offset, length uint64) {
	if from := max(offset, r.blocksEnd); offset+length > from {
		r.blocks += offset + length - from
		r.blocksEnd = offset + length
	}
	if consumed := partOf(length, r.percent); consumed > 0 {
		r.add(offset, offset+consumed, offset+(consumed-1)/r.looksEvery*r.looksEvery)
	}
}

// add takes intervals whose starts and ends ascend, so that each one adds what lies beyond the one before it.
func (r *reached) add(start, end, last uint64) {
	if from := max(start, r.bytesEnd); end > from {
		r.bytes += end - from
		r.bytesEnd = end
	}
	pageEnd := last/r.page + 1
	if from := max(start/r.page, r.pagesEnd); pageEnd > from {
		r.pages += pageEnd - from
		r.pagesEnd = pageEnd
	}
}

func partOf(length, percent uint64) uint64 {
	high, low := bits.Mul64(length, percent)
	part, _ := bits.Div64(high, low, 100)
	return part
}
