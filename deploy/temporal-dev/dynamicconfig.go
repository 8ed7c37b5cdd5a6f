package main

import (
	"time"

	"go.temporal.io/server/common/dynamicconfig"
)

// dynamicConfig is where this server differs from Temporal's defaults, which are made for clusters.
var dynamicConfig = dynamicconfig.StaticClient{
	// With the default of 20 polls a second and shard, every task that is not handed over eagerly waits about 50 ms:
	// twelve sequential activities took 1.25 s instead of 63 ms.
	dynamicconfig.TransferProcessorMaxPollRPS.Key():   1000,
	dynamicconfig.TimerProcessorMaxPollRPS.Key():      1000,
	dynamicconfig.VisibilityProcessorMaxPollRPS.Key(): 1000,
	dynamicconfig.OutboundProcessorMaxPollRPS.Key():   1000,

	// Timers are read this much behind the clock, for hosts whose clocks differ. With the default of 1 s a step that a
	// conductor hands over stands still for that second, and every crash costs one more; here there is one clock.
	dynamicconfig.TimerProcessorMaxTimeShift.Key(): 20 * time.Millisecond,

	// One poller and one backlog a queue: with the default of four partitions on one host, polls and tasks that meet
	// in different partitions are forwarded first.
	dynamicconfig.MatchingNumTaskqueueReadPartitions.Key():  1,
	dynamicconfig.MatchingNumTaskqueueWritePartitions.Key(): 1,

	dynamicconfig.EnableActivityEagerExecution.Key(): true,
	dynamicconfig.EnableEagerWorkflowStart.Key():     true,

	// Cancellation reaches a running activity in milliseconds, not with its next heartbeat.
	dynamicconfig.WorkerCommandsEnabled.Key():             true,
	dynamicconfig.EnableCancelActivityWorkerCommand.Key(): true,
	// A worker that says goodbye is not sent another task.
	dynamicconfig.EnableCancelWorkerPollsOnShutdown.Key(): true,
	dynamicconfig.WorkflowPauseEnabled.Key():              true,

	// A host that is frozen or cut off keeps its polls open, and each of them swallows one attempt of an activity until
	// the connection is given up: 26 to 32 s with the defaults of 60 s and 10 s. Together they are below the 4.5 s
	// that it takes at the least until the step of such a host is given to another (heartbeat_timeout, less a pause
	// between heartbeats, plus the pause before the next attempt).
	dynamicconfig.KeepAliveTime.Key():    2 * time.Second,
	dynamicconfig.KeepAliveTimeout.Key(): 1500 * time.Millisecond,
	// Clients may look as often whether the server is there; more than this is answered by hanging up.
	dynamicconfig.KeepAliveMinTime.Key(): time.Second,

	// Search attributes can be used when this is over since they were made; with the default of 2 s the first workflow
	// that sets one is too early, and then tried again 10 s later only, with all decisions waiting.
	dynamicconfig.NamespaceCacheRefreshInterval.Key(): 100 * time.Millisecond,

	// Rate limits protect tenants of a cluster from each other. Here they would only slow the one there is.
	dynamicconfig.FrontendRPS.Key():                                                        1_000_000,
	dynamicconfig.FrontendMaxNamespaceRPSPerInstance.Key():                                 1_000_000,
	dynamicconfig.FrontendMaxNamespaceVisibilityRPSPerInstance.Key():                       1_000_000,
	dynamicconfig.FrontendMaxConcurrentLongRunningRequestsPerInstance.Key():                1_000_000,
	dynamicconfig.HistoryRPS.Key():                                                         1_000_000,
	dynamicconfig.MatchingRPS.Key():                                                        1_000_000,
	dynamicconfig.FrontendPersistenceMaxQPS.Key():                                          1_000_000,
	dynamicconfig.HistoryPersistenceMaxQPS.Key():                                           1_000_000,
	dynamicconfig.MatchingPersistenceMaxQPS.Key():                                          1_000_000,
	dynamicconfig.WorkerPersistenceMaxQPS.Key():                                            1_000_000,
	dynamicconfig.FrontendMaxNamespaceNamespaceReplicationInducingAPIsRPSPerInstance.Key(): 1_000,

	// Bookkeeping that nobody reads on one machine.
	dynamicconfig.PersistenceHealthSignalMetricsEnabled.Key():     false,
	dynamicconfig.PersistenceHealthSignalAggregationEnabled.Key(): false,
	dynamicconfig.TaskQueueScannerEnabled.Key():                   false,
	dynamicconfig.BuildIdScavengerEnabled.Key():                   false,
}
