package node

// ReportsBootProgress is the key of driver_internal_info that says whether the node's BMC reports how far a boot is.
const ReportsBootProgress = "temper_reports_boot_progress"
