package node_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	. "go.temper.dev/temper/internal/node"
)

func TestEveryVendorMethodReadsOrIsAStep(t *testing.T) {
	steps := map[string]bool{}
	for _, r := range StepRules() {
		if r.Interface == "vendor" {
			steps[r.Step] = true
		}
	}
	used := map[string]bool{}
	for _, name := range HardwareTypes() {
		h, _ := Hardware(name)
		for _, i := range h.Implementations["vendor"] {
			for _, m := range i.Methods {
				require.NotEmpty(t, m.About, m.Name)
				require.NotEqual(t, m.Reads != "", steps[m.Name], "%s of %s", m.Name, i.Name)
				require.False(t, m.Reads != "" && !m.Sync, "%s: who reads waits for the answer", m.Name)
				used[m.Name] = true
			}
		}
	}
	for step := range steps {
		require.True(t, used[step], "%s is a method of no implementation", step)
	}
}

func TestRawBytes(t *testing.T) {
	b, err := RawBytes("0x06 1\t010 0xFF")
	require.NoError(t, err)
	require.Equal(t, []byte{6, 1, 8, 255}, b)
	for _, wrong := range []string{"", "0x06", "0x06 256", "0x06 hunter2", "6,1"} {
		_, err := RawBytes(wrong)
		require.Error(t, err, wrong)
		require.NotContains(t, err.Error(), "hunter2")
	}
}

func TestWhichEventsAreForTemper(t *testing.T) {
	require.True(t, IsEventDestination("https://temper.example.org"+EventPath+"0123456789"))
	require.True(t, IsEventDestination("https://proxy/prefix"+EventPath+"0123456789"))
	for _, other := range []string{"", "https://listener/events", "https://listener/?to=" + EventPath + "x", "https://listener" + EventPath + "x/y", "%zz"} {
		require.False(t, IsEventDestination(other), other)
	}
}
