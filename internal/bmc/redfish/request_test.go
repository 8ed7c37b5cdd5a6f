package redfish_test

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/bmc/redfish"
	"go.temper.dev/temper/internal/fault"
)

func TestASilentBMCIsBoundedByTheRequestTimeout(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	conf := quick()
	conf.RequestTimeout = time.Second
	s := talk(t, newDriver(t, conf), f.info(nil))
	_, err := s.Power(t.Context())
	require.NoError(t, err)
	f.times(1, http.MethodGet, sysPath, silent)
	begun := time.Now()
	_, err = s.Power(t.Context())
	requireFault(t, err, fault.Unreachable, "no answer in time")
	require.Less(t, time.Since(begun), 30*time.Second, "far below the limit of a whole call")
	_, err = s.Power(t.Context())
	require.NoError(t, err)
}

func TestABMCThatRanOutOfTimeGetsMore(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	conf := quick()
	conf.RequestTimeout, conf.MostTimeout = time.Second, 3*time.Second
	d := newDriver(t, conf)
	open := func(within time.Duration) bmc.Session {
		s, err := d.Open(t.Context(), bmc.Target{Node: nodeID, Info: f.info(nil), AnswerWithin: within})
		require.NoError(t, err)
		t.Cleanup(s.Close)
		return s
	}
	s := open(0)
	_, err := s.Power(t.Context())
	require.NoError(t, err)
	require.Equal(t, time.Second, s.AnswerWithin())
	require.Zero(t, d.Slow())
	f.times(1, http.MethodPost, "/Actions/ComputerSystem.Reset", silent)
	err = s.RequestPower(t.Context(), bmc.RequestOn)
	requireFault(t, err, fault.Unreachable, "no answer in time (at most 1s)")
	require.False(t, bmc.IsNotSent(err))
	require.Equal(t, 2*time.Second, s.AnswerWithin(), "twice as long")
	require.Equal(t, 1, d.Slow())
	require.Equal(t, 3*time.Second, open(time.Hour).AnswerWithin(), "what others have learned, but not more than may be")

	fixed := talk(t, d, f.info(map[string]any{bmc.PropRequestTimeout: "1.5"}))
	f.times(1, http.MethodPost, "/Actions/ComputerSystem.Reset", silent)
	err = fixed.RequestPower(t.Context(), bmc.RequestForceOff)
	requireFault(t, err, fault.Unreachable, "no answer in time (at most 1.5s)")
	require.Equal(t, 1500*time.Millisecond, fixed.AnswerWithin(), "driver_info fixes it")
}

func TestWhoListensIsToldOfEachAnswer(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := talk(t, newDriver(t, quick()), f.info(nil))
	answers := 0
	ctx := bmc.Listening(t.Context(), func(took, within time.Duration) {
		answers++
		require.Positive(t, took)
		require.Equal(t, quick().RequestTimeout, within)
	})
	_, err := s.Power(ctx)
	require.NoError(t, err)
	require.Positive(t, answers)
}

func TestABMCThatCannotBeReachedGetsNoMoreTime(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	conf := quick()
	info := f.info(nil)
	f.srv.Close()
	s := talk(t, newDriver(t, conf), info)
	_, err := s.Power(t.Context())
	requireFault(t, err, fault.Unreachable, "")
	require.True(t, bmc.IsNotSent(err))
	require.Equal(t, conf.RequestTimeout, s.AnswerWithin())
}

func TestTheGuardLearnsWhatIsAskedForAndSaysForHowLong(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var asked []string
	over := false
	guard := func(_ context.Context, r bmc.Request) (time.Time, error) {
		asked = append(asked, r.Name)
		require.Equal(t, quick().RequestTimeout, r.AnswerWithin)
		if over {
			return time.Now(), nil
		}
		return time.Now().Add(r.AnswerWithin), nil
	}
	s, err := newDriver(t, quick()).Open(t.Context(), bmc.Target{Node: nodeID, Info: f.info(nil), Guard: guard})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	require.NoError(t, s.RequestPower(t.Context(), bmc.RequestForceOff))
	require.NoError(t, s.SetBoot(t.Context(), bmc.Boot{Device: bmc.DeviceCDROM}))
	one, two := "http://192.0.2.1/one.iso", "http://192.0.2.1/two.iso"
	require.NoError(t, s.InsertMedia(t.Context(), one))
	require.NoError(t, s.InsertMedia(t.Context(), two), "the other image is ejected first")
	require.Equal(t, []string{"power ForceOff", "boot device cdrom (Once)", bmc.NameInsert(one), bmc.NameEject, bmc.NameInsert(two)}, asked)
	before := len(f.changed())
	over = true
	require.Error(t, s.RequestPower(t.Context(), bmc.RequestOn))
	require.Len(t, f.changed(), before, "its time is over, so it is not sent")
}

func TestNoMoreThanSoManyRequestsAtATime(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	conf := quick()
	conf.MaxPerBMC = 3
	d := newDriver(t, conf)
	// Two accounts on one BMC share its slots.
	full := make(chan struct{})
	var waiting atomic.Int32
	f.times(3, http.MethodGet, "/Processors", func(w http.ResponseWriter, r *http.Request) {
		if waiting.Add(1) == 3 {
			close(full)
		}
		select {
		case <-full:
		case <-r.Context().Done():
		}
		f.serve(w, r)
	})
	infos := []map[string]any{f.info(nil), f.info(map[string]any{"redfish_auth_type": "basic"})}
	var wg sync.WaitGroup
	var failed atomic.Int32
	for i := range 40 {
		s := talk(t, d, infos[i%2])
		wg.Go(func() {
			if _, err := s.Inspect(t.Context()); err != nil {
				failed.Add(1)
			}
		})
	}
	wg.Wait()
	require.Zero(t, failed.Load())
	f.mu.Lock()
	defer f.mu.Unlock()
	require.Equal(t, 3, f.maxBusy, "the slots are all used, and no more")
}

func TestABMCWhoseSlotsAreTakenIsBusyAndTheGuardIsNotAsked(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	conf := quick()
	conf.RequestTimeout, conf.MaxPerBMC = 30*time.Second, 1
	d := newDriver(t, conf)
	asked := false
	s, err := d.Open(t.Context(), bmc.Target{Node: nodeID, Info: f.info(nil), Guard: func(context.Context, bmc.Request) (time.Time, error) {
		asked = true
		return time.Now().Add(time.Minute), nil
	}})
	require.NoError(t, err)
	defer s.Close()
	_, err = s.Power(t.Context())
	require.NoError(t, err)

	arrived, release := make(chan struct{}), make(chan struct{})
	f.times(1, http.MethodGet, "/redfish/v1/Systems", func(w http.ResponseWriter, _ *http.Request) {
		close(arrived)
		<-release
		w.WriteHeader(http.StatusInternalServerError)
	})
	other := talk(t, d, f.info(map[string]any{"redfish_auth_type": "basic"}))
	done := make(chan error, 1)
	go func() { _, err := other.Power(t.Context()); done <- err }()
	<-arrived
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err = s.RequestPower(ctx, bmc.RequestOn)
	requireFault(t, err, fault.Busy, "under way to this BMC already")
	require.Positive(t, bmc.RetryAfter(err))
	require.False(t, asked)
	close(release)
	require.Error(t, <-done)
}

func TestTheGuardIsAskedAgainBeforeARequestIsSentAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var asked atomic.Int32
	lost := fault.New(fault.Lost, "claimed by another")
	guard := func(context.Context, bmc.Request) (time.Time, error) {
		if asked.Add(1) == 1 {
			f.dropTokens() // the session ends between the guard and the request
			return time.Now().Add(time.Minute), nil
		}
		return time.Time{}, lost
	}
	s, err := newDriver(t, quick()).Open(t.Context(), bmc.Target{Node: nodeID, Info: f.info(nil), Guard: guard})
	require.NoError(t, err)
	defer s.Close()
	require.Equal(t, lost, s.RequestPower(t.Context(), bmc.RequestOn), "the guard's own error, as it is")
	require.Empty(t, f.changed())
	require.EqualValues(t, 2, asked.Load())
}

func TestWhoWaitsForAnotherRequestTakesNoSlot(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	conf := quick()
	conf.RequestTimeout, conf.MaxPerBMC = 30*time.Second, 1
	d := newDriver(t, conf)
	waits, over := make(chan struct{}), make(chan struct{})
	s, err := d.Open(t.Context(), bmc.Target{
		Node: nodeID, Info: f.info(nil),
		Await: func(_ context.Context, r bmc.Request) error {
			require.Equal(t, "power On", r.Name)
			close(waits)
			<-over
			return nil
		},
		Guard: func(_ context.Context, r bmc.Request) (time.Time, error) {
			<-over
			return time.Now().Add(r.AnswerWithin), nil
		},
	})
	require.NoError(t, err)
	defer s.Close()
	done := make(chan error, 1)
	go func() { done <- s.RequestPower(t.Context(), bmc.RequestOn) }()
	<-waits
	_, err = talk(t, d, f.info(nil)).Power(t.Context())
	require.NoError(t, err, "the only slot is free")
	close(over)
	require.NoError(t, <-done)
}

func TestABMCGetsNoMoreRequestsASecondThanItBears(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]func(*redfish.Config){
		"all BMCs":   func(c *redfish.Config) { c.PerSecond = 10 },
		"its vendor": func(c *redfish.Config) { c.PerSecondOf = map[string]int{"contoso": 10, "acme": 1} },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.docs["/redfish/v1/"].(map[string]any)["Vendor"] = "Contoso"
			var seen atomic.Int32
			f.on(http.MethodGet, "", func(http.ResponseWriter, *http.Request) bool { seen.Add(1); return false })
			conf := quick()
			limit(&conf)
			conf.RequestTimeout = 30 * time.Second
			d := newDriver(t, conf)
			_, err := talk(t, d, f.info(nil)).Power(t.Context()) // the vendor is known then
			require.NoError(t, err)
			began, before := time.Now(), seen.Load()
			var all sync.WaitGroup
			for range 4 {
				s := talk(t, d, f.info(nil))
				all.Go(func() {
					for range 5 {
						if _, err := s.Power(t.Context()); err != nil {
							t.Error(err)
						}
					}
				})
			}
			all.Wait()
			n := seen.Load() - before
			require.GreaterOrEqual(t, n, int32(20))
			const burst, rate = 2, 9 // of 10 a second
			require.GreaterOrEqual(t, time.Since(began).Seconds(), float64(n-burst-1)/rate)
		})
	}
}
