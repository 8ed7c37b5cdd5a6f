package main

import (
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"time"

	"go.temper.dev/temper/test/stack"
)

// clockTick is USER_HZ, which Linux fixes at 100 for /proc.
const clockTick = 10 * time.Millisecond

// cpuOf returns the processor time that a process has used with all its threads and, for a
// PostgreSQL server, that of its children.
func cpuOf(pid int) time.Duration {
	total := statTime(pid)
	kids, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return total
	}
	for _, f := range strings.Fields(string(kids)) {
		if kid, err := strconv.Atoi(f); err == nil {
			total += statTime(kid)
		}
	}
	return total
}

// statTime reads utime, stime and those of reaped children (proc(5), fields 14 to 17).
func statTime(pid int) time.Duration {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, ok := strings.Cut(string(b), ") ")
	f := strings.Fields(rest)
	if !ok || len(f) < 15 {
		return 0
	}
	var ticks int64
	for _, s := range f[11:15] {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return 0
		}
		ticks += n
	}
	return time.Duration(ticks) * clockTick
}

// rssOf is the resident memory of a process in bytes.
func rssOf(pid int) int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	f := strings.Fields(string(b))
	if len(f) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(f[1], 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}

// usage is the processor time by role.
func usage(s *stack.Stack) map[string]time.Duration {
	out := map[string]time.Duration{}
	for _, p := range s.Processes {
		out[p.Role] += cpuOf(p.PID)
	}
	return out
}

// perDeploy prints the processor time of each role between two readings.
func perDeploy(before, after map[string]time.Duration, n int) string {
	var roles []string
	for r := range after {
		roles = append(roles, r)
	}
	sort.Strings(roles)
	var b strings.Builder
	var total time.Duration
	for _, r := range roles {
		d := after[r] - before[r]
		total += d
		fmt.Fprintf(&b, " %s %.1f", r, float64(d.Microseconds())/1000/float64(n))
	}
	return fmt.Sprintf("ms of CPU each: %.1f =%s", float64(total.Microseconds())/1000/float64(n), b.String())
}

func median(d []time.Duration) time.Duration { return quantile(d, 0.5) }

func quantile(d []time.Duration, q float64) time.Duration {
	if len(d) == 0 {
		return 0
	}
	sorted := append([]time.Duration{}, d...)
	sort.Slice(sorted, func(i, j int) bool { return sorted[i] < sorted[j] })
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

func longest(d []time.Duration) time.Duration {
	var m time.Duration
	for _, x := range d {
		m = max(m, x)
	}
	return m
}

// peakOf returns the most resident memory that a process has had (proc(5), VmHWM).
func peakOf(pid int) int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(b), "VmHWM:")
	f := strings.Fields(rest)
	if len(f) == 0 {
		return 0
	}
	kib, _ := strconv.ParseInt(f[0], 10, 64) // 0 if it is no number
	return kib << 10
}
