package format

// NoLastError stands in the place of an error that a client may not read (Ironic api/controllers/v1/node.py).
const NoLastError = "** Value Redacted - Requires baremetal:node:get:last_error permission. **"
