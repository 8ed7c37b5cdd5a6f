// Command agent is an agent for tests: it says with what it was started, and ends.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Println("called with", os.Args[1:])
	os.Exit(3)
}
