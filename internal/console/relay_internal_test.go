package console

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The first try to open a console has nothing to wait for: what its client has typed by then is sent. Whatever is typed during a
// pause after a failed try is dropped.
func TestAPauseDropsWhatIsTyped(t *testing.T) {
	v := &visit{typed: make(chan []byte, 1)}
	v.typed <- []byte("root\r")
	require.True(t, v.pause(t.Context(), time.Time{}))
	require.Len(t, v.typed, 1)
	require.True(t, v.pause(t.Context(), time.Now().Add(50*time.Millisecond)))
	require.Empty(t, v.typed)
}
