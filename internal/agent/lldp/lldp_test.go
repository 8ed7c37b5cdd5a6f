package lldp_test

import (
	"context"
	"encoding/json"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"go.temper.dev/temper/internal/agent/lldp"
)

// frame is a frame of a switch 04:88:5a:92:ec:54 whose port Ethernet1/18 the machine is connected to, with the pieces of more.
func frame(more ...byte) []byte {
	head := []byte{0x01, 0x80, 0xc2, 0, 0, 0x0e, 0x88, 0x5a, 0x92, 0xec, 0x54, 0x59, 0x88, 0xcc}
	chassis := append([]byte{1 << 1, 7, 4}, 0x88, 0x5a, 0x92, 0xec, 0x54, 0x59)
	port := append([]byte{2 << 1, 13, 5}, "Ethernet1/18"...)
	return slices.Concat(head, chassis, port, []byte{3 << 1, 2, 0, 120}, more)
}

func TestParse(t *testing.T) {
	t.Parallel()
	vlan := []byte{127 << 1, 6, 0x00, 0x80, 0xc2, 0x01, 0x00, 0x65}
	found, err := lldp.Parse(frame(slices.Concat(vlan, make([]byte, 30))...))
	require.NoError(t, err, "zeros fill a frame up to its least size")
	text, err := json.Marshal(found)
	require.NoError(t, err)
	require.JSONEq(t, `[[1, "04885a92ec5459"], [2, "0545746865726e6574312f3138"], [3, "0078"], [127, "0080c2010065"]]`, string(text))
	for name, wrong := range map[string][]byte{
		"nothing": nil, "another protocol": append(make([]byte, 12), 0x08, 0x00, 1, 2), "the middle of a piece": frame(127<<1, 9, 1),
		"no pieces": frame()[:14], "a port without a switch": append(frame()[:14], frame()[23:]...),
	} {
		_, err := lldp.Parse(wrong)
		require.Error(t, err, name)
	}
}

// The loopback interface brings a frame back as one that has come.
func TestListen(t *testing.T) {
	t.Parallel()
	const protocol = 0xcc88
	out, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, protocol)
	if err != nil {
		t.Skipf("raw sockets need root: %v", err)
	}
	defer func() { _ = unix.Close(out) }()
	lo, err := net.InterfaceByName("lo")
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	type answer struct {
		found map[string][]lldp.TLV
		err   error
	}
	got := make(chan answer, 1)
	go func() {
		found, err := lldp.Listen(ctx, []string{"lo", "nosuch0"})
		got <- answer{found, err}
	}()
	for {
		require.NoError(t, unix.Sendto(out, append(frame()[:14], 1, 2, 3), 0, &unix.SockaddrLinklayer{Protocol: protocol, Ifindex: lo.Index, Halen: 6}))
		require.NoError(t, unix.Sendto(out, frame(), 0, &unix.SockaddrLinklayer{Protocol: protocol, Ifindex: lo.Index, Halen: 6}))
		select {
		case a := <-got:
			require.ErrorContains(t, a.err, "nosuch0")
			require.Len(t, a.found["lo"], 3)
			require.Equal(t, "\x05Ethernet1/18", string(a.found["lo"][1].Value))
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// It runs beside no test that sends frames.
func TestListeningEnds(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	found, _ := lldp.Listen(ctx, []string{"lo"})
	require.Empty(t, found)
}
