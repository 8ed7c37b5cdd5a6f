package redfish_test

import (
	"encoding/json"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/sim"
	simredfish "go.temper.dev/temper/internal/sim/redfish"
)

const fresh, freshMark = "Zr7-kQp2.mXt9vBd", "that of operation 12"

// as returns driver_info with other credentials.
func as(info map[string]any, user, password string) map[string]any {
	out := map[string]any{}
	for k, v := range info {
		out[k] = v
	}
	out["redfish_username"], out["redfish_password"] = user, password
	return out
}

func TestThePasswordOfEveryPersonaIsChanged(t *testing.T) {
	t.Parallel()
	for _, p := range simredfish.Personas() {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			rack := startRack(t, sim.Config{Personas: []string{p.Name}})
			d := newDriver(t, quick())
			info := listed(t, rack).info()
			s := talk(t, d, info)
			rule, err := s.PasswordRule(t.Context())
			require.NoError(t, err)
			require.Equal(t, bmc.PasswordRule{Min: 8, Max: 20, IPMI: true}, rule)

			spare := bmc.NewPassword{Text: fresh, Mark: freshMark}
			has, err := s.HasAccount(t.Context(), bmc.SpareAccount)
			require.NoError(t, err)
			require.False(t, has)
			require.NoError(t, s.AddAccount(t.Context(), bmc.SpareAccount, spare))
			has, err = s.HasAccount(t.Context(), bmc.SpareAccount)
			require.NoError(t, err)
			require.True(t, has)
			require.NoError(t, talk(t, d, as(info, bmc.SpareAccount, fresh)).LogIn(t.Context()))

			changed := as(info, info["redfish_username"].(string), fresh)
			requireFault(t, talk(t, d, changed).LogIn(t.Context()), fault.Denied)
			require.NoError(t, s.SetPassword(t.Context(), info["redfish_username"].(string), spare))
			require.NoError(t, talk(t, d, changed).LogIn(t.Context()), "a password that was refused before is tried again after it was set")
			requireFault(t, talk(t, d, info).LogIn(t.Context()), fault.Denied)
			require.Equal(t, fresh, listed(t, rack).Password)

			now := talk(t, d, changed)
			require.NoError(t, now.RemoveAccount(t.Context(), bmc.SpareAccount))
			require.NoError(t, now.RemoveAccount(t.Context(), bmc.SpareAccount), "it is gone already")
			requireFault(t, talk(t, d, as(info, bmc.SpareAccount, fresh)).LogIn(t.Context()), fault.Denied)
		})
	}
}

func TestAPasswordThatTheBMCRefusesIsToldToNobody(t *testing.T) {
	t.Parallel()
	s := talk(t, newDriver(t, quick()), listed(t, startRack(t, sim.Config{})).info())
	const weak = "weak-hunter-weak"
	err := s.SetPassword(t.Context(), "admin", bmc.NewPassword{Text: weak, Mark: freshMark})
	requireFault(t, err, fault.Refused)
	require.NotContains(t, err.Error(), weak)
	err = s.AddAccount(t.Context(), bmc.SpareAccount, bmc.NewPassword{Text: weak, Mark: freshMark})
	requireFault(t, err, fault.Refused)
	require.NotContains(t, err.Error(), weak)
	requireFault(t, s.SetPassword(t.Context(), "nobody", bmc.NewPassword{Text: fresh, Mark: freshMark}), fault.Refused)
}

// A BMC with a fixed number of accounts, as Dell's iDRAC has it: the first one can't be used, and none is created or deleted.
func TestAFreeAccountIsFilledAndEmptied(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const service = "/redfish/v1/AccountService"
	users := map[string]string{"1": "", "2": username, "3": "", "4": ""}
	var mu sync.Mutex
	var bodies []string
	root := documents()["/redfish/v1/"].(map[string]any)
	root["AccountService"] = link(service)
	f.set("/redfish/v1/", root)
	f.set(service, map[string]any{"Accounts": link(service + "/Accounts")})
	f.set(service+"/Accounts", map[string]any{"Members": []any{link(service + "/Accounts/1"), link(service + "/Accounts/2"), link(service + "/Accounts/3"), link(service + "/Accounts/4")}})
	for id := range users {
		at := "/Accounts/" + id
		f.on(http.MethodGet, at, func(w http.ResponseWriter, _ *http.Request) bool {
			mu.Lock()
			defer mu.Unlock()
			_ = json.NewEncoder(w).Encode(map[string]any{"Id": id, "UserName": users[id], "Enabled": users[id] != ""})
			return true
		})
		f.on(http.MethodPatch, at, func(w http.ResponseWriter, r *http.Request) bool {
			mu.Lock()
			defer mu.Unlock()
			var body map[string]any
			_ = json.NewDecoder(r.Body).Decode(&body)
			if name, given := body["UserName"].(string); given {
				users[id] = name
			}
			delete(body, "Password")
			text, _ := json.Marshal(body)
			bodies = append(bodies, id+" "+string(text))
			w.WriteHeader(http.StatusNoContent)
			return true
		})
		f.on(http.MethodDelete, at, func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return true
		})
	}
	s := talk(t, newDriver(t, quick()), f.info(nil))
	rule, err := s.PasswordRule(t.Context())
	require.NoError(t, err)
	require.Equal(t, bmc.PasswordRule{IPMI: true}, rule, "a BMC that does not say who has its accounts shares them with IPMI")
	require.NoError(t, s.AddAccount(t.Context(), bmc.SpareAccount, bmc.NewPassword{Text: fresh, Mark: freshMark}))
	has, err := s.HasAccount(t.Context(), bmc.SpareAccount)
	require.NoError(t, err)
	require.True(t, has)
	require.NoError(t, s.RemoveAccount(t.Context(), bmc.SpareAccount))
	require.Equal(t, []string{
		`4 {"Enabled":true,"RoleId":"Administrator","UserName":"temper-spare"}`, `4 {"Enabled":false,"RoleId":"None"}`, `4 {"UserName":""}`,
	}, bodies)
}
