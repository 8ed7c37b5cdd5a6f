package redfish

import (
	"fmt"
	"net/http"
	"strings"
)

// schemas are the CSDL files of the resources served, which $metadata refers to.
var schemas = []string{
	"AccountService", "Bios", "Chassis", "ChassisCollection", "ComputerSystem", "ComputerSystemCollection", "Drive",
	"EthernetInterface", "EthernetInterfaceCollection", "Manager", "ManagerAccount", "ManagerAccountCollection",
	"ManagerCollection", "Memory", "MemoryCollection", "Processor", "ProcessorCollection", "Role", "RoleCollection",
	"ServiceRoot", "Session", "SessionCollection", "SessionService", "Settings", "Storage", "StorageCollection", "Task",
	"TaskCollection", "TaskService", "VirtualMedia", "VirtualMediaCollection", "Volume", "VolumeCollection",
}

// metadata is the OData service's document (DSP0266, 8.4.1). The schemas
// themselves are at their publisher.
func metadata(w http.ResponseWriter, _ *http.Request) {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>` + "\n" +
		`<edmx:Edmx xmlns:edmx="http://docs.oasis-open.org/odata/ns/edmx" Version="4.0">` + "\n")
	for _, s := range schemas {
		fmt.Fprintf(&b, `<edmx:Reference Uri="http://redfish.dmtf.org/schemas/v1/%s_v1.xml"><edmx:Include Namespace="%s"/></edmx:Reference>`+"\n", s, s)
	}
	b.WriteString(`<edmx:DataServices><Schema xmlns="http://docs.oasis-open.org/odata/ns/edm" Namespace="Service">` +
		`<EntityContainer Name="Service" Extends="ServiceRoot.v1_16_1.ServiceContainer"/></Schema></edmx:DataServices>` + "\n</edmx:Edmx>\n")
	w.Header().Set("Content-Type", "application/xml; charset=utf-8")
	_, _ = w.Write([]byte(b.String()))
}
