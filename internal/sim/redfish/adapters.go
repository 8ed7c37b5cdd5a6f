package redfish

import "strconv"

const (
	adapter   = chassis + "/NetworkAdapters/1"
	functions = adapter + "/NetworkDeviceFunctions"
	ports     = adapter + "/Ports"
)

// adapterRoutes has the network adapter, whose functions and ports are the server's NICs.
func adapterRoutes() map[string]resource {
	return map[string]resource{
		system + "/NetworkInterfaces": {get: func(*call) (m, error) {
			return collection(system+"/NetworkInterfaces", "NetworkInterface", "Network Interfaces", system+"/NetworkInterfaces/1"), nil
		}},
		system + "/NetworkInterfaces/1": {get: func(*call) (m, error) {
			return m{
				"@odata.type": "#NetworkInterface.v1_2_3.NetworkInterface", "@odata.id": system + "/NetworkInterfaces/1", "Id": "1",
				"Name": "Network Interface 1", "NetworkDeviceFunctions": ref(functions), "Ports": ref(ports),
				"Links": m{"NetworkAdapter": ref(adapter)}, "Status": enabled,
			}, nil
		}},
		chassis + "/NetworkAdapters": {get: func(*call) (m, error) {
			return collection(chassis+"/NetworkAdapters", "NetworkAdapter", "Network Adapters", adapter), nil
		}},
		adapter: {get: func(c *call) (m, error) {
			return m{
				"@odata.type": "#NetworkAdapter.v1_10_0.NetworkAdapter", "@odata.id": adapter, "Id": "1", "Name": "Network Adapter 1",
				"Manufacturer": c.s.Manufacturer, "Model": "SIM-NIC-2", "SerialNumber": "NIC" + c.s.Serial,
				"NetworkDeviceFunctions": ref(functions), "Ports": ref(ports), "Status": enabled,
				"Controllers": []any{m{"FirmwarePackageVersion": c.s.FirmwareVersion("NIC")}},
			}, nil
		}},
		functions: {get: func(c *call) (m, error) {
			return numbered(functions, "NetworkDeviceFunction", "Network Device Functions", len(c.s.NICs)), nil
		}},
		functions + "/{n}": {get: getFunction},
		ports: {get: func(c *call) (m, error) {
			return numbered(ports, "Port", "Ports", len(c.s.NICs)), nil
		}},
		ports + "/{n}": {get: getPort},
	}
}

func getFunction(c *call) (m, error) {
	i, err := nth(c, len(c.s.NICs))
	if err != nil {
		return nil, err
	}
	n := c.s.NICs[i]
	return m{
		"@odata.type": "#NetworkDeviceFunction.v1_9_2.NetworkDeviceFunction", "@odata.id": c.URL.Path, "Id": strconv.Itoa(i + 1),
		"Name": "Function of " + n.Name, "NetDevFuncType": "Ethernet", "DeviceEnabled": true, "BootMode": "PXE",
		"Ethernet": m{"MACAddress": n.MAC, "PermanentMACAddress": n.MAC}, "Status": enabled,
	}, nil
}

func getPort(c *call) (m, error) {
	i, err := nth(c, len(c.s.NICs))
	if err != nil {
		return nil, err
	}
	n := c.s.NICs[i]
	return m{
		"@odata.type": "#Port.v1_11_0.Port", "@odata.id": c.URL.Path, "Id": strconv.Itoa(i + 1), "Name": "Port of " + n.Name,
		"PortType": "UpstreamPort", "LinkStatus": "LinkUp", "CurrentSpeedGbps": float64(n.Mbps) / 1000,
		"Ethernet": m{
			"AssociatedMACAddresses": []string{n.MAC}, "LLDPEnabled": true,
			"LLDPReceive": m{
				"ChassisId": n.SwitchID, "ChassisIdSubtype": "MacAddr", "PortId": n.SwitchPort, "PortIdSubtype": "IfName",
				"SystemName": n.SwitchName, "ManagementVlanId": 4095,
			},
		},
		"Status": enabled,
	}, nil
}

// withoutLLDP lets the ports tell nothing that they receive.
func withoutLLDP(r map[string]resource) {
	r[ports+"/{n}"] = r[ports+"/{n}"].edited(func(_ *call, body m) { delete(body, "Ethernet") })
}

// withoutBootMode lets the functions not tell whether the server can boot from them.
func withoutBootMode(r map[string]resource) {
	r[functions+"/{n}"] = r[functions+"/{n}"].edited(func(_ *call, body m) { body["BootMode"] = nil })
}

// withoutAdapters removes the network adapter.
func withoutAdapters(r map[string]resource) {
	r[system] = r[system].edited(func(_ *call, body m) { delete(body, "NetworkInterfaces") })
	r[chassis] = r[chassis].edited(func(_ *call, body m) { delete(body, "NetworkAdapters") })
	for at := range adapterRoutes() {
		delete(r, at)
	}
}
