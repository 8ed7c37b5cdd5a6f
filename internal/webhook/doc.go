// Package webhook sends events to HTTP endpoints that people name, signed as Standard Webhooks (standardwebhooks.com) says. It
// tries each event until the endpoint has taken it, in order, and gives an event up when it is too old.
//
// What has to survive a crash is in the store: how far each webhook is, since when it fails, and what was given up. A process
// leases the webhooks that it sends for. Another one takes them over when it has stopped or its lease has ended. An event may
// then be sent twice; its webhook-id is the same.
package webhook
