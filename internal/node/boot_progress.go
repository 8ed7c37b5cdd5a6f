package node

// TellsBoot is the name in driver_internal_info under which is noted that the BMC tells how far a boot is.
const TellsBoot = "temper_tells_boot"
