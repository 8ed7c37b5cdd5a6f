package machine

import (
	"fmt"
	"io"
	"sync"
)

// maxConsole is how many characters wait for whoever reads the console. If there are more, the oldest are lost.
const maxConsole = 64 << 10

// Console is a server's serial console. What is printed while nobody has it open is lost, as on a serial line.
type Console struct {
	mu     sync.Mutex
	open   bool
	waits  []byte    // printed and not read yet
	real   bool      // a real machine prints, and the simulation does not
	keys   io.Writer // gets what is typed on the console of a real machine that runs
	prompt string    // what runs on the server asks this after each line; "" = nothing reads what is typed
}

// Open attaches to the console. It reports whether nobody else has it.
func (c *Console) Open() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open {
		return false
	}
	c.open, c.waits = true, nil
	return true
}

// Close detaches from the console.
func (c *Console) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open, c.waits = false, nil
}

// Read returns at most len(p) characters that were printed; 0 if there are none. It does not wait.
func (c *Console) Read(p []byte) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := copy(p, c.waits)
	c.waits = c.waits[n:]
	return n
}

// Connect connects a real machine that has started: keys gets what is typed, and must not block. nil disconnects it.
func (c *Console) Connect(keys io.Writer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keys = keys
}

// Write prints what a real machine has written. It returns no error.
func (c *Console) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.print(string(b))
	return len(b), nil
}

// Type is what somebody types. If something runs on the server, it echoes it and asks again after each line.
func (c *Console) Type(text []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.keys != nil {
		_, _ = c.keys.Write(text) // a machine that reads nothing loses it
	}
	if c.prompt == "" {
		return
	}
	for _, b := range text {
		if b == '\r' {
			c.print("\r\n" + c.prompt)
			continue
		}
		c.print(string([]byte{b}))
	}
}

// Break is a break of the line.
func (c *Console) Break() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.prompt != "" {
		c.print("[break]\r\n" + c.prompt)
	}
}

// log prints lines. From then on what runs on the server asks prompt; "" = nothing runs.
func (c *Console) log(prompt, format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.real {
		return
	}
	c.prompt = prompt
	c.print(fmt.Sprintf(format, args...) + "\r\n" + prompt)
}

func (c *Console) print(text string) {
	if !c.open {
		return
	}
	c.waits = append(c.waits, text...)
	if more := len(c.waits) - maxConsole; more > 0 {
		c.waits = c.waits[more:]
	}
}
