package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.temper.dev/temper/test/stack"
)

// memoryEvery is the time between two looks at the memory of the processes.
const memoryEvery = 3 * time.Second

// memoryLog has the memory of processes over the legs of a run.
type memoryLog struct {
	processes []stack.Process
	done      chan struct{}
	ended     sync.WaitGroup
	once      sync.Once

	mu    sync.Mutex
	names []string             // of the legs
	legs  []map[string][]int64 // bytes of each process in each leg, by its name
}

// watchMemory looks at the memory of the processes until stop is called.
func watchMemory(processes []stack.Process) *memoryLog {
	m := &memoryLog{processes: processes, done: make(chan struct{})}
	m.begin("start")
	m.ended.Go(func() {
		tick := time.NewTicker(memoryEvery)
		defer tick.Stop()
		for {
			select {
			case <-m.done:
				return
			case <-tick.C:
				m.look()
			}
		}
	})
	return m
}

// begin has a leg begin.
func (m *memoryLog) begin(leg string) {
	m.mu.Lock()
	m.names, m.legs = append(m.names, leg), append(m.legs, map[string][]int64{})
	m.mu.Unlock()
	m.look()
}

func (m *memoryLog) look() {
	m.mu.Lock()
	defer m.mu.Unlock()
	leg := m.legs[len(m.legs)-1]
	for _, p := range m.processes {
		leg[p.Name] = append(leg[p.Name], memoryOf(p))
	}
}

func (m *memoryLog) stop() {
	m.once.Do(func() { close(m.done) })
	m.ended.Wait()
}

// print prints for each process its memory at the beginning, the quarters and the end of each leg.
func (m *memoryLog) print() {
	const quarters = 4
	fmt.Printf("  memory in MiB at 0, 25, 50, 75 and 100 %% of each leg (PostgreSQL: the shares of all its processes)\n")
	for _, p := range m.processes {
		fmt.Printf("    %-13s", p.Name)
		most := peakOf(p.PID) // of PostgreSQL's many processes only one
		for i, leg := range m.legs[1:] {
			all := leg[p.Name]
			most = max(most, slices.Max(all))
			fmt.Printf(" %s", m.names[i+1])
			for q := range quarters + 1 {
				fmt.Printf(" %d", all[(len(all)-1)*q/quarters]>>20)
			}
			fmt.Print(";")
		}
		fmt.Printf(" at most %d\n", most>>20)
	}
}

// memoryOf is the memory of a process in bytes. PostgreSQL is many processes that share most of theirs, so each counts with its share.
func memoryOf(p stack.Process) int64 {
	if p.Role != "postgres" {
		return rssOf(p.PID)
	}
	total := shareOf(p.PID)
	kids, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", p.PID, p.PID))
	if err != nil {
		return total
	}
	for _, f := range strings.Fields(string(kids)) {
		if kid, err := strconv.Atoi(f); err == nil {
			total += shareOf(kid)
		}
	}
	return total
}

// shareOf is the resident memory of a process in bytes, where what n processes share counts as an nth (proc(5), Pss).
func shareOf(pid int) int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0 // it has ended
	}
	_, rest, _ := strings.Cut(string(b), "\nPss:")
	f := strings.Fields(rest)
	if len(f) == 0 {
		return 0
	}
	kib, _ := strconv.ParseInt(f[0], 10, 64) // 0 if it is no number
	return kib << 10
}
