package testenv

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Family returns a process and all processes that it has started, parents first (proc(5), children).
func Family(t testing.TB, pid int) []int {
	t.Helper()
	out := []int{pid}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if errors.Is(err, os.ErrNotExist) {
		return out // it has just ended
	}
	require.NoError(t, err)
	for _, f := range strings.Fields(string(b)) {
		child, err := strconv.Atoi(f)
		require.NoError(t, err)
		out = append(out, Family(t, child)...)
	}
	return out
}
