package node

// logicalDisk are the properties of a logical disk in a RAID configuration, which all implementations of the interface raid have in
// common (Ironic drivers/raid_config_schema.json).
var logicalDisk = []Property{
	{Name: "controller", About: "RAID controller that the disk is made with, as the driver names it. Default: one that fits."},
	{Name: "disk_type", About: "Type of its physical disks: hdd or ssd. Default: any."},
	{Name: "interface_type", About: "Interface of its physical disks: sata, scsi or sas. Default: any."},
	{Name: "is_root_volume", About: "Whether it is the root device, on which images are deployed. True for one logical disk at most. Default: false."},
	{Name: "number_of_physical_disks", About: "How many physical disks it has, a whole number above 0. Default: as few as the RAID level needs."},
	{Name: "physical_disks", About: "Its physical disks, as the driver names them: a list. Default: those that fit."},
	{Name: "raid_level", About: "RAID level: JBOD, 0, 1, 2, 5, 6, 1+0, 5+0 or 6+0. Required.", Required: true},
	{Name: "share_physical_disks", About: "Whether other logical disks may have parts of its physical disks. Default: false."},
	{Name: "size_gb", About: "Size in GiB, a whole number above 0, or MAX for all the space that is left. Required.", Required: true},
	{Name: "volume_name", About: "Name of the volume. Default: one that the driver makes."},
}
