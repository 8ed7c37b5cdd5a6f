package basicauth

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"golang.org/x/crypto/bcrypt"
)

// door is an authenticator whose comparisons are counted, with a clock of its own.
type door struct {
	*Authenticator
	path  string
	lines *observer.ObservedLogs
	clock time.Time

	mu       sync.Mutex
	compared []int // the costs of the hashes, in order
	running  int
	most     int
	hold     chan struct{} // nil = a comparison takes no time
}

// newDoor has the users alice and carol, with the passwords right-alice and right-carol.
func newDoor(t *testing.T) *door {
	t.Helper()
	core, lines := observer.New(zapcore.WarnLevel)
	d := &door{path: filepath.Join(t.TempDir(), "htpasswd"), lines: lines, clock: time.Now()}
	d.write(t, "right-", bcrypt.MinCost, "alice", "carol")
	u, err := openUsers(d.path, zap.New(core))
	require.NoError(t, err)
	u.compare = d.compare
	d.Authenticator = newAuthenticator(u, func() time.Time { return d.clock }, zap.New(core))
	return d
}

func (d *door) write(t *testing.T, prefix string, cost int, names ...string) {
	t.Helper()
	var b bytes.Buffer
	for _, name := range names {
		hash, err := bcrypt.GenerateFromPassword([]byte(prefix+name), cost)
		require.NoError(t, err)
		fmt.Fprintf(&b, "%s:%s\n", name, hash)
	}
	require.NoError(t, os.WriteFile(d.path+".new", b.Bytes(), 0o600))
	require.NoError(t, os.Rename(d.path+".new", d.path))
}

func (d *door) compare(hash, password []byte) error {
	cost, err := bcrypt.Cost(hash)
	if err != nil {
		return err
	}
	d.mu.Lock()
	d.compared = append(d.compared, cost)
	d.running++
	d.most = max(d.most, d.running)
	hold := d.hold
	d.mu.Unlock()
	if hold != nil {
		<-hold
	}
	defer func() {
		d.mu.Lock()
		d.running--
		d.mu.Unlock()
	}()
	return bcrypt.CompareHashAndPassword(hash, password)
}

func (d *door) try(name, password, source string) result {
	l, _ := d.check(context.Background(), name, password, source)
	return l
}

func (d *door) comparisons() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.compared)
}

func TestAPasswordIsVerifiedOnce(t *testing.T) {
	d := newDoor(t)
	for range 5 {
		require.Equal(t, right, d.try("alice", "right-alice", "10.0.0.1"))
	}
	require.Equal(t, 1, d.comparisons())
	require.Equal(t, wrong, d.try("alice", "right-alicf", "10.0.0.1"), "only that password is remembered")
	require.Equal(t, wrong, d.try("carol", "right-alice", "10.0.0.1"), "and only for that user")
	require.Equal(t, 3, d.comparisons())

	d.clock = d.clock.Add(provenFor)
	require.Equal(t, right, d.try("alice", "right-alice", "10.0.0.1"))
	require.Equal(t, 4, d.comparisons(), "it is not remembered for ever")

	d.write(t, "other-", bcrypt.MinCost, "alice", "carol")
	require.Equal(t, wrong, d.try("alice", "right-alice", "10.0.0.1"), "a password that was changed is worth nothing at once")
	require.Equal(t, right, d.try("alice", "other-alice", "10.0.0.1"))
	d.write(t, "other-", bcrypt.MinCost, "carol")
	require.Equal(t, wrong, d.try("alice", "other-alice", "10.0.0.1"), "so is that of a user who was taken away")
}

func TestWhoIsUnknownCostsAsMuchAsWhoIsKnown(t *testing.T) {
	d := newDoor(t)
	d.write(t, "right-", bcrypt.MinCost+1, "alice", "carol")
	require.Equal(t, wrong, d.try("alice", "wrong", "10.0.0.1"))
	require.Equal(t, wrong, d.try("mallory", "wrong", "10.0.0.1"))
	require.Equal(t, wrong, d.try("mallory", "right-alice", "10.0.0.1"), "with somebody else's password, too")
	require.Equal(t, wrong, d.try("", "", "10.0.0.1"))
	require.Equal(t, []int{bcrypt.MinCost + 1, bcrypt.MinCost + 1, bcrypt.MinCost + 1, bcrypt.MinCost + 1}, d.compared)

	d.write(t, "right-", bcrypt.MinCost)
	require.Equal(t, wrong, d.try("alice", "right-alice", "10.0.0.1"), "nobody comes in by an empty file")
}

func TestAHashThatIsCutShortIsNoEntry(t *testing.T) {
	path := filepath.Join(t.TempDir(), "htpasswd")
	require.NoError(t, os.WriteFile(path, []byte("alice:$2y$05$abc\n"), 0o600))
	_, err := openUsers(path, zap.NewNop())
	require.ErrorContains(t, err, "a line is not user:bcrypt-hash")
	require.NotContains(t, err.Error(), "abc")
}

func TestWhoIsOftenWrongHasToWait(t *testing.T) {
	d := newDoor(t)
	require.Equal(t, right, d.try("carol", "right-carol", "10.0.0.1"))
	for range nameBurst {
		require.Equal(t, wrong, d.try("alice", "guess", "10.0.0.1"))
	}
	before := d.comparisons()
	l, wait := d.check(t.Context(), "alice", "right-alice", "10.0.0.1")
	require.Equal(t, throttled, l, "even with the right one, else a guess would tell")
	require.Positive(t, wait)
	require.LessOrEqual(t, wait, nameInterval)
	require.Equal(t, before, d.comparisons(), "a flood costs nothing")

	require.Equal(t, right, d.try("alice", "right-alice", "10.0.0.2"), "a stranger locks nobody out who is elsewhere")
	require.Equal(t, right, d.try("alice", "right-alice", "10.0.0.1"), "what was verified is known everywhere")
	require.Equal(t, wrong, d.try("bob", "guess", "10.0.0.1"), "other names are counted by themselves")
	d.clock = d.clock.Add(wait)
	require.Equal(t, wrong, d.try("alice", "guess", "10.0.0.1"), "it ends")
}

func TestManyNamesFromOneAddressHaveToWait(t *testing.T) {
	d := newDoor(t)
	for i := range sourceBurst {
		require.Equal(t, wrong, d.try(fmt.Sprintf("name-%d", i), "guess", "10.0.0.1"))
	}
	require.Equal(t, throttled, d.try("one-more", "guess", "10.0.0.1"))
	require.Equal(t, wrong, d.try("one-more", "guess", "10.0.0.2"))
}

func TestAnAddressIsOneHoweverItIsWritten(t *testing.T) {
	for remote, want := range map[string]string{
		"10.0.0.1:77": "10.0.0.1", "[::ffff:10.0.0.1]:77": "10.0.0.1", "[::1]:77": "::1", "@": "@",
		"[2001:db8:1:2:3:4:5:6]:77": "2001:db8:1:2::/64", "[2001:db8:1:2::9]:1": "2001:db8:1:2::/64", "[fe80::1%eth0]:1": "fe80::/64",
	} {
		require.Equal(t, want, sourceOf(remote), remote)
	}
}

func TestWhatIsRememberedOfStrangersIsBounded(t *testing.T) {
	throttle, now := newThrottle(), time.Now()
	for i := range 3 * throttleSize {
		throttle.wrong(now, "alice", fmt.Sprintf("10.1.%d.%d", i/256, i%256))
	}
	require.LessOrEqual(t, len(throttle.recent)+len(throttle.older), 2*throttleSize)
}

// A flood of passwords must leave the processors to the others.
func TestFewPasswordsAreCheckedAtATime(t *testing.T) {
	d := newDoor(t)
	d.hold = make(chan struct{})
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() { d.try("alice", "guess", fmt.Sprintf("10.0.0.%d", i)) })
	}
	require.Eventually(t, func() bool { return d.comparisons() == cap(d.turns) }, 30*time.Second, time.Millisecond)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	l, _ := d.check(ctx, "alice", "guess", "10.0.1.1")
	require.Equal(t, busy, l, "who can't wait is told so")
	close(d.hold)
	all.Wait()
	require.Equal(t, cap(d.turns), d.most)
}

// Requests that wait for their turn together are as many guesses as requests one
// after the other.
func TestManyGuessesAtOnceAreNotMore(t *testing.T) {
	d := newDoor(t)
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() { d.try("alice", fmt.Sprint("guess", i), "10.0.0.1") })
	}
	all.Wait()
	require.LessOrEqual(t, d.comparisons(), nameBurst+cap(d.turns))
}

func TestWhoWasNotLetInIsLoggedButNotWithoutEnd(t *testing.T) {
	d := newDoor(t)
	d.try("alice", "hunter2", "10.0.0.1")
	d.try("al\nice\x1b[31m\xff"+strings.Repeat("x", 5000), "hunter2", "10.0.0.2")
	lines := d.lines.FilterMessage("login refused").All()
	require.Len(t, lines, 2)
	require.Equal(t, map[string]any{"why": "wrong name or password", "user": "alice", "source": "10.0.0.1", "more_not_logged": int64(0)}, lines[0].ContextMap())
	shown := lines[1].ContextMap()["user"].(string)
	require.True(t, strings.HasPrefix(shown, "al?ice?[31m?xxx"), shown)
	require.Less(t, len(shown), 300)
	for i := range 1000 {
		d.try("alice", "hunter2", fmt.Sprintf("10.9.%d.%d", i/256, i%256))
	}
	require.LessOrEqual(t, d.lines.Len(), logBurst)
	d.clock = d.clock.Add(time.Minute)
	d.try("alice", "hunter2", "10.0.0.3")
	last := d.lines.All()[d.lines.Len()-1]
	require.EqualValues(t, 1002-logBurst, last.ContextMap()["more_not_logged"])
	for _, line := range d.lines.All() {
		require.NotContains(t, fmt.Sprint(line.ContextMap()), "hunter2")
	}
}
