package ipmi

import (
	"bytes"
	"testing"

	"github.com/bougou/go-ipmi/pkg/command/chassis"
	"github.com/bougou/go-ipmi/pkg/protocol"
	"github.com/bougou/go-ipmi/pkg/types"
	"github.com/stretchr/testify/require"
)

func testKeys(alg types.IntegrityAlg) keys {
	return keys{integrity: alg, k1: bytes.Repeat([]byte{1}, 20), k2: bytes.Repeat([]byte{2}, 20)}
}

func TestOnlyTheSessionsOwnPacketsAreOpened(t *testing.T) {
	t.Parallel()
	for _, alg := range []types.IntegrityAlg{types.IntegrityAlg_HMAC_SHA1_96, types.IntegrityAlg_HMAC_SHA256_128} {
		k := testKeys(alg)
		sealed, err := k.seal(types.PayloadTypeIPMI, 7, 3, packMessage(&chassis.GetChassisStatusRequest{}, 5))
		require.NoError(t, err)
		payload, sequence, ok := k.open(types.PayloadTypeIPMI, sealed, 7)
		require.True(t, ok)
		require.EqualValues(t, 3, sequence)
		require.Equal(t, packMessage(&chassis.GetChassisStatusRequest{}, 5), payload)

		_, _, ok = k.open(types.PayloadTypeIPMI, sealed, 8)
		require.False(t, ok, "another session")
		for i := range sealed {
			changed := bytes.Clone(sealed)
			changed[i] ^= 0x40
			if _, _, ok := k.open(types.PayloadTypeIPMI, changed, 7); ok {
				require.Less(t, i, 4, "byte %d may not change: the header of RMCP is not authenticated, everything else is", i)
			}
			_, _, ok = k.open(types.PayloadTypeIPMI, sealed[:i], 7)
			require.False(t, ok, "cut off after %d bytes", i)
		}
	}
}

func TestARepeatedPacketIsDropped(t *testing.T) {
	t.Parallel()
	var w window
	for _, c := range []struct {
		sequence uint32
		isNew    bool
	}{{0, false}, {1, true}, {1, false}, {3, true}, {2, true}, {2, false}, {3, false}, {40, true}, {8, false}, {9, true}, {9, false}, {40, false}, {1 << 31, true}, {40, false}} {
		require.Equal(t, c.isNew, w.take(c.sequence), "%d", c.sequence)
	}
}

// A packet may come from anybody who can forge the BMC's address.
func FuzzAPacketFromAnybody(f *testing.F) {
	k := testKeys(types.IntegrityAlg_HMAC_SHA1_96)
	sealed, err := k.seal(types.PayloadTypeIPMI, 7, 3, packMessage(&chassis.GetChassisStatusRequest{}, 5))
	require.NoError(f, err)
	f.Add(sealed, []byte{})
	f.Add([]byte{6, 0, 0xff, 7, 6, 0x11}, []byte{0x81, 0x1c, 0x63, 0x20, 0x04, 0x01, 0xc1, 0x1a})
	f.Fuzz(func(t *testing.T, packet, plain []byte) {
		_, _, _ = k.open(types.PayloadTypeIPMI, packet, 7)
		_, _, _ = k.open(types.PayloadTypeSOL, packet, 7)
		_, _ = setupPayload(packet, types.PayloadTypeRmcpOpenSessionResponse)
		// Whoever has the keys may still send nonsense.
		if len(plain) < 500 {
			sealed, err := k.seal(types.PayloadTypeIPMI, 7, 3, plain)
			require.NoError(t, err)
			out, _, ok := k.open(types.PayloadTypeIPMI, sealed, 7)
			require.True(t, ok)
			require.True(t, bytes.Equal(plain, out))
		}
		if m, ok := parseMessage(plain); ok {
			_, _ = bridge{hops: make([]hop, 2)}.unpack(m, types.CommandGetChassisStatus)
			var status chassis.GetChassisStatusResponse
			_ = status.Unpack(m.data)
			_, _ = parseEvent(m.data)
			room := roomIn(m.data)
			require.True(t, room > 0 && room <= solMaxRoom, "%d", room)
			_ = activation{link: &link{}}.isOwner(m)
			var option chassis.GetSystemBootOptionsParamResponse
			if option.Unpack(m.data) == nil {
				var flags types.BootOptionParam_BootFlags
				if flags.Unpack(option.ParamData) == nil {
					_ = bootFromFlags(flags)
				}
			}
		}
	})
}

// Answers come by themselves after an empty answer to Send Message, or within that answer.
func TestAnswersOverABridge(t *testing.T) {
	t.Parallel()
	answer := func(c types.Command, code types.CompletionCode, data []byte) []byte {
		return protocol.BuildIPMIResponse(uint8(c.NetFn), c.ID, 5, uint8(code), data)
	}
	status := answer(types.CommandGetChassisStatus, 0, []byte{1, 0, 0})
	for name, c := range map[string]struct {
		hops   int
		packet []byte
		want   string // "" = it goes on waiting
	}{
		"by itself":             {1, status, "status"},
		"accepted":              {1, answer(types.CommandSendMessage, 0, nil), ""},
		"within":                {1, answer(types.CommandSendMessage, 0, status), "status"},
		"within twice":          {2, answer(types.CommandSendMessage, 0, answer(types.CommandSendMessage, 0, status)), "status"},
		"accepted by the next":  {2, answer(types.CommandSendMessage, 0, answer(types.CommandSendMessage, 0, nil)), ""},
		"refused":               {1, answer(types.CommandSendMessage, types.CodeSendMessageNAKOnWrite, nil), "refusal"},
		"refused by the next":   {2, answer(types.CommandSendMessage, 0, answer(types.CommandSendMessage, types.CodeSendMessageNAKOnWrite, nil)), "refusal"},
		"nonsense within":       {1, answer(types.CommandSendMessage, 0, []byte{1, 2, 3}), ""},
		"of another command":    {1, answer(types.CommandGetDeviceID, 0, nil), ""},
		"too deep for the hops": {1, answer(types.CommandSendMessage, 0, answer(types.CommandSendMessage, 0, status)), ""},
	} {
		m, ok := parseMessage(c.packet)
		require.True(t, ok, name)
		out, ok := bridge{hops: make([]hop, c.hops)}.unpack(m, types.CommandGetChassisStatus)
		require.Equal(t, c.want != "", ok, name)
		switch c.want {
		case "status":
			require.Equal(t, []byte{1, 0, 0}, out.data, name)
		case "refusal":
			require.Equal(t, types.CodeSendMessageNAKOnWrite, out.code, name)
		}
	}
}

// To 0x72 on channel 6, and to the same over 0x82 on channel 0 (IPMI 2.0, 6.13.3).
func TestCommandsOverABridge(t *testing.T) {
	t.Parallel()
	status := &chassis.GetChassisStatusRequest{}
	inner := []byte{0x72, 0x00, 0x8e, 0x20, 0x14, 0x01, 0xcb}
	single := bridge{local: 0x20, hops: []hop{{6, 0x72}}}.pack(status, 5)
	require.Equal(t, append([]byte{0x20, 0x18, 0xc8, 0x81, 0x14, 0x34, 0x46}, inner...), single[:len(single)-1])
	dual := bridge{local: 0x20, hops: []hop{{0, 0x82}, {6, 0x72}}}.pack(status, 5)
	middle := append([]byte{0x82, 0x18, 0x66, 0x20, 0x14, 0x34, 0x46}, inner...)
	require.Equal(t, append([]byte{0x20, 0x18, 0xc8, 0x81, 0x14, 0x34, 0x40}, middle...), dual[:len(dual)-2])
	require.Zero(t, protocol.Checksum(single[3:]))
	require.Zero(t, protocol.Checksum(dual[3:]))
}
