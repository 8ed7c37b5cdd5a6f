package ironic

import (
	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/internal/access"
)

func (s *Server) ironicRoutes() []httpd.Route {
	return []httpd.Route{
		httpd.Get("/", 0, s.getRoot).Open().For(httpd.Clients | httpd.Agents),
		httpd.Get("/v1", 1, s.getV1).Open().For(httpd.Clients | httpd.Agents),
		httpd.Get("/v1/ports", 1, s.listPorts).Needs(access.PortList),
		httpd.Post("/v1/ports", 1, s.createPort).Needs(access.PortCreate),
		httpd.Get("/v1/ports/detail", 1, s.listPortsDetail).Needs(access.PortList),
		httpd.Get("/v1/ports/:port", 1, s.getPort).Needs(access.PortGet),
		httpd.Patch("/v1/ports/:port", 1, s.patchPort).Needs(access.PortUpdate),
		httpd.Delete("/v1/ports/:port", 1, s.deletePort).Needs(access.PortDelete),
		httpd.Get("/v1/drivers", 1, s.listDrivers).Needs(access.DriverGet),
		httpd.Get("/v1/drivers/:driver", 1, s.getDriver).Needs(access.DriverGet),
		httpd.Get("/v1/drivers/:driver/properties", 1, s.getDriverProperties).Needs(access.DriverGetProperties),
		httpd.Get("/v1/drivers/:driver/raid/logical_disk_properties", 1, s.getLogicalDisk).Needs(access.DriverGetRAID),
		httpd.Get("/v1/conductors", minorConductors, s.listConductors).Needs(access.ConductorGet),
		httpd.Get("/v1/conductors/:conductor", minorConductors, s.getConductor).Needs(access.ConductorGet),
		httpd.Get("/v1/shards", minorShards, s.listShards).Needs(access.ShardGet),
		httpd.Post("/v1/events", minorEvents, s.postEvents).Needs(access.EventPost),
		httpd.Get("/v1/lookup", 22, s.getLookup).Open().Secret().For(httpd.Agents),
		httpd.Post("/v1/heartbeat/:node", 22, s.postHeartbeat).Open().Unaudited().For(httpd.Agents),
		httpd.Post("/v1/continue_inspection", 1, s.postInspection).Open().Unaudited().For(httpd.Agents),
	}
}

func (s *Server) chassisRoutes() []httpd.Route {
	h := s.chassis()
	return []httpd.Route{
		httpd.Get("/v1/chassis", 1, h.list).Needs(access.ChassisGet),
		httpd.Post("/v1/chassis", 1, h.post).Needs(access.ChassisCreate),
		httpd.Get("/v1/chassis/detail", 1, h.collection("chassis/detail", true)).Needs(access.ChassisGet),
		httpd.Get("/v1/chassis/:chassis", 1, h.get).Needs(access.ChassisGet),
		httpd.Patch("/v1/chassis/:chassis", 1, h.patch).Needs(access.ChassisUpdate),
		httpd.Delete("/v1/chassis/:chassis", 1, h.delete).Needs(access.ChassisDelete),
		httpd.Get("/v1/chassis/:chassis/nodes", 1, s.listChassisNodes).Needs(access.NodeList),
		httpd.Get("/v1/chassis/:chassis/nodes/detail", 1, s.listChassisNodesDetail).Needs(access.NodeList),
	}
}

func (s *Server) portgroupRoutes() []httpd.Route {
	return []httpd.Route{
		httpd.Get("/v1/portgroups", minorPortgroups, s.listPortgroups).Needs(access.PortgroupList),
		httpd.Post("/v1/portgroups", minorPortgroups, s.createPortgroup).Needs(access.PortgroupCreate),
		httpd.Get("/v1/portgroups/detail", minorPortgroups, s.listPortgroupsDetail).Needs(access.PortgroupList),
		httpd.Get("/v1/portgroups/:portgroup", minorPortgroups, s.getPortgroup).Needs(access.PortgroupGet),
		httpd.Patch("/v1/portgroups/:portgroup", minorPortgroups, s.patchPortgroup).Needs(access.PortgroupUpdate),
		httpd.Delete("/v1/portgroups/:portgroup", minorPortgroups, s.deletePortgroup).Needs(access.PortgroupDelete),
		httpd.Get("/v1/portgroups/:portgroup/ports", minorPortgroupsOf, s.listPortgroupPorts).Needs(access.PortGet),
		httpd.Get("/v1/portgroups/:portgroup/ports/detail", minorPortgroupsOf, s.listPortgroupPortsDetail).Needs(access.PortGet),
		httpd.Get("/v1/nodes/:node/portgroups", minorPortgroupsOf, s.listNodePortgroups).Needs(access.PortgroupGet),
		httpd.Get("/v1/nodes/:node/portgroups/detail", minorPortgroupsOf, s.listNodePortgroupsDetail).Needs(access.PortgroupGet),
	}
}

func (s *Server) volumeRoutes() []httpd.Route {
	return []httpd.Route{
		httpd.Get("/v1/volume", minorVolume, s.getVolume).Needs(access.VolumeList),
		httpd.Get("/v1/volume/connectors", minorVolume, s.listVolumeConnectors).Needs(access.VolumeList),
		httpd.Post("/v1/volume/connectors", minorVolume, s.createVolumeConnector).Needs(access.VolumeCreate),
		httpd.Get("/v1/volume/connectors/:connector", minorVolume, s.getVolumeConnector).Needs(access.VolumeGet),
		httpd.Patch("/v1/volume/connectors/:connector", minorVolume, s.patchVolumeConnector).Needs(access.VolumeUpdate),
		httpd.Delete("/v1/volume/connectors/:connector", minorVolume, s.deleteVolumeConnector).Needs(access.VolumeDelete),
		httpd.Get("/v1/volume/targets", minorVolume, s.listVolumeTargets).Needs(access.VolumeList),
		httpd.Post("/v1/volume/targets", minorVolume, s.createVolumeTarget).Needs(access.VolumeCreate),
		httpd.Get("/v1/volume/targets/:target", minorVolume, s.getVolumeTarget).Needs(access.VolumeGet),
		httpd.Patch("/v1/volume/targets/:target", minorVolume, s.patchVolumeTarget).Needs(access.VolumeUpdate),
		httpd.Delete("/v1/volume/targets/:target", minorVolume, s.deleteVolumeTarget).Needs(access.VolumeDelete),
		httpd.Get("/v1/nodes/:node/volume", minorVolume, s.getNodeVolume).Needs(access.VolumeGet),
		httpd.Get("/v1/nodes/:node/volume/connectors", minorVolume, s.listVolumeConnectors).Needs(access.VolumeGet),
		httpd.Get("/v1/nodes/:node/volume/targets", minorVolume, s.listVolumeTargets).Needs(access.VolumeGet),
	}
}

func (s *Server) deployTemplateRoutes() []httpd.Route {
	h := s.deployTemplates()
	return []httpd.Route{
		httpd.Get("/v1/deploy_templates", minorDeployTemplates, h.list).Needs(access.TemplateGet),
		httpd.Post("/v1/deploy_templates", 1, writes(minorDeployTemplates, noDeployTemplates, h.post)).Needs(access.TemplateCreate),
		httpd.Get("/v1/deploy_templates/:template", minorDeployTemplates, h.get).Needs(access.TemplateGet),
		httpd.Patch("/v1/deploy_templates/:template", 1, writes(minorDeployTemplates, noDeployTemplates, h.patch)).Needs(access.TemplateUpdate),
		httpd.Delete("/v1/deploy_templates/:template", 1, writes(minorDeployTemplates, noDeployTemplates, h.delete)).Needs(access.TemplateDelete),
	}
}

func (s *Server) runbookRoutes() []httpd.Route {
	h := s.runbooks()
	return []httpd.Route{
		httpd.Get("/v1/runbooks", minorRunbooks, h.list).Needs(access.RunbookList),
		httpd.Post("/v1/runbooks", 1, writes(minorRunbooks, noRunbooks, h.post)).Needs(access.RunbookCreate),
		httpd.Get("/v1/runbooks/:runbook", minorRunbooks, h.get).Needs(access.RunbookGet).Or(access.RunbookList),
		httpd.Patch("/v1/runbooks/:runbook", 1, writes(minorRunbooks, noRunbooks, h.patch)).Needs(access.RunbookUpdate),
		httpd.Delete("/v1/runbooks/:runbook", 1, writes(minorRunbooks, noRunbooks, h.delete)).Needs(access.RunbookDelete),
		httpd.Get("/v1/runbooks/:runbook/traits", minorRunbookTraits, s.listRunbookTraits).Needs(access.RunbookGet).Or(access.RunbookList),
		httpd.Put("/v1/runbooks/:runbook/traits", minorRunbookTraits, s.putRunbookTraits).Needs(access.RunbookUpdate),
		httpd.Delete("/v1/runbooks/:runbook/traits", minorRunbookTraits, s.deleteRunbookTraits).Needs(access.RunbookUpdate),
		httpd.Put("/v1/runbooks/:runbook/traits/:trait", minorRunbookTraits, s.putRunbookTrait).Needs(access.RunbookUpdate),
		httpd.Delete("/v1/runbooks/:runbook/traits/:trait", minorRunbookTraits, s.deleteRunbookTrait).Needs(access.RunbookUpdate),
	}
}

func (s *Server) nodeRoutes() []httpd.Route {
	own := func(r *access.Rule) *access.Rule {
		if s.OwnNodes {
			return r
		}
		return nil
	}
	return []httpd.Route{
		httpd.Get("/v1/nodes", 1, s.listNodes).Needs(access.NodeList),
		httpd.Post("/v1/nodes", 1, s.createNode).Needs(access.NodeCreate).Or(own(access.NodeCreateOwn)),
		httpd.Get("/v1/nodes/detail", 1, s.listNodesDetail).Needs(access.NodeList),
		httpd.Get("/v1/nodes/:node", 1, s.getNode).Needs(access.NodeGet),
		httpd.Patch("/v1/nodes/:node", 1, s.patchNode).Needs(access.NodeUpdate).Or(access.NodeUpdateDriverInfo),
		httpd.Delete("/v1/nodes/:node", 1, s.deleteNode).Needs(access.NodeDelete).Or(own(access.NodeDeleteOwn)),
		httpd.Get("/v1/nodes/:node/validate", 1, s.getValidate).Needs(access.NodeValidate),
		httpd.Get("/v1/nodes/:node/states", 1, s.getStates).Needs(access.NodeGetStates),
		httpd.Put("/v1/nodes/:node/states/power", 1, s.putPower).Needs(access.NodeSetPower),
		httpd.Put("/v1/nodes/:node/states/provision", 1, s.putProvision).Needs(access.NodeSetProvision),
		httpd.Put("/v1/nodes/:node/maintenance", 1, s.putMaintenance).Needs(access.NodeSetMaintenance),
		httpd.Delete("/v1/nodes/:node/maintenance", 1, s.deleteMaintenance).Needs(access.NodeClearMaintenance),
		httpd.Get("/v1/nodes/:node/ports", 1, s.listNodePorts).Needs(access.PortGet),
		httpd.Get("/v1/nodes/:node/ports/detail", 1, s.listNodePortsDetail).Needs(access.PortGet),
		httpd.Get("/v1/nodes/:node/traits", 1, s.listTraits).Needs(access.NodeListTraits),
		httpd.Put("/v1/nodes/:node/traits", 1, writes(minorTraits, noTraits, s.putTraits)).Needs(access.NodeSetTraits),
		httpd.Delete("/v1/nodes/:node/traits", 1, writes(minorTraits, noTraits, s.deleteTraits)).Needs(access.NodeDeleteTraits),
		httpd.Put("/v1/nodes/:node/traits/:trait", 1, writes(minorTraits, noTraits, s.putTrait)).Needs(access.NodeSetTraits),
		httpd.Delete("/v1/nodes/:node/traits/:trait", 1, writes(minorTraits, noTraits, s.deleteTrait)).Needs(access.NodeDeleteTraits),
		httpd.Get("/v1/nodes/:node/children", minorChildren, s.listChildren).Needs(access.NodeGet),
		httpd.Get("/v1/nodes/:node/history", 78, s.listHistory).Needs(access.NodeGetHistory),
		httpd.Get("/v1/nodes/:node/history/:event", 78, s.getHistory).Needs(access.NodeGetHistory),
		httpd.Get("/v1/nodes/:node/inventory", 81, s.getInventory).Needs(access.NodeGetInventory),
		httpd.Get("/v1/nodes/:node/vifs", 28, s.listVIFs).Needs(access.NodeListVIFs),
		httpd.Post("/v1/nodes/:node/vifs", 28, s.attachVIF).Needs(access.NodeAttachVIF),
		httpd.Delete("/v1/nodes/:node/vifs/:vif", 28, s.detachVIF).Needs(access.NodeDetachVIF),
		httpd.Get("/v1/nodes/:node/management/boot_device", 1, s.getBootDevice).Needs(access.NodeGetBootDevice),
		httpd.Put("/v1/nodes/:node/management/boot_device", 1, s.putBootDevice).Needs(access.NodeSetBootDevice),
		httpd.Get("/v1/nodes/:node/management/boot_device/supported", 1, s.listBootDevices).Needs(access.NodeGetBootDevice),
		httpd.Put("/v1/nodes/:node/management/inject_nmi", minorNMI, s.putNMI).Needs(access.NodeInjectNMI),
		httpd.Get("/v1/nodes/:node/management/indicators", 63, s.listIndicators).Needs(access.NodeGetIndicator),
		httpd.Get("/v1/nodes/:node/management/indicators/:indicator", 63, s.getIndicator).Needs(access.NodeGetIndicator),
		httpd.Put("/v1/nodes/:node/management/indicators/:indicator", 63, s.putIndicator).Needs(access.NodeSetIndicator),
		httpd.Get("/v1/nodes/:node/bios", 40, s.listBIOS).Needs(access.NodeGetBIOS),
		httpd.Get("/v1/nodes/:node/bios/:setting", 40, s.getBIOS).Needs(access.NodeGetBIOS),
		httpd.Get("/v1/nodes/:node/firmware", 86, s.listFirmware).Needs(access.NodeGetFirmware),
		httpd.Put("/v1/nodes/:node/states/boot_mode", 76, s.putBootMode).Needs(access.NodeSetBootMode),
		httpd.Put("/v1/nodes/:node/states/secure_boot", 76, s.putSecureBoot).Needs(access.NodeSetSecureBoot),
		httpd.Put("/v1/nodes/:node/states/raid", 1, s.putRAID).Needs(access.NodeSetRAID),
		httpd.Get("/v1/nodes/:node/states/console", 1, s.getConsole).Needs(access.NodeGetConsole),
		httpd.Put("/v1/nodes/:node/states/console", 1, s.putConsole).Needs(access.NodeSetConsole),
		httpd.Get("/v1/nodes/:node/vmedia", 93, s.getMedia).Needs(access.NodeGetMedia),
		httpd.Post("/v1/nodes/:node/vmedia", 89, s.attachMedia).Needs(access.NodeAttachMedia),
		httpd.Delete("/v1/nodes/:node/vmedia", 89, s.detachMedia).Needs(access.NodeDetachMedia),
	}
}

func (s *Server) allocationRoutes() []httpd.Route {
	return []httpd.Route{
		httpd.Get("/v1/allocations", minorAllocations, s.listAllocations).Needs(access.AllocationList),
		httpd.Post("/v1/allocations", 1, writes(minorAllocations, noAllocations, s.createAllocation)).Needs(access.AllocationCreate).Or(access.AllocationCreateRestricted),
		httpd.Get("/v1/allocations/:allocation", minorAllocations, s.getAllocation).Needs(access.AllocationGet),
		httpd.Patch("/v1/allocations/:allocation", 1, writes(minorAllocationEdit, noAllocationUp, s.patchAllocation)).Needs(access.AllocationUpdate),
		httpd.Delete("/v1/allocations/:allocation", 1, writes(minorAllocations, noAllocations, s.deleteAllocation)).Needs(access.AllocationDelete),
		httpd.Get("/v1/nodes/:node/allocation", minorAllocations, s.getNodeAllocation).Needs(access.NodeGet),
		httpd.Delete("/v1/nodes/:node/allocation", minorAllocations, s.deleteNodeAllocation).Needs(access.NodeGet),
	}
}
