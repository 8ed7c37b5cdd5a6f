package main

import (
	"time"

	"go.temporal.io/server/common/dynamicconfig"
)

// dynamicConfig has the settings in which this server differs from Temporal's defaults, which are made for clusters.
var dynamicConfig = dynamicconfig.StaticClient{
	// With the default of 20 polls a second for each shard, every task that is not dispatched eagerly waits about 50 ms:
	// twelve sequential activities took 1.25 s instead of 63 ms.
	dynamicconfig.TransferProcessorMaxPollRPS.Key():   1000,
	dynamicconfig.TimerProcessorMaxPollRPS.Key():      1000,
	dynamicconfig.VisibilityProcessorMaxPollRPS.Key(): 1000,
	dynamicconfig.OutboundProcessorMaxPollRPS.Key():   1000,

	// Timers fire late by this much, because the clocks of a cluster's hosts may differ; here there is one clock. With the
	// default of 1 s, a step that one conductor hands over to another waits for that second, and each crash adds another.
	dynamicconfig.TimerProcessorMaxTimeShift.Key(): 20 * time.Millisecond,

	// Each task queue has one partition. With the default of four, a poll and a task in different partitions meet only
	// after one of them was forwarded, which gains nothing on one host.
	dynamicconfig.MatchingNumTaskqueueReadPartitions.Key():  1,
	dynamicconfig.MatchingNumTaskqueueWritePartitions.Key(): 1,

	dynamicconfig.EnableActivityEagerExecution.Key(): true,
	dynamicconfig.EnableEagerWorkflowStart.Key():     true,

	// Cancellation reaches a running activity in milliseconds, not with its next heartbeat.
	dynamicconfig.WorkerCommandsEnabled.Key():             true,
	dynamicconfig.EnableCancelActivityWorkerCommand.Key(): true,
	// A worker that announces its shutdown is not sent another task.
	dynamicconfig.EnableCancelWorkerPollsOnShutdown.Key(): true,
	dynamicconfig.WorkflowPauseEnabled.Key():              true,

	// A host that is frozen or cut off keeps its polls open. Until the server closes the connection, it may send an
	// attempt of an activity to each of these polls, and that attempt is lost. With the defaults of 60 s and 10 s closing
	// takes 26 to 32 s. These two together are less than the 4.5 s after which the step of such a host is given to
	// another one at the earliest (heartbeat_timeout, less a pause between heartbeats, plus the pause before the next attempt).
	dynamicconfig.KeepAliveTime.Key():    2 * time.Second,
	dynamicconfig.KeepAliveTimeout.Key(): 1500 * time.Millisecond,
	// Clients may send keepalive pings as often as this. The server closes the connection of a client that sends more.
	dynamicconfig.KeepAliveMinTime.Key(): time.Second,

	// New namespaces and search attributes can be used only after this time. With the default of 2 s, the first workflow that
	// sets one is refused and tries again only 10 s later. Until then it does nothing else either. Each of the four services
	// reads all namespaces that often: with 100 ms that took a twelfth of this process's CPU while 10,000 operations ran.
	dynamicconfig.NamespaceCacheRefreshInterval.Key(): 500 * time.Millisecond,

	// Rate limits protect the tenants of a cluster from each other. Here they would only slow down the one tenant.
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

	// Workflows stay in the cache for an hour after their last change, also closed ones. With the default of 128,000 of them, 10,000
	// operations made this process grow by 1.5 GB. One that is not there is read from the file.
	dynamicconfig.HistoryCacheHostLevelMaxSize.Key(): 4000,

	// Background scans and statistics for operators of clusters.
	dynamicconfig.PersistenceHealthSignalMetricsEnabled.Key():     false,
	dynamicconfig.PersistenceHealthSignalAggregationEnabled.Key(): false,
	dynamicconfig.TaskQueueScannerEnabled.Key():                   false,
	dynamicconfig.BuildIdScavengerEnabled.Key():                   false,
}
