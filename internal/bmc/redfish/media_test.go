package redfish_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/sim"
)

const image = "http://192.0.2.1/a.iso"

func TestWhereTheVirtualCDIs(t *testing.T) {
	t.Parallel()
	members := func(paths ...string) map[string]any {
		var list []any
		for _, p := range paths {
			list = append(list, link(p))
		}
		return map[string]any{"Members": list}
	}
	for name, c := range map[string]struct {
		set  map[string]any
		kind fault.Kind // -1 = found
	}{
		"under the manager in charge": {nil, -1},
		"under the system": {map[string]any{
			"system:VirtualMedia": link(sysPath + "/VirtualMedia"), sysPath + "/VirtualMedia": members(cdPath), "/redfish/v1/Managers/1": nil,
		}, -1},
		"under the only manager":               {map[string]any{"system:Links": nil}, -1},
		"behind one that is broken":            {map[string]any{"/redfish/v1/Managers/1/VirtualMedia/Floppy": json.RawMessage(`[`)}, -1},
		"behind a system whose list is broken": {map[string]any{"system:VirtualMedia": link("/redfish/v1/Nowhere")}, -1},
		"behind a manager that is broken":      {map[string]any{"system:Links": map[string]any{"ManagedBy": []any{link("/redfish/v1/Managers/0"), link("/redfish/v1/Managers/1")}}}, -1},
		"nowhere":                              {map[string]any{"/redfish/v1/Managers/1/VirtualMedia": members("/redfish/v1/Managers/1/VirtualMedia/Floppy")}, fault.Refused},
		"nowhere, and one that might be is broken": {map[string]any{
			"/redfish/v1/Managers/1/VirtualMedia":        members("/redfish/v1/Managers/1/VirtualMedia/Floppy"),
			"/redfish/v1/Managers/1/VirtualMedia/Floppy": json.RawMessage(`[`),
		}, fault.Unreachable},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			for path, doc := range c.set {
				f.set(path, doc)
			}
			s := talk(t, newDriver(t, quick()), f.info(nil))
			err := s.InsertMedia(t.Context(), image)
			if c.kind >= 0 {
				requireFault(t, err, c.kind)
				return
			}
			require.NoError(t, err)
			m, err := s.Media(t.Context())
			require.NoError(t, err)
			require.Equal(t, bmc.Media{Inserted: true, Image: image}, m)
		})
	}
}

func TestWhatIsInTheDrive(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		told string
		want bmc.Media
	}{
		"an image that is in":                      {`{"MediaTypes":["CD"],"Inserted":true,"Image":"http://x/y"}`, bmc.Media{Inserted: true, Image: "http://x/y"}},
		"an image that is out counts for nothing":  {`{"MediaTypes":["CD"],"Inserted":false,"Image":"http://x/y"}`, bmc.Media{}},
		"a medium that is not ours has no image":   {`{"MediaTypes":["DVD"],"Inserted":true,"Image":null}`, bmc.Media{Inserted: true}},
		"where nothing is told the image counts":   {`{"MediaTypes":["CD"],"Image":"http://x/y"}`, bmc.Media{Inserted: true, Image: "http://x/y"}},
		"where a word is told the image counts":    {`{"MediaTypes":["CD"],"Inserted":"yes","Image":""}`, bmc.Media{}},
		"a drive without types is known by its id": {`{"Id":"CD1","Inserted":true,"Image":"http://x/y"}`, bmc.Media{Inserted: true, Image: "http://x/y"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.times(9, http.MethodGet, cdPath, raw(c.told))
			m, err := talk(t, newDriver(t, quick()), f.info(nil)).Media(t.Context())
			require.NoError(t, err)
			require.Equal(t, c.want, m)
		})
	}
}

func TestABMCThatWantsTheProtocolIsToldIt(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var bodies []string
	f.on(http.MethodPost, "InsertMedia", func(w http.ResponseWriter, r *http.Request) bool {
		body, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(body))
		if !strings.Contains(string(body), "TransferProtocolType") {
			message(w, 400, "Base.1.8.ActionParameterMissing", "The action InsertMedia requires the parameter TransferProtocolType to be present in the request body.")
			return true
		}
		w.WriteHeader(http.StatusNoContent)
		return true
	})
	require.NoError(t, talk(t, newDriver(t, quick()), f.info(nil)).InsertMedia(t.Context(), image))
	require.Equal(t, []string{
		`{"Image":"http://192.0.2.1/a.iso"}`,
		`{"Image":"http://192.0.2.1/a.iso","TransferMethod":"Stream","TransferProtocolType":"HTTP"}`,
	}, bodies)
}

func TestAMediumStillBeingEjectedIsBusy(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := talk(t, newDriver(t, quick()), f.info(nil))
	require.NoError(t, s.InsertMedia(t.Context(), image))
	f.times(9, http.MethodPost, "EjectMedia", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) })
	requireFault(t, s.InsertMedia(t.Context(), image+"2"), fault.Busy, "still being ejected")
}

func TestAnImagesSecretsAreNotTold(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.times(9, http.MethodPost, "InsertMedia", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		message(w, 400, "Base.1.8.X", "Can't insert "+string(body))
	})
	s := talk(t, newDriver(t, quick()), f.info(nil))
	for _, secret := range []string{"http://joe:hunter2@192.0.2.1/a.iso", "http://192.0.2.1/a.iso?signature=hunter2"} {
		err := s.InsertMedia(t.Context(), secret)
		requireFault(t, err, fault.Refused, "192.0.2.1")
		require.NotContains(t, err.Error(), "hunter2")
	}
	requireFault(t, s.InsertMedia(t.Context(), "a.iso"), fault.Invalid)
}

func TestAnInsertionWithoutAnAnswerHasAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	conf := quick()
	conf.RequestTimeout = 300 * time.Millisecond
	s := talk(t, newDriver(t, conf), f.info(nil))
	_, err := s.Media(t.Context())
	require.NoError(t, err)
	f.once(http.MethodPost, "InsertMedia", silent)
	err = s.InsertMedia(t.Context(), image)
	requireFault(t, err, fault.OutcomeUnknown, "no answer in time")
	require.True(t, fault.NoAnswer(err))

	require.NoError(t, s.InsertMedia(t.Context(), image))
	f.once(http.MethodPost, "EjectMedia", silent)
	requireFault(t, s.InsertMedia(t.Context(), image+"2"), fault.Unreachable)
	require.Equal(t, 2, f.count("POST "+cdPath+"/Actions/VirtualMedia.InsertMedia"), "nothing was inserted")
}

func TestTheSameImageInTheBMCsSpellingIsNotInsertedAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.cd = "http://192.0.2.1:80/a%2Eiso"
	require.NoError(t, talk(t, newDriver(t, quick()), f.info(nil)).InsertMedia(t.Context(), image))
	require.Empty(t, f.changed())
}

// Another conductor may have inserted the image, after the first drive had refused it.
func TestADriveWithAMediumIsTheOneInUse(t *testing.T) {
	t.Parallel()
	rack := startRack(t, sim.Config{Personas: []string{"openbmc"}})
	info := listed(t, rack).info()
	require.NoError(t, talk(t, newDriver(t, quick()), info).InsertMedia(t.Context(), rack+"/images/deploy.iso"))

	another := talk(t, newDriver(t, quick()), info)
	m, err := another.Media(t.Context())
	require.NoError(t, err)
	require.True(t, m.Inserted)
	require.NoError(t, another.EjectMedia(t.Context()))
	m, err = talk(t, newDriver(t, quick()), info).Media(t.Context())
	require.NoError(t, err)
	require.False(t, m.Inserted)
}
