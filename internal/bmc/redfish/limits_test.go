package redfish_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
)

func TestAPageThatNamesItselfEndsTheCollection(t *testing.T) {
	t.Parallel()
	const place = sysPath + "/EthernetInterfaces"
	for name, page := range map[string]any{
		"without members":              map[string]any{"Members": []any{}, "Members@odata.nextLink": place},
		"with members that lead away":  map[string]any{"Members": []any{map[string]any{}, nil}, "Members@odata.nextLink": place},
		"with the same members always": map[string]any{"Members": []any{link(place + "/1")}, "Members@odata.nextLink": place},
	} {
		f := newFixture(t)
		f.set(place, page)
		_, err := inspect(t, f)
		require.NoError(t, err, name)
		require.Equal(t, 1, f.count("GET "+place)-f.count("GET "+place+"/"), name)
	}
}

func TestPagesWithoutEndAreGivenUp(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const place = "/redfish/v1/Systems"
	n := 0
	f.on(http.MethodGet, place, func(w http.ResponseWriter, _ *http.Request) bool {
		n++
		reply(w, map[string]any{"Members": []any{map[string]any{}, link("")}, "Members@odata.nextLink": fmt.Sprintf("%s?page=%d", place, n)})
		return true
	})
	_, err := talk(t, newDriver(t, quick()), f.info(nil)).Power(t.Context())
	requireFault(t, err, fault.Refused, "no system")
	require.LessOrEqual(t, f.count("GET "+place), 32)
}

func TestACallThatLeadsOnAndOnIsGivenUp(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	many := func(place string) map[string]any {
		var list []any
		for i := range 100 {
			list = append(list, link(fmt.Sprintf("%s/%d", place, i)))
		}
		return map[string]any{"Members": list}
	}
	f.set("system:Links", nil)
	f.set("/redfish/v1/Managers", many("/redfish/v1/Managers"))
	for i := range 100 {
		boss := fmt.Sprintf("/redfish/v1/Managers/%d", i)
		f.set(boss, map[string]any{"VirtualMedia": link(boss + "/VirtualMedia")})
		f.set(boss+"/VirtualMedia", many(boss+"/VirtualMedia"))
	}
	_, err := talk(t, newDriver(t, quick()), f.info(nil)).Media(t.Context())
	requireFault(t, err, fault.Refused, "gave up after 600 requests")
	require.LessOrEqual(t, f.count(""), 600)
}

func TestALargeResourceIsRead(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.set("system:Oem", strings.Repeat("x", 900<<10))
	p, err := talk(t, newDriver(t, quick()), f.info(nil)).Power(t.Context())
	require.NoError(t, err)
	require.Equal(t, bmc.PowerOff, p)
}

func TestAnAbsurdPauseIsBounded(t *testing.T) {
	t.Parallel()
	for told, want := range map[string]time.Duration{
		"120":                           2 * time.Minute,
		"0":                             0,
		"86400":                         10 * time.Minute,
		"9223372036854775807":           10 * time.Minute,
		"99999999999999999999":          10 * time.Minute,
		"Fri, 31 Dec 9999 23:59:59 GMT": 10 * time.Minute,
		"Thu, 01 Jan 1970 00:00:00 GMT": 0,
	} {
		f := newFixture(t)
		f.times(100, http.MethodPost, "ComputerSystem.Reset", answer(503, "Retry-After", told))
		err := talk(t, newDriver(t, quick()), f.info(nil)).RequestPower(t.Context(), bmc.RequestOn)
		requireFault(t, err, fault.Busy)
		require.Equal(t, want, bmc.RetryAfter(err), told)
	}
}

func TestAnETagThatNoHeaderCanCarryIsNone(t *testing.T) {
	t.Parallel()
	for name, tag := range map[string]string{
		"two lines": "\"a\"\r\nX-Evil: 1", "control characters": "\"\x00\"", "beyond all measure": `"` + strings.Repeat("a", 600) + `"`,
	} {
		f := newFixture(t)
		bodies := patches(f)
		f.set("system:@odata.etag", tag)
		require.NoError(t, talk(t, newDriver(t, quick()), f.info(nil)).SetBoot(t.Context(), bmc.Boot{Device: bmc.DevicePXE}), name)
		require.True(t, strings.HasPrefix((*bodies)[0], " {"), "%s: %s", name, *bodies)
	}
}

func TestATokenBeyondMeasureIsNotShown(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.once(http.MethodPost, "/Sessions", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Auth-Token", strings.Repeat("t", 20<<10))
		w.WriteHeader(http.StatusCreated)
	})
	_, err := talk(t, newDriver(t, quick()), f.info(nil)).Power(t.Context())
	requireFault(t, err, fault.Unreachable, "a token of 20480 bytes")
	require.Zero(t, f.count("GET "+sysPath))
}

func TestWhatABMCSaysIsToldWhereverItSaysIt(t *testing.T) {
	t.Parallel()
	infos := func(list any) map[string]any {
		return map[string]any{"error": map[string]any{"code": "Base.1.0.GeneralError", "message": "See @Message.ExtendedInfo for more information.", "@Message.ExtendedInfo": list}}
	}
	for name, c := range map[string]struct {
		body any
		want string // how the error begins, after the status
	}{
		"in a message of a registry": {infos([]any{map[string]any{"MessageId": "Base.1.8.X", "Message": "The disk is on fire."}}), ": The disk is on fire."},
		"in the only message":        {infos(map[string]any{"MessageId": "Base.1.8.X", "Message": "The disk is on fire."}), ": The disk is on fire."},
		"in error.message alone": {map[string]any{"error": map[string]any{
			"code": "Base.1.0.GeneralError", "message": "Missing the BootSourceOverrideTarget element",
			"@Message.ExtendedInfo": []any{map[string]any{"MessageId": "Base.1.0.GeneralError"}},
		}}, ": Missing the BootSourceOverrideTarget element"},
		"in error.message as well": {map[string]any{"error": map[string]any{
			"message":               "The slot is empty.",
			"@Message.ExtendedInfo": []any{map[string]any{"MessageId": "Base.1.0.GeneralError", "Message": "A general error has occurred."}},
		}}, ": A general error has occurred. The slot is empty."},
		"twice": {map[string]any{"error": map[string]any{
			"message": "The slot is empty.", "@Message.ExtendedInfo": []any{map[string]any{"Message": "The slot is empty."}},
		}}, ": The slot is empty."},
		"in an id":                     {infos([]any{map[string]any{"MessageId": "iLO.2.14.ArrayPropertyOutOfBound"}}), ": iLO.2.14.ArrayPropertyOutOfBound"},
		"in a code":                    {map[string]any{"error": map[string]any{"code": "Base.1.8.InsufficientPrivilege"}}, ": Base.1.8.InsufficientPrivilege"},
		"as text":                      {json.RawMessage("Missing the element"), ": Missing the element"},
		"as a web page, which is none": {json.RawMessage("<html>oops</html>"), ""},
		"not at all":                   {json.RawMessage(""), ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.once(http.MethodPost, "ComputerSystem.Reset", func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusBadRequest)
				reply(w, c.body)
			})
			err := talk(t, newDriver(t, quick()), f.info(nil)).RequestPower(t.Context(), bmc.RequestOn)
			requireFault(t, err, fault.Refused)
			require.True(t, strings.HasPrefix(err.Error(), "400 Bad Request"+c.want+" (POST /redfish/v1/"), err.Error())
		})
	}
}
