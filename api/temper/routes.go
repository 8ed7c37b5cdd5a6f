package temper

import (
	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/internal/access"
)

func (s *Server) ownRoutes() []httpd.Route {
	return []httpd.Route{
		httpd.Get("/temper/v1/healthz", 0, s.getHealth).Open(),
		httpd.Get("/temper/v1/readyz", 0, s.getReady).Open(),
		httpd.Post("/temper/v1/bmc-events/:secret", 0, s.postBMCEvent).Open().Unaudited(),
		httpd.Get("/temper/v1/status", 0, s.getStatus).Needs(access.FleetGet),
		httpd.Get("/temper/v1/why", 0, s.listAttention).Needs(access.NodeWhy),
		httpd.GetStream("/temper/v1/events", s.streamEvents).Needs(access.EventList),
		httpd.Get("/temper/v1/operations", 0, s.listOperations).Needs(access.OperationList),
		httpd.Post("/temper/v1/operations/recover", 0, s.recoverOperations).Needs(access.OperationRecover),
		httpd.Get("/temper/v1/operations/:operation", 0, s.getOperation).Needs(access.OperationGet),
		httpd.Get("/temper/v1/operations/:operation/timeline", 0, s.getTimeline).Needs(access.NodeWhy),
		httpd.Post("/temper/v1/operations/:operation/cancel", 0, s.cancelOperation).Needs(access.OperationEnd).Or(access.OperationEndOthers),
		httpd.Post("/temper/v1/operations/:operation/decision", 0, s.decideOperation).Needs(access.OperationEnd).Or(access.OperationEndOthers),
		httpd.Post("/temper/v1/operations/:operation/unpause", 0, s.unpauseOperation).Needs(access.OperationEnd),
		httpd.Post("/temper/v1/operations/:operation/retry", 0, s.retryOperation).Needs(access.OperationEnd),
		httpd.Get("/temper/v1/nodes/available", 0, s.listAvailable).Needs(access.NodeAvailable),
		httpd.Get("/temper/v1/nodes/deleted", 0, s.listDeleted).Needs(access.NodeDeleted),
		httpd.Get("/temper/v1/nodes/power", 0, s.listPowers).Needs(access.NodeList),
		httpd.Get("/temper/v1/nodes/health", 0, s.listHealth).Needs(access.NodeList),
		httpd.Get("/temper/v1/nodes/:node/health", 0, s.getNodeHealth).Needs(access.NodeGet),
		httpd.Get("/temper/v1/nodes/:node/console", 0, s.getNodeConsole).Needs(access.NodeGetConsole),
		httpd.Get("/temper/v1/nodes/:node/logs", 0, s.getLogs).Needs(access.NodeLogs),
		httpd.Get("/temper/v1/nodes/:node/history", 0, s.listWholeHistory).Needs(access.NodeGetHistory),
		httpd.Post("/temper/v1/nodes/:node/operations", 0, s.createOperation).Needs(access.NodeSetProvision).Or(access.NodeSetPower),
		httpd.Get("/temper/v1/nodes/:node/why", 0, s.getWhy).Needs(access.NodeWhy),
		httpd.Get("/temper/v1/nodes/:node/inventory", 0, s.getInventory).Needs(access.NodeGetInventory),
		httpd.Post("/temper/v1/nodes/:node/recover", 0, s.recoverNode).Needs(access.OperationRecover),
		httpd.Post("/temper/v1/nodes/:node/waive", 0, s.waiveNode).Needs(access.NodeWaive),
	}
}

func (s *Server) discoveryRoutes() []httpd.Route {
	return []httpd.Route{
		httpd.Get("/temper/v1/discoveries", 0, s.listDiscoveries).Needs(access.DiscoveryGet),
		httpd.Get("/temper/v1/discoveries/:discovery", 0, s.getDiscovery).Needs(access.DiscoveryGet),
		httpd.Delete("/temper/v1/discoveries/:discovery", 0, s.deleteDiscovery).Needs(access.DiscoveryDelete),
	}
}

func (s *Server) webhookRoutes() []httpd.Route {
	return []httpd.Route{
		httpd.Get("/temper/v1/webhooks", 0, s.listWebhooks).Needs(access.WebhookGet),
		httpd.Post("/temper/v1/webhooks", 0, s.createWebhook).Needs(access.WebhookSet),
		httpd.Get("/temper/v1/webhooks/:webhook", 0, s.getWebhook).Needs(access.WebhookGet),
		httpd.Patch("/temper/v1/webhooks/:webhook", 0, s.patchWebhook).Needs(access.WebhookSet),
		httpd.Delete("/temper/v1/webhooks/:webhook", 0, s.deleteWebhook).Needs(access.WebhookSet),
		httpd.Post("/temper/v1/webhooks/:webhook/test", 0, s.testWebhook).Needs(access.WebhookSet),
		httpd.Get("/temper/v1/webhooks/:webhook/dead-letters", 0, s.listDeadLetters).Needs(access.WebhookGet),
		httpd.Post("/temper/v1/webhooks/:webhook/redeliver", 0, s.redeliverWebhook).Needs(access.WebhookSet),
	}
}

func (s *Server) accessRoutes() []httpd.Route {
	return []httpd.Route{
		httpd.Get("/temper/v1/audit", 0, s.listAudit).Needs(access.AuditList),
		httpd.Get("/temper/v1/tokens", 0, s.listTokens).Needs(access.TokenList),
		httpd.Post("/temper/v1/tokens", 0, s.createToken).Needs(access.TokenCreate),
		httpd.Delete("/temper/v1/tokens/:token", 0, s.revokeToken).Needs(access.TokenDelete),
	}
}

func (s *Server) fleetRoutes() []httpd.Route {
	return []httpd.Route{
		httpd.Get("/temper/v1/conductors", 0, s.listFleet).Needs(access.FleetGet),
		httpd.Get("/temper/v1/conductors/:conductor", 0, s.getConductor).Needs(access.FleetGet),
		httpd.Delete("/temper/v1/conductors/:conductor", 0, s.forgetConductor).Needs(access.ConductorDrain),
		httpd.Post("/temper/v1/conductors/:conductor/drain", 0, s.drainConductor).Needs(access.ConductorDrain),
		httpd.Post("/temper/v1/conductors/:conductor/undrain", 0, s.undrainConductor).Needs(access.ConductorDrain),
		httpd.Get("/temper/v1/coverage", 0, s.getCoverage).Needs(access.FleetGet),
		httpd.Get("/temper/v1/ring", 0, s.getRing).Needs(access.FleetGet),
		httpd.Get("/temper/v1/ring/what-if", 0, s.getWhatIf).Needs(access.FleetGet),
		httpd.Post("/temper/v1/reconcile", 0, s.postReconcile).Needs(access.Reconcile),
	}
}

func (s *Server) computeRoutes() []httpd.Route {
	return []httpd.Route{
		httpd.Get("/temper/v1/compute-services", 0, s.listCompute).Needs(access.ComputeGet),
		httpd.Get("/temper/v1/compute-services/what-if", 0, s.getComputeWhatIf).Needs(access.ComputeGet),
		httpd.Post("/temper/v1/compute-services/move", 0, s.moveCompute).Needs(access.ComputeSet),
		httpd.Put("/temper/v1/compute-services/:host", 0, s.putCompute).Needs(access.ComputeServe),
		httpd.Delete("/temper/v1/compute-services/:host", 0, s.deleteCompute).Needs(access.ComputeSet),
		httpd.Get("/temper/v1/compute-services/:host/nodes", 0, s.getShare).Needs(access.ComputeGet),
		httpd.Get("/temper/v1/instances", 0, s.listInstances).Needs(access.ComputeGet),
		httpd.Delete("/temper/v1/instances/:instance", 0, s.deleteInstance).Needs(access.ComputeServe),
	}
}
