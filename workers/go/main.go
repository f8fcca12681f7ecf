// The worker in Go. This file has the conversation: one JSON object per line on stdin and stdout (docs/FORMATS.md).
//
// A "thread" of a job is a goroutine, as programs in Go have them: none is locked to a thread of the kernel. The first one is
// the main goroutine. What a pass needs exists before `prepared`, outside of the heap, so that the collector has nothing to do
// because of it.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"syscall"
)

const protocol = 1

type request struct {
	Hello   *struct{} `json:"hello"`
	Prepare *job      `json:"prepare"`
	Go      *struct {
		Pass uint64 `json:"pass"`
		Warm uint32 `json:"warm"`
	} `json:"go"`
	Bye *struct{} `json:"bye"`
}

type hello struct {
	Protocol int               `json:"protocol"`
	Runtime  string            `json:"runtime"`
	Methods  []string          `json:"methods"`
	Thread   int               `json:"thread"`
	About    map[string]string `json:"about"`
}

type refused struct {
	Pass   uint64 `json:"pass"`
	Reason string `json:"reason"`
}

type failed struct {
	Pass    uint64 `json:"pass"`
	During  string `json:"during"`
	Errno   *int   `json:"errno"`
	Message string `json:"message"`
}

// unavailable is an error: the arm cannot do this here, and the run goes on without it.
type unavailable string

func (it unavailable) Error() string { return string(it) }

// inPhase is an error within a pass.
type inPhase struct {
	phase string
	error
}

func (it inPhase) Unwrap() error { return it.error }

func main() {
	worker := worker{}
	requests := bufio.NewReader(os.Stdin)
	for {
		line, err := requests.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			reply, last := worker.answer(line)
			if last {
				break
			}
			text, _ := json.Marshal(reply)
			// A closed stdout means that the controller is gone.
			if _, err := os.Stdout.Write(append(text, '\n')); err != nil {
				os.Exit(1)
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			os.Exit(1)
		}
	}
	worker.end()
}

// worker is the state of the conversation.
type worker struct {
	session *session
	// The last pass heard of, for replies to lines that name none.
	pass uint64
}

// answer makes the reply to a line; the other result says that there is none, because it was the last one.
func (w *worker) answer(line []byte) (reply map[string]any, last bool) {
	var asked request
	if err := json.Unmarshal(line, &asked); err != nil {
		return w.refusal(fmt.Errorf("not a request: %w: %.80q", err, line)), false
	}
	switch {
	case asked.Bye != nil:
		return nil, true
	case asked.Hello != nil:
		return map[string]any{"hello": introduction()}, false
	case asked.Prepare != nil:
		// The old session's memory and mappings are freed before the new session is made.
		w.end()
		w.pass = asked.Prepare.Pass
		made, err := prepare(asked.Prepare)
		if err != nil {
			return w.refusal(err), false
		}
		w.session = made
		return map[string]any{"prepared": map[string]any{"pass": w.pass, "pid": os.Getpid()}}, false
	case asked.Go != nil:
		w.pass = asked.Go.Pass
		if w.session == nil {
			return w.refusal(errors.New("`go` came, but nothing is prepared")), false
		}
		done, err := w.session.pass(asked.Go.Warm)
		if err != nil {
			return w.refusal(err), false
		}
		done.Pass = w.pass
		return map[string]any{"done": done}, false
	default:
		return w.refusal(fmt.Errorf("not a request: %.80q", line)), false
	}
}

func (w *worker) refusal(err error) map[string]any {
	var reason unavailable
	if errors.As(err, &reason) {
		return map[string]any{"unavailable": refused{w.pass, string(reason)}}
	}
	during := "prepare"
	var within inPhase
	if errors.As(err, &within) {
		during = within.phase
	}
	var errno *int
	var number syscall.Errno
	if errors.As(err, &number) {
		value := int(number)
		errno = &value
	}
	return map[string]any{"failed": failed{w.pass, during, errno, err.Error()}}
}

func (w *worker) end() {
	if w.session != nil {
		w.session.end()
		w.session = nil
	}
}

func introduction() hello {
	return hello{
		Protocol: protocol,
		Runtime:  "go " + strings.TrimPrefix(runtime.Version(), "go"),
		Methods:  methods,
		// Where the main goroutine is now; it can move.
		Thread: syscall.Gettid(),
		About: map[string]string{
			"vm":         runtime.Compiler + " " + runtime.GOOS + "/" + runtime.GOARCH,
			"home":       os.Getenv("GOROOT"),
			"flags":      flags(),
			"processors": strconv.Itoa(runtime.NumCPU()),
		},
	}
}

// flags are what it was built with (`GOAMD64`, …) and what is in force now.
func flags() string {
	var all []string
	if built, ok := debug.ReadBuildInfo(); ok {
		for _, it := range built.Settings {
			ofBuild := strings.HasPrefix(it.Key, "GO") && it.Key != "GOOS" && it.Key != "GOARCH"
			if ofBuild || it.Key == "DefaultGODEBUG" {
				all = append(all, it.Key+"="+it.Value)
			}
		}
	}
	percent := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(percent)
	if percent[0].Value.Kind() == metrics.KindUint64 {
		all = append(all, fmt.Sprintf("GOGC=%d", percent[0].Value.Uint64()))
	}
	return strings.Join(append(all, fmt.Sprintf("GOMAXPROCS=%d", runtime.GOMAXPROCS(0))), " ")
}
