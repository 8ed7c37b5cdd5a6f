package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/cli/exit"
	"go.temper.dev/temper/internal/dial"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/testenv"
	"go.temper.dev/temper/worker"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// realDrivers are the drivers of an API that allows every address.
func realDrivers(t *testing.T) worker.Hardware {
	t.Helper()
	drivers, err := worker.NewHardware([]string{"redfish", "ipmi"}, worker.HardwareConfig{
		BMC: bmc.Settings{Reach: dial.Reach{Loopback: true, Allow: everywhere}}, Log: zap.NewNop(),
	})
	require.NoError(t, err)
	t.Cleanup(func() { drivers.Close(t.Context()) })
	return drivers
}

type verdictCase struct {
	driver, property string
	value            any
	wrong            string // a part of what is said of it; "" = nothing is wrong
}

// verdictCases are values of where a BMC is, and what is wrong with them.
var verdictCases = []verdictCase{
	{"redfish", "redfish_address", "bmc.example.org", ""},
	{"redfish", "redfish_address", "bmc:8443", ""},
	{"redfish", "redfish_address", "10.0.0.5", ""},
	{"redfish", "redfish_address", "http://10.0.0.5:8000/bmc/17/", ""},
	{"redfish", "redfish_address", "[fd00::5]:443", ""},
	{"redfish", "redfish_address", "https://[fd00::5]/redfish/v1/", ""},
	{"redfish", "redfish_address", "fd00::5", "without brackets"},
	{"redfish", "redfish_address", "https://fd00::5:443/redfish/v1", "without brackets"},
	{"redfish", "redfish_address", "http://fd00::5", "without brackets"},
	{"redfish", "redfish_address", "bmc:99999", "from 1 to 65535"},
	{"redfish", "redfish_address", "https://10.0.0.5:0", "from 1 to 65535"},
	{"redfish", "redfish_address", "bmc:port", "neither a URL nor a host"},
	{"redfish", "redfish_address", "https://10.0.0.5/redfish/v1/Systems/1", "belongs in redfish_system_id"},
	{"redfish", "redfish_address", "https://10.0.0.5/bmc/redfish/v1/Managers/1/", "belongs in redfish_system_id"},
	{"redfish", "redfish_address", "https://root:s3cret@bmc", "credentials"},
	{"redfish", "redfish_address", "ftp://bmc", "must begin with https://"},
	{"redfish", "redfish_address", "https://bmc?x=1", "query"},
	{"redfish", "redfish_address", "https:/10.0.0.5", "colon without a port"},
	{"redfish", "redfish_address", "999.1.1.1", "neither a host name nor an IP address"},
	{"redfish", "redfish_address", "https://a..b/redfish/v1", "neither a host name nor an IP address"},
	{"redfish", "redfish_address", "https://-x", "neither a host name nor an IP address"},
	{"redfish", "redfish_address", "bmc_7.example.org.", ""},
	{"redfish", "redfish_system_id", "/redfish/v1/Systems/1", ""},
	{"redfish", "redfish_system_id", "/redfish/v1/Systems/1/", "ends with a slash"},
	{"redfish", "redfish_system_id", "/redfish/v1/Systems/ 1", "has a space"},
	{"redfish", "redfish_system_id", "/redfish/v1/Systems/1\n", "has a space"},
	{"redfish", "redfish_system_id", "1", "is not a path"},
	{"ipmi", "ipmi_address", "10.0.0.5", ""},
	{"ipmi", "ipmi_address", "BMC-7.example.org", ""},
	{"ipmi", "ipmi_address", "2001:db8::7", ""},
	{"ipmi", "ipmi_address", "[2001:db8::7]", ""},
	{"ipmi", "ipmi_address", "[2001:db8::7]:623", "belongs into ipmi_port"},
	{"ipmi", "ipmi_address", "bmc:623", "belongs into ipmi_port"},
	{"ipmi", "ipmi_address", "https://root:s3cret@bmc", "neither a host name nor an IP address"},
	{"ipmi", "ipmi_address", "bmc 7", "neither a host name nor an IP address"},
	{"ipmi", "ipmi_address", "a-.b", "neither a host name nor an IP address"},
	{"ipmi", "ipmi_address", "10.0.0.5/x", "without a path"},
	{"ipmi", "ipmi_address", "10.0.0.256", "neither a host name nor an IP address"},
	{"ipmi", "ipmi_port", "6230", ""},
	{"ipmi", "ipmi_port", 6230.0, ""},
	{"ipmi", "ipmi_port", 99999.0, "from 1 to 65535"},
	{"ipmi", "ipmi_port", "0", "from 1 to 65535"},
}

// info is a driver_info with the value.
func (c verdictCase) info() map[string]any {
	info := map[string]any{c.driver + "_address": "127.0.0.1"}
	info[c.property] = c.value
	return info
}

// What a POST, a PATCH, the validation of a node, the driver and a probe say of where a BMC is, is the same.
func TestWhereABMCIsHasOneVerdict(t *testing.T) {
	drivers := realDrivers(t)
	b := apitest.New(t, func(c *api.Config) { c.Drivers = drivers })
	b.Conductor("c1", "", "redfish", "ipmi")
	for i, c := range verdictCases {
		t.Run(fmt.Sprintf("%s %v", c.property, c.value), func(t *testing.T) {
			name := fmt.Sprintf("n%d", i)
			verdict := drivers.Validate(c.driver, c.info())
			fine := verdict == nil
			body := func(info map[string]any) map[string]any {
				return map[string]any{"driver": c.driver, "name": name, "driver_info": info}
			}
			if fine {
				require.Empty(t, c.wrong, "the driver accepts it")
				b.Post("/v1/nodes", body(c.info())).Is(201)
			} else {
				require.ErrorContains(t, verdict, c.wrong)
				require.NotContains(t, verdict.Error(), "s3cret")
				require.Equal(t, verdict.Error(), b.Post("/v1/nodes", body(c.info())).Fails(400), "a POST")
				b.Post("/v1/nodes", body(verdictCase{driver: c.driver, property: c.property + "_", value: ""}.info())).Is(201)
				require.Contains(t, b.Patch("/v1/nodes/"+name, apitest.Add("/driver_info/"+c.property, c.value)).Fails(400), verdict.Error(), "a PATCH")
				raw, err := json.Marshal(c.info())
				require.NoError(t, err)
				b.SQL(`UPDATE nodes SET driver_info = $1 WHERE name = $2`, raw, name) // as an older release stored it
				b.Patch("/v1/nodes/"+name, apitest.Add("/extra/x", 1)).Is(200)
			}
			power := b.Get("/v1/nodes/" + name + "/validate").Is(200)["power"].(map[string]any)
			require.Equal(t, fine, power["result"], "%v", power)
			if !fine {
				require.Equal(t, verdict.Error(), power["reason"])
			}
			err := probeOf(t, c)
			require.Error(t, err, "no BMC answers there")
			require.Equal(t, !fine, exit.Code(err) == exit.CodeUsage, "%v", err)
			if !fine {
				require.Equal(t, inFlags(verdict).Error(), err.Error(), "a probe")
			}
		})
	}
}

// probeOf probes a BMC with the value.
func probeOf(t *testing.T, c verdictCase) error {
	t.Helper()
	info := c.info()
	args := []string{"bmc", "probe", fmt.Sprint(info[c.driver+"_address"]), "--timeout", "1ms"}
	switch c.property {
	case "redfish_system_id":
		args = append(args, "--system", fmt.Sprint(c.value))
	case "ipmi_port":
		args = append(args, "--port", fmt.Sprint(c.value))
	}
	if c.driver == "ipmi" {
		args = append(args, "--ipmi")
	}
	_, err := temper(t, args...)
	return err
}

// Whatever a value is made of, enrolment and the driver agree on it.
func TestEnrolmentAndTheDriverAgreeOnAnyAddress(t *testing.T) {
	drivers := realDrivers(t)
	parts := []string{"https://", "http://", "bmc", "10.0.0.5", "fd00::5", "[", "]", ":", "443", "99999", "/", "/redfish/v1", "/Systems/1", " ", "\t", "@", "?", "#", "%", "é", "A"}
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // it makes cases, no secrets
	for range 20_000 {
		var value strings.Builder
		for range 1 + random.IntN(5) {
			value.WriteString(parts[random.IntN(len(parts))])
		}
		if strings.TrimSpace(value.String()) == "" {
			continue // enrolment may leave an address out
		}
		for _, p := range [][2]string{{"redfish", "redfish_address"}, {"redfish", "redfish_system_id"}, {"ipmi", "ipmi_address"}, {"ipmi", "ipmi_port"}} {
			c := verdictCase{driver: p[0], property: p[1], value: value.String()}
			h, _ := node.Hardware(c.driver)
			enrolment, driver := h.CheckChanged(nil, c.info()), drivers.Validate(c.driver, c.info())
			require.Equal(t, fault.KindOf(driver), fault.KindOf(enrolment), "%s %q: %v, %v", c.property, c.value, enrolment, driver)
			if driver != nil {
				require.Equal(t, driver.Error(), enrolment.Error(), c.value)
			}
		}
	}
}
