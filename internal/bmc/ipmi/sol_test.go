package ipmi

import (
	"testing"

	"github.com/bougou/go-ipmi/pkg/types"
	"github.com/stretchr/testify/require"
)

// screen collects what is delivered, until it is full.
type screen struct {
	text string
	full bool
}

func (s *screen) deliver(text []byte) bool {
	if !s.full {
		s.text += string(text)
	}
	return !s.full
}

func TestWhatTheBMCPrints(t *testing.T) {
	t.Parallel()
	var s sol
	var out screen
	packet := func(sequence uint8, text string) types.SOLPayloadPacket {
		return types.SOLPayloadPacket{SequenceNumber: sequence, CharacterData: []byte(text)}
	}
	for i, c := range []struct {
		session uint32
		packet  types.SOLPayloadPacket
		full    bool
		shown   string
		count   int // of the acknowledgement; -1 = none
	}{
		{1, packet(7, "a"), false, "a", 1},
		{2, packet(7, "a"), false, "a", 1},                              // it comes again
		{3, packet(7, "abc"), false, "abc", 3},                          // and with more characters
		{4, packet(7, "a"), false, "abc", 3},                            // and with less
		{5, packet(8, "d"), true, "abc", -1},                            // there is no room
		{6, packet(8, "d"), false, "abcd", 1},                           // now there is
		{9, packet(15, "e"), false, "abcde", 1},                         // others were lost
		{8, packet(14, "x"), false, "abcde", -1},                        // overtaken
		{10, packet(1, "f"), false, "abcdef", 1},                        // 0 is skipped
		{11, packet(0, "x"), false, "abcdef", -1},                       // an acknowledgement has no characters
		{12, packet(2, ""), false, "abcdef", 0},                         // an event
		{13, packet(3, string(make([]byte, 256))), false, "abcdef", -1}, // nobody can acknowledge so many
	} {
		out.full = c.full
		ack, ended := s.receive(c.packet, c.session, out.deliver)
		require.False(t, ended)
		require.Equal(t, c.shown, out.text, "%d", i)
		if c.count < 0 {
			require.Nil(t, ack, "%d", i)
			continue
		}
		require.Equal(t, &types.SOLPayloadPacket{AckedSequenceNumber: c.packet.SequenceNumber, AcceptedCharacterCount: uint8(c.count)}, ack, "%d", i)
	}
	_, ended := s.receive(types.SOLPayloadPacket{ControlByte: solDeactivated}, 20, out.deliver)
	require.True(t, ended)
}

func TestWhatTheBMCAcknowledges(t *testing.T) {
	t.Parallel()
	var s sol
	answer := func(sequence, count, control uint8) {
		s.receive(types.SOLPayloadPacket{AckedSequenceNumber: sequence, AcceptedCharacterCount: count, ControlByte: control}, 1, nil)
	}
	s.send([]byte("abc"), 0)
	require.EqualValues(t, 1, s.pending.SequenceNumber)
	answer(0, 3, 0)
	answer(2, 3, 0)
	require.NotNil(t, s.pending, "other packets")
	answer(1, 1, 0x40)
	require.Equal(t, "bc", string(s.pending.CharacterData), "the rest")
	require.EqualValues(t, 2, s.pending.SequenceNumber)
	answer(2, 0, 0x40)
	require.True(t, s.refused)
	s.again()
	require.False(t, s.refused)
	require.Equal(t, 1, s.refusals)
	require.Equal(t, "bc", string(s.pending.CharacterData))
	answer(2, 2, 0)
	require.NotNil(t, s.pending, "the answer to the packet before")
	answer(3, 2, 0)
	require.Nil(t, s.pending)

	s.send([]byte("x"), 0)
	require.Zero(t, s.refusals)
	answer(4, 0, 0x40|solUnavailable)
	require.Nil(t, s.pending, "the server is off")
	for range 11 {
		s.send(nil, solBreak)
		answer(s.sequence, 0, 0)
		require.Nil(t, s.pending, "an operation has no characters")
	}
	s.send([]byte("x"), 0)
	require.EqualValues(t, 1, s.pending.SequenceNumber, "after 15")
}

// Whoever has the keys may still send nonsense.
func FuzzAPacketOfTheConsole(f *testing.F) {
	for _, p := range []types.SOLPayloadPacket{
		{SequenceNumber: 1, CharacterData: []byte("login: ")},
		{AckedSequenceNumber: 1, AcceptedCharacterCount: 2, ControlByte: 0x40},
		{SequenceNumber: 2, AckedSequenceNumber: 1, AcceptedCharacterCount: 3, ControlByte: solUnavailable, CharacterData: []byte("x")},
	} {
		f.Add(p.Pack(), uint32(1), p.Pack(), uint32(2), false)
	}
	f.Fuzz(func(t *testing.T, first []byte, firstSession uint32, second []byte, secondSession uint32, full bool) {
		var s sol
		s.send([]byte("abc"), 0)
		for i, payload := range [][]byte{first, second} {
			var p types.SOLPayloadPacket
			if p.Unpack(payload) != nil {
				continue
			}
			before, pending := s.last, s.pending
			shown := 0
			ack, _ := s.receive(p, []uint32{firstSession, secondSession}[i], func(text []byte) bool {
				require.NotEmpty(t, text)
				shown += len(text)
				return !full
			})
			require.LessOrEqual(t, shown, len(p.CharacterData))
			if ack != nil {
				require.Equal(t, p.SequenceNumber, ack.AckedSequenceNumber)
				require.Zero(t, ack.SequenceNumber, "an acknowledgement wants none")
				require.GreaterOrEqual(t, int(ack.AcceptedCharacterCount), len(p.CharacterData))
			} else {
				require.Equal(t, before, s.last, "what was not acknowledged may come again")
			}
			if s.pending != nil && s.pending != pending {
				require.Less(t, len(s.pending.CharacterData), len(pending.CharacterData))
				require.NotZero(t, s.pending.SequenceNumber)
			}
		}
	})
}
