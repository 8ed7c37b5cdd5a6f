package agent

// Step is a step that an agent offers, and that is sent back to it to be run.
type Step struct {
	Step            string         `json:"step"`
	Interface       string         `json:"interface"`
	Priority        Number         `json:"priority"`
	RebootRequested bool           `json:"reboot_requested"`
	Abortable       bool           `json:"abortable"`
	ArgsInfo        map[string]any `json:"argsinfo,omitempty"`
	// RequiresRamdisk: nil means true.
	RequiresRamdisk *bool `json:"requires_ramdisk,omitempty"`
	// Args are only in steps to be run.
	Args map[string]any `json:"args,omitempty"`
}

// Family is a kind of steps: an extension of the agent that lists and runs them.
type Family string

// The families. The names of commands, parameters and results contain the family's name.
const (
	DeployFamily  Family = "deploy"
	CleanFamily   Family = "clean"
	ServiceFamily Family = "service"
)

// List returns the command that lists the family's steps.
func (f Family) List() string { return string(f) + ".get_" + string(f) + "_steps" }

// Execute returns the command that runs one of the family's steps.
func (f Family) Execute() string { return string(f) + ".execute_" + string(f) + "_step" }

// ListSteps are the parameters of get_*_steps.
type ListSteps struct {
	Node  map[string]any   `json:"node"`
	Ports []map[string]any `json:"ports"`
}

// StepLists is the result of get_*_steps: each hardware manager's steps by its
// name, and the managers' versions, which execute_*_step sends back.
type StepLists struct {
	DeploySteps  map[string][]Step `json:"deploy_steps,omitempty"`
	CleanSteps   map[string][]Step `json:"clean_steps,omitempty"`
	ServiceSteps map[string][]Step `json:"service_steps,omitempty"`
	// Versions are sent back unchanged. Some managers use numbers.
	Versions map[string]any `json:"hardware_manager_version"`
}

// Of returns the steps of the family.
func (l *StepLists) Of(f Family) map[string][]Step {
	switch f {
	case DeployFamily:
		return l.DeploySteps
	case CleanFamily:
		return l.CleanSteps
	case ServiceFamily:
		return l.ServiceSteps
	}
	return nil
}

// RunStep are the parameters of execute_*_step. Only the version field of the step's family
// is set. If the agent has other versions, it answers VersionMismatch.
type RunStep struct {
	Step           Step             `json:"step"`
	Node           map[string]any   `json:"node"`
	Ports          []map[string]any `json:"ports"`
	DeployVersion  map[string]any   `json:"deploy_version,omitempty"`
	CleanVersion   map[string]any   `json:"clean_version,omitempty"`
	ServiceVersion map[string]any   `json:"service_version,omitempty"`
}

// PartitionUUIDs is the result of standby.get_partition_uuids after write_image.
type PartitionUUIDs struct {
	Partitions map[string]string `json:"partitions,omitempty"`
	RootUUID   Text              `json:"root uuid,omitempty"`
	EFISystem  Text              `json:"efi system partition uuid,omitempty"`
	PReP       Text              `json:"PReP Boot partition uuid,omitempty"`
	DiskID     Text              `json:"disk identifier,omitempty"`
}

// RescueParams are the parameters of rescue.finalize_rescue. Password is a hash in the format of crypt(3) if Hashed is set.
type RescueParams struct {
	Password string `json:"rescue_password"`
	Keys     string `json:"rescue_ssh_keys,omitempty"` // public keys that may log in, too, a line each; only Temper's agent knows them
	Hashed   bool   `json:"hashed"`
}

// BootloaderParams are the parameters of image.install_bootloader. A partition that does not
// exist is null.
type BootloaderParams struct {
	RootUUID       Text `json:"root_uuid"`
	EFISystemUUID  Text `json:"efi_system_part_uuid"`
	PRePUUID       Text `json:"prep_boot_part_uuid"`
	TargetBootMode Text `json:"target_boot_mode"`
}

// PartitionImage is the image_type of an image of a file system. The agent partitions the disk for it.
const PartitionImage = "partition"

// ImageInfo describes the image that the agent downloads, verifies and writes. With image_type "partition" it has a Disk, too; a
// whole-disk image needs no other fields.
type ImageInfo struct {
	ID              string   `json:"id"`   // the last part of image_source
	URLs            []string `json:"urls"` // one
	DiskFormat      Text     `json:"disk_format"`
	ContainerFormat Text     `json:"container_format"`
	StreamRaw       bool     `json:"stream_raw_images"`
	// Checksum is a digest, or the URL of a checksum file. HashAlgo and HashValue go together
	// and take precedence. One of the two is mandatory.
	Checksum  string            `json:"checksum,omitempty"`
	HashAlgo  string            `json:"os_hash_algo,omitempty"`
	HashValue string            `json:"os_hash_value,omitempty"`
	NodeUUID  string            `json:"node_uuid"`
	ImageType string            `json:"image_type,omitempty"`
	Proxies   map[string]string `json:"proxies,omitempty"` // "http" and "https"
	NoProxy   string            `json:"no_proxy,omitempty"`
	// Authorization is the base64 of the Authorization header for the image server.
	Authorization string `json:"image_request_authorization,omitempty"`
	ConfigDrive   Text   `json:"configdrive,omitempty"`
	PartitionLayout
}

// PartitionLayout says how the agent partitions the disk for an image of a file system (Ironic drivers/modules/agent.py,
// PARTITION_IMAGE_LABELS).
type PartitionLayout struct {
	RootMB            Number `json:"root_mb,omitempty"`
	SwapMB            Number `json:"swap_mb,omitempty"`
	EphemeralMB       Number `json:"ephemeral_mb,omitempty"`
	EphemeralFormat   Text   `json:"ephemeral_format,omitempty"`
	PreserveEphemeral bool   `json:"preserve_ephemeral,omitempty"`
	DeployBootMode    Text   `json:"deploy_boot_mode,omitempty"` // uefi or bios
	BootOption        Text   `json:"boot_option,omitempty"`      // local
	DiskLabel         Text   `json:"disk_label,omitempty"`       // gpt or msdos
}
