package sim_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/sim"
)

func TestHTTPFaultsStrikeBeforeOrAfterTheEffect(t *testing.T) {
	t.Parallel()
	reset := func(err error) bool {
		return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.EOF)
	}
	for name, c := range map[string]struct {
		fault  string
		status int // 0: no answer
		effect bool
		check  func(*testing.T, answer, error)
	}{
		"unavailable before": {fault: `"kind":"unavailable","delay":"3s"`, status: 503, check: func(t *testing.T, a answer, _ error) {
			require.Equal(t, "3", a.header.Get("Retry-After"))
		}},
		"unavailable after":   {fault: `"kind":"unavailable","when":"after"`, status: 503, effect: true},
		"unauthorized before": {fault: `"kind":"unauthorized"`, status: 401},
		"unauthorized after":  {fault: `"kind":"unauthorized","when":"after"`, status: 401, effect: true},
		"reset before":        {fault: `"kind":"reset"`, check: func(t *testing.T, _ answer, err error) { require.True(t, reset(err), "%v", err) }},
		"reset after": {fault: `"kind":"reset","when":"after"`, effect: true, check: func(t *testing.T, _ answer, err error) {
			require.True(t, reset(err), "%v", err)
		}},
		"hang before": {fault: `"kind":"hang","delay":"100ms"`, check: func(t *testing.T, _ answer, err error) { require.Error(t, err) }},
		"hang after":  {fault: `"kind":"hang","when":"after","delay":"100ms"`, effect: true, check: func(t *testing.T, _ answer, err error) { require.Error(t, err) }},
		"truncated before": {fault: `"kind":"truncated"`, status: 200, check: func(t *testing.T, a answer, _ error) {
			require.False(t, json.Valid(a.raw))
		}},
		"truncated after": {fault: `"kind":"truncated","when":"after"`, status: 200, effect: true, check: func(t *testing.T, a answer, _ error) {
			require.False(t, json.Valid(a.raw))
		}},
		"mistyped after": {fault: `"kind":"mistyped","when":"after"`, status: 200, effect: true, check: func(t *testing.T, a answer, _ error) {
			require.True(t, json.Valid(a.raw))
		}},
		"latency before": {fault: `"kind":"latency","delay":"50ms"`, status: 204, effect: true},
		"latency after":  {fault: `"kind":"latency","when":"after","delay":"50ms"`, status: 204, effect: true},
		"latency late":   {fault: `"kind":"latency","when":"late","delay":"50ms"`, status: 204, effect: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, quick(sim.Config{Servers: 1}))
			b := s.bmc("sim-0001")
			s.faults("sim-0001", `{`+c.fault+`,"method":"post","path":"ComputerSystem.Reset","count":1}`)
			require.Equal(t, http.StatusOK, b.do(http.MethodGet, system, nil).status, "other requests are spared")
			begun := time.Now()
			a, err := b.try(http.MethodPost, system+"/Actions/ComputerSystem.Reset", obj{"ResetType": "On"}, "Idempotency", "no")
			require.Equal(t, c.status, a.status)
			if c.check != nil {
				c.check(t, a, err)
			}
			if strings.HasPrefix(name, "latency") {
				require.GreaterOrEqual(t, time.Since(begun), 50*time.Millisecond)
			}
			require.Equal(t, c.effect, len(s.server("sim-0001").PowerActions) == 1)
			require.Equal(t, http.StatusNoContent, b.reset("On").status, "it strikes once")
		})
	}
}

func TestATruncatedOrMistypedReadHasRealContent(t *testing.T) {
	t.Parallel()
	s := start(t, quick(sim.Config{Servers: 1}))
	b := s.bmc("sim-0001")
	whole := b.do(http.MethodGet, system, nil)
	s.faults("sim-0001", `{"kind":"truncated","count":1},{"kind":"mistyped","count":1}`)
	half := b.do(http.MethodGet, system, nil)
	require.Equal(t, whole.raw[:len(half.raw)], half.raw)
	require.Len(t, half.raw, len(whole.raw)/2)

	twisted := b.do(http.MethodGet, system, nil)
	require.Equal(t, http.StatusOK, twisted.status)
	require.Equal(t, []any{"Off"}, twisted.at("PowerState"))
	require.IsType(t, "", twisted.at("ProcessorSummary", "CoreCount"))
	require.Equal(t, system, twisted.at("@odata.id"))
	require.Equal(t, whole.raw, b.do(http.MethodGet, system, nil).raw)
}

func TestAnUnauthorizedFaultEndsTheSession(t *testing.T) {
	t.Parallel()
	s := start(t, quick(sim.Config{Servers: 1}))
	b := s.bmc("sim-0001")
	login := b.do(http.MethodPost, "/redfish/v1/SessionService/Sessions", obj{"UserName": b.user, "Password": b.pass})
	b.token = login.header.Get("X-Auth-Token")
	s.faults("sim-0001", `{"kind":"unauthorized","count":1}`)
	for range 2 {
		require.Equal(t, http.StatusUnauthorized, b.do(http.MethodGet, system, nil).status)
	}
	require.Zero(t, s.server("sim-0001").Sessions)
}

func TestAHangLastsUntilTheClientGivesUp(t *testing.T) {
	t.Parallel()
	s := start(t, quick(sim.Config{Servers: 1}))
	b := s.bmc("sim-0001")
	s.faults("sim-0001", `{"kind":"hang"}`)
	s.http.Timeout = 50 * time.Millisecond
	_, err := b.try(http.MethodPost, system+"/Actions/ComputerSystem.Reset", obj{"ResetType": "On"})
	require.Error(t, err)
	s.http.Timeout = soon
	status, _ := s.call(http.MethodDelete, s.rack.URL()+"/servers/sim-0001/faults", nil)
	require.Equal(t, http.StatusNoContent, status)
	require.Equal(t, "Off", b.power())
	// At the end of the test the rack stops, and would wait for the request that hangs.
}

func TestPowerFaults(t *testing.T) {
	t.Parallel()
	s := start(t, quick(sim.Config{Servers: 1}))
	b := s.bmc("sim-0001")
	s.faults("sim-0001", `{"kind":"lost_power","path":"ComputerSystem.Reset","count":1},{"kind":"slow_power","delay":"300ms","count":1}`)
	require.Equal(t, http.StatusNoContent, b.reset("On").status)
	require.Equal(t, "Off", b.power())
	row := s.server("sim-0001")
	require.Len(t, row.PowerActions, 1)
	require.Equal(t, row.PowerActions[0].From, row.PowerActions[0].To)
	require.False(t, row.PowerActions[0].Effect)

	begun := time.Now()
	b.reset("On")
	b.become("On")
	require.GreaterOrEqual(t, time.Since(begun), 300*time.Millisecond)
}

func TestFaultsFollowFromTheSeed(t *testing.T) {
	t.Parallel()
	strikes := func(seed int64) (out []int) {
		s := start(t, quick(sim.Config{Servers: 1, Seed: seed}))
		defer s.stop()
		b := s.bmc("sim-0001")
		s.faults("sim-0001", `{"kind":"unavailable","probability":0.5}`)
		for range 40 {
			out = append(out, b.do(http.MethodGet, system, nil).status)
		}
		return out
	}
	one := strikes(1)
	require.Equal(t, one, strikes(1))
	require.NotEqual(t, one, strikes(2))
	require.Contains(t, one, 200)
	require.Contains(t, one, 503)
}

func TestFaultsAreListedReplacedAndRefused(t *testing.T) {
	t.Parallel()
	s := start(t, quick(sim.Config{Servers: 1}))
	b := s.bmc("sim-0001")
	url := s.rack.URL() + "/servers/sim-0001/faults"
	s.faults("sim-0001", `{"kind":"unavailable","count":3}`)
	b.do(http.MethodGet, system, nil)
	_, left := s.call(http.MethodGet, url, nil)
	require.JSONEq(t, `{"faults":[{"kind":"unavailable","count":2}]}`, string(left))
	s.faults("sim-0001", ``)
	require.Equal(t, http.StatusOK, b.do(http.MethodGet, system, nil).status)

	for name, c := range map[string]struct {
		path, body string
		status     int
	}{
		"an unknown kind":          {"sim-0001", `{"faults":[{"kind":"fire"}]}`, 400},
		"an unknown time":          {"sim-0001", `{"faults":[{"kind":"hang","when":"never"}]}`, 400},
		"no duration":              {"sim-0001", `{"faults":[{"kind":"hang","delay":"long"}]}`, 400},
		"a negative count":         {"sim-0001", `{"faults":[{"kind":"hang","count":-1}]}`, 400},
		"more than certain":        {"sim-0001", `{"faults":[{"kind":"hang","probability":2}]}`, 400},
		"no JSON":                  {"sim-0001", `faults`, 400},
		"a server that is not one": {"sim-9999", `{"faults":[]}`, 404},
	} {
		t.Run(name, func(t *testing.T) {
			status, body := s.call(http.MethodPut, s.rack.URL()+"/servers/"+c.path+"/faults", []byte(c.body))
			require.Equal(t, c.status, status)
			require.Contains(t, string(body), `"error"`)
		})
	}
}

func TestABMCWhoseOverrideIsAlwaysContinuous(t *testing.T) {
	t.Parallel()
	s := start(t, quick(sim.Config{Servers: 1}))
	b := s.bmc("sim-0001")
	s.faults("sim-0001", `{"kind":"always_continuous"}`)
	override := func() []any {
		a := b.do(http.MethodGet, system, nil)
		return []any{a.at("Boot", "BootSourceOverrideEnabled"), a.at("Boot", "BootSourceOverrideTarget")}
	}
	require.Equal(t, []any{"Continuous", "Hdd"}, override())
	b.setBoot("Cd", "Once")
	require.Equal(t, []any{"Continuous", "Cd"}, override())
	a := b.do(http.MethodPatch, system, obj{"Boot": obj{"BootSourceOverrideEnabled": "Disabled"}})
	require.Equal(t, http.StatusBadRequest, a.status)
	require.Contains(t, a.at("error", "message"), "Missing the BootSourceOverrideTarget")
	require.Nil(t, a.at("error", "@Message.ExtendedInfo", 0, "Message"), "the words are in one place only")
	require.Equal(t, []any{"Continuous", "Cd"}, override())
}

func TestASlowInsertGoesOnWithoutItsClient(t *testing.T) {
	t.Parallel()
	s := start(t, quick(sim.Config{Servers: 1}))
	b, iso := s.bmc("sim-0001"), s.rack.URL()+"/images/deploy.iso"
	s.faults("sim-0001", `{"kind":"slow_insert","delay":"300ms","count":1}`)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	body, err := json.Marshal(obj{"Image": iso})
	require.NoError(t, err)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.base+cd+"/Actions/VirtualMedia.InsertMedia", bytes.NewReader(body))
	require.NoError(t, err)
	req.SetBasicAuth(b.user, b.pass)
	_, err = http.DefaultClient.Do(req)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Equal(t, false, b.do(http.MethodGet, cd, nil).at("Inserted"))
	require.Equal(t, http.StatusConflict, b.insert(iso).status, "it is on its way")
	require.Eventually(t, func() bool { return b.do(http.MethodGet, cd, nil).at("Inserted") == true }, soon, tick)
}
