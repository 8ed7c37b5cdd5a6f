package ironic

import (
	"go.temper.dev/temper/api/httpd"
)

func (s *Server) ironicRoutes() []httpd.Route {
	return []httpd.Route{
		httpd.Get("/", 0, s.getRoot).Open().For(httpd.Clients | httpd.Agents),
		httpd.Get("/v1", 1, s.getV1).Open().For(httpd.Clients | httpd.Agents),
		httpd.Get("/v1/ports", 1, s.listPorts),
		httpd.Post("/v1/ports", 1, s.createPort),
		httpd.Get("/v1/ports/detail", 1, s.listPortsDetail),
		httpd.Get("/v1/ports/:port", 1, s.getPort),
		httpd.Patch("/v1/ports/:port", 1, s.patchPort),
		httpd.Delete("/v1/ports/:port", 1, s.deletePort),
		httpd.Get("/v1/drivers", 1, s.listDrivers),
		httpd.Get("/v1/drivers/:driver", 1, s.getDriver),
		httpd.Get("/v1/drivers/:driver/properties", 1, s.getDriverProperties),
		httpd.Get("/v1/drivers/:driver/raid/logical_disk_properties", 1, s.getLogicalDisk),
		httpd.Get("/v1/conductors", minorConductors, s.listConductors),
		httpd.Get("/v1/conductors/:conductor", minorConductors, s.getConductor),
		httpd.Get("/v1/lookup", 22, s.getLookup).Open().Secret().For(httpd.Agents),
		httpd.Post("/v1/heartbeat/:node", 22, s.postHeartbeat).Open().Unaudited().For(httpd.Agents),
		httpd.Post("/v1/continue_inspection", 1, s.postInspection).Open().Unaudited().For(httpd.Agents),
	}
}

func (s *Server) chassisRoutes() []httpd.Route {
	h := s.chassis()
	return []httpd.Route{
		httpd.Get("/v1/chassis", 1, h.list),
		httpd.Post("/v1/chassis", 1, h.post),
		httpd.Get("/v1/chassis/detail", 1, h.collection("chassis/detail", true)),
		httpd.Get("/v1/chassis/:chassis", 1, h.get),
		httpd.Patch("/v1/chassis/:chassis", 1, h.patch),
		httpd.Delete("/v1/chassis/:chassis", 1, h.delete),
		httpd.Get("/v1/chassis/:chassis/nodes", 1, s.listChassisNodes),
		httpd.Get("/v1/chassis/:chassis/nodes/detail", 1, s.listChassisNodesDetail),
	}
}

func (s *Server) portgroupRoutes() []httpd.Route {
	return []httpd.Route{
		httpd.Get("/v1/portgroups", minorPortgroups, s.listPortgroups),
		httpd.Post("/v1/portgroups", minorPortgroups, s.createPortgroup),
		httpd.Get("/v1/portgroups/detail", minorPortgroups, s.listPortgroupsDetail),
		httpd.Get("/v1/portgroups/:portgroup", minorPortgroups, s.getPortgroup),
		httpd.Patch("/v1/portgroups/:portgroup", minorPortgroups, s.patchPortgroup),
		httpd.Delete("/v1/portgroups/:portgroup", minorPortgroups, s.deletePortgroup),
		httpd.Get("/v1/portgroups/:portgroup/ports", minorPortgroupsOf, s.listPortgroupPorts),
		httpd.Get("/v1/portgroups/:portgroup/ports/detail", minorPortgroupsOf, s.listPortgroupPortsDetail),
		httpd.Get("/v1/nodes/:node/portgroups", minorPortgroupsOf, s.listNodePortgroups),
		httpd.Get("/v1/nodes/:node/portgroups/detail", minorPortgroupsOf, s.listNodePortgroupsDetail),
	}
}

func (s *Server) volumeRoutes() []httpd.Route {
	return []httpd.Route{
		httpd.Get("/v1/volume", minorVolume, s.getVolume),
		httpd.Get("/v1/volume/connectors", minorVolume, s.listVolumeConnectors),
		httpd.Post("/v1/volume/connectors", minorVolume, s.createVolumeConnector),
		httpd.Get("/v1/volume/connectors/:connector", minorVolume, s.getVolumeConnector),
		httpd.Patch("/v1/volume/connectors/:connector", minorVolume, s.patchVolumeConnector),
		httpd.Delete("/v1/volume/connectors/:connector", minorVolume, s.deleteVolumeConnector),
		httpd.Get("/v1/volume/targets", minorVolume, s.listVolumeTargets),
		httpd.Post("/v1/volume/targets", minorVolume, s.createVolumeTarget),
		httpd.Get("/v1/volume/targets/:target", minorVolume, s.getVolumeTarget),
		httpd.Patch("/v1/volume/targets/:target", minorVolume, s.patchVolumeTarget),
		httpd.Delete("/v1/volume/targets/:target", minorVolume, s.deleteVolumeTarget),
		httpd.Get("/v1/nodes/:node/volume", minorVolume, s.getNodeVolume),
		httpd.Get("/v1/nodes/:node/volume/connectors", minorVolume, s.listVolumeConnectors),
		httpd.Get("/v1/nodes/:node/volume/targets", minorVolume, s.listVolumeTargets),
	}
}

func (s *Server) deployTemplateRoutes() []httpd.Route {
	h := s.deployTemplates()
	return []httpd.Route{
		httpd.Get("/v1/deploy_templates", minorDeployTemplates, h.list),
		httpd.Post("/v1/deploy_templates", 1, writes(minorDeployTemplates, noDeployTemplates, h.post)),
		httpd.Get("/v1/deploy_templates/:template", minorDeployTemplates, h.get),
		httpd.Patch("/v1/deploy_templates/:template", 1, writes(minorDeployTemplates, noDeployTemplates, h.patch)),
		httpd.Delete("/v1/deploy_templates/:template", 1, writes(minorDeployTemplates, noDeployTemplates, h.delete)),
	}
}

func (s *Server) runbookRoutes() []httpd.Route {
	h := s.runbooks()
	return []httpd.Route{
		httpd.Get("/v1/runbooks", minorRunbooks, h.list),
		httpd.Post("/v1/runbooks", 1, writes(minorRunbooks, noRunbooks, h.post)),
		httpd.Get("/v1/runbooks/:runbook", minorRunbooks, h.get),
		httpd.Patch("/v1/runbooks/:runbook", 1, writes(minorRunbooks, noRunbooks, h.patch)),
		httpd.Delete("/v1/runbooks/:runbook", 1, writes(minorRunbooks, noRunbooks, h.delete)),
		httpd.Get("/v1/runbooks/:runbook/traits", minorRunbookTraits, s.listRunbookTraits),
		httpd.Put("/v1/runbooks/:runbook/traits", minorRunbookTraits, s.putRunbookTraits),
		httpd.Delete("/v1/runbooks/:runbook/traits", minorRunbookTraits, s.deleteRunbookTraits),
		httpd.Put("/v1/runbooks/:runbook/traits/:trait", minorRunbookTraits, s.putRunbookTrait),
		httpd.Delete("/v1/runbooks/:runbook/traits/:trait", minorRunbookTraits, s.deleteRunbookTrait),
	}
}

func (s *Server) nodeRoutes() []httpd.Route {
	return []httpd.Route{
		httpd.Get("/v1/nodes", 1, s.listNodes),
		httpd.Post("/v1/nodes", 1, s.createNode),
		httpd.Get("/v1/nodes/detail", 1, s.listNodesDetail),
		httpd.Get("/v1/nodes/:node", 1, s.getNode),
		httpd.Patch("/v1/nodes/:node", 1, s.patchNode),
		httpd.Delete("/v1/nodes/:node", 1, s.deleteNode),
		httpd.Get("/v1/nodes/:node/validate", 1, s.getValidate),
		httpd.Get("/v1/nodes/:node/states", 1, s.getStates),
		httpd.Put("/v1/nodes/:node/states/power", 1, s.putPower),
		httpd.Put("/v1/nodes/:node/states/provision", 1, s.putProvision),
		httpd.Put("/v1/nodes/:node/maintenance", 1, s.putMaintenance),
		httpd.Delete("/v1/nodes/:node/maintenance", 1, s.deleteMaintenance),
		httpd.Get("/v1/nodes/:node/ports", 1, s.listNodePorts),
		httpd.Get("/v1/nodes/:node/ports/detail", 1, s.listNodePortsDetail),
		httpd.Get("/v1/nodes/:node/traits", 1, s.listTraits),
		httpd.Put("/v1/nodes/:node/traits", 1, writes(minorTraits, noTraits, s.putTraits)),
		httpd.Delete("/v1/nodes/:node/traits", 1, writes(minorTraits, noTraits, s.deleteTraits)),
		httpd.Put("/v1/nodes/:node/traits/:trait", 1, writes(minorTraits, noTraits, s.putTrait)),
		httpd.Delete("/v1/nodes/:node/traits/:trait", 1, writes(minorTraits, noTraits, s.deleteTrait)),
		httpd.Get("/v1/nodes/:node/history", 78, s.listHistory),
		httpd.Get("/v1/nodes/:node/history/:event", 78, s.getHistory),
		httpd.Get("/v1/nodes/:node/inventory", 81, s.getInventory),
		httpd.Get("/v1/nodes/:node/vifs", 28, s.listVIFs),
		httpd.Post("/v1/nodes/:node/vifs", 28, s.attachVIF),
		httpd.Delete("/v1/nodes/:node/vifs/:vif", 28, s.detachVIF),
		httpd.Get("/v1/nodes/:node/management/boot_device", 1, s.getBootDevice),
		httpd.Put("/v1/nodes/:node/management/boot_device", 1, s.putBootDevice),
		httpd.Get("/v1/nodes/:node/management/boot_device/supported", 1, s.listBootDevices),
		httpd.Put("/v1/nodes/:node/management/inject_nmi", minorNMI, s.putNMI),
		httpd.Get("/v1/nodes/:node/management/indicators", 63, s.listIndicators),
		httpd.Get("/v1/nodes/:node/management/indicators/:indicator", 63, s.getIndicator),
		httpd.Put("/v1/nodes/:node/management/indicators/:indicator", 63, s.putIndicator),
		httpd.Get("/v1/nodes/:node/bios", 40, s.listBIOS),
		httpd.Get("/v1/nodes/:node/bios/:setting", 40, s.getBIOS),
		httpd.Get("/v1/nodes/:node/firmware", 86, s.listFirmware),
		httpd.Put("/v1/nodes/:node/states/boot_mode", 76, s.putBootMode),
		httpd.Put("/v1/nodes/:node/states/secure_boot", 76, s.putSecureBoot),
		httpd.Put("/v1/nodes/:node/states/raid", 1, s.putRAID),
		httpd.Get("/v1/nodes/:node/states/console", 1, s.getConsole),
		httpd.Put("/v1/nodes/:node/states/console", 1, s.putConsole),
		httpd.Get("/v1/nodes/:node/vmedia", 93, s.getMedia),
		httpd.Post("/v1/nodes/:node/vmedia", 89, s.attachMedia),
		httpd.Delete("/v1/nodes/:node/vmedia", 89, s.detachMedia),
	}
}

func (s *Server) allocationRoutes() []httpd.Route {
	return []httpd.Route{
		httpd.Get("/v1/allocations", minorAllocations, s.listAllocations),
		httpd.Post("/v1/allocations", 1, writes(minorAllocations, noAllocations, s.createAllocation)),
		httpd.Get("/v1/allocations/:allocation", minorAllocations, s.getAllocation),
		httpd.Patch("/v1/allocations/:allocation", 1, writes(minorAllocationEdit, noAllocationUp, s.patchAllocation)),
		httpd.Delete("/v1/allocations/:allocation", 1, writes(minorAllocations, noAllocations, s.deleteAllocation)),
		httpd.Get("/v1/nodes/:node/allocation", minorAllocations, s.getNodeAllocation),
		httpd.Delete("/v1/nodes/:node/allocation", minorAllocations, s.deleteNodeAllocation),
	}
}
