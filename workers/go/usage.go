package main

import (
	"runtime/debug"
	"syscall"
)

// usage is what the process spent, by getrusage(2): goroutines move between its threads, so that those of a pass cannot be told
// from the runtime's own.
type usage struct {
	UserNs              int64 `json:"user_ns"`
	SystemNs            int64 `json:"system_ns"`
	MinorFaults         int64 `json:"minor_faults"`
	MajorFaults         int64 `json:"major_faults"`
	VoluntarySwitches   int64 `json:"voluntary_switches"`
	InvoluntarySwitches int64 `json:"involuntary_switches"`
}

func usageNow() usage {
	var now syscall.Rusage
	// It cannot fail with these arguments.
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &now)
	return usage{
		now.Utime.Nano(), now.Stime.Nano(), int64(now.Minflt), int64(now.Majflt), int64(now.Nvcsw), int64(now.Nivcsw),
	}
}

func (now usage) since(before usage) usage {
	return usage{
		max(0, now.UserNs-before.UserNs), max(0, now.SystemNs-before.SystemNs),
		now.MinorFaults - before.MinorFaults, now.MajorFaults - before.MajorFaults,
		now.VoluntarySwitches - before.VoluntarySwitches, now.InvoluntarySwitches - before.InvoluntarySwitches,
	}
}

// collections are what the collector did, and how long it stopped all goroutines for it.
type collections struct{ count, stoppedNs int64 }

var history debug.GCStats

// Stops nobody, which runtime.ReadMemStats does.
func collectionsNow() collections {
	debug.ReadGCStats(&history)
	return collections{history.NumGC, int64(history.PauseTotal)}
}

func (now collections) since(before collections) collections {
	return collections{now.count - before.count, now.stoppedNs - before.stoppedNs}
}
