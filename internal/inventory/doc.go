// Package inventory compares the hardware inventories of servers: one with the inspection before (Compare), and one with other
// servers of its kind (Facts). It reads inventories as they are stored, whichever inspection interface found them: the ironic-python-agent's
// format, with what package conductor adds of out-of-band inspection.
package inventory
