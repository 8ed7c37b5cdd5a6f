package fault

// The codes of why work on a node fails or was ended.
const (
	BMCSilent            Code = "bmc_silent"
	BMCWrongPassword     Code = "bmc_wrong_password"
	BMCNotTrusted        Code = "bmc_certificate_not_trusted"
	BMCWrongAddress      Code = "bmc_wrong_address"
	BMCSettingsInvalid   Code = "bmc_settings_invalid"
	BMCRefuses           Code = "bmc_refuses"
	BMCBusy              Code = "bmc_busy"
	BMCBadAnswer         Code = "bmc_bad_answer"
	PowerUnchanged       Code = "power_unchanged"
	PowerLost            Code = "power_lost"
	ServerNotBooting     Code = "server_not_booting"
	HardwareUnhealthy    Code = "hardware_unhealthy"
	BootDeviceRefused    Code = "boot_device_refused"
	BMCPasswordRefused   Code = "bmc_password_refused"
	SubscriptionNotFound Code = "subscription_not_found"
	VirtualMediaRefused  Code = "virtual_media_refused"
	BIOSSettingRefused   Code = "bios_setting_refused"
	BIOSSettingIgnored   Code = "bios_setting_ignored"
	RAIDRefused          Code = "raid_refused"
	FirmwareRefused      Code = "firmware_refused"
	FirmwareFailed       Code = "firmware_update_failed"
	FirmwareUnchanged    Code = "firmware_unchanged"
	FirmwareImageBad     Code = "firmware_image_unusable"
	StepArgumentWrong    Code = "step_argument_wrong"
	BootModeRefused      Code = "boot_mode_refused"
	IndicatorRefused     Code = "indicator_refused"

	MediumNotRead      Code = "medium_not_read"
	NetworkNotAsked    Code = "network_boot_not_asked"
	RamdiskUnusable    Code = "ramdisk_unusable"
	AgentNeverCalled   Code = "agent_never_called"
	AgentTokenTaken    Code = "agent_token_taken"
	AgentSilent        Code = "agent_silent"
	AgentGone          Code = "agent_gone"
	AgentRebooted      Code = "agent_rebooted"
	AgentBusy          Code = "agent_busy"
	AgentNotTrusted    Code = "agent_certificate_not_trusted"
	AgentRefuses       Code = "agent_refuses"
	AgentCommandFailed Code = "agent_command_failed"
	InspectionFailed   Code = "inspection_failed"

	ImageDigestDiffers Code = "image_digest_differs"
	ImageUnreachable   Code = "image_unreachable"
	ImageServerSlow    Code = "image_server_slow"
	ImageCacheFull     Code = "image_cache_full"
	ImageNotTrusted    Code = "image_certificate_not_trusted"
	ImageFormatWrong   Code = "image_format_wrong"
	ImageWriteFailed   Code = "image_write_failed"
	DiskNotErased      Code = "disk_not_erased"
	DiskTooSmall       Code = "disk_too_small"
	NoDiskFits         Code = "no_disk_fits"
	ConfigDriveInvalid Code = "config_drive_invalid"

	SecretUnreadable   Code = "secret_unreadable"
	ConductorsDied     Code = "conductors_died"
	ConductorDied      Code = "conductor_died"
	StepsTimedOut      Code = "steps_timed_out"
	NobodyUnheld       Code = "nobody_unheld"
	WorkflowTerminated Code = "workflow_terminated"
	WorkflowTimedOut   Code = "workflow_timed_out"
	WorkflowLost       Code = "workflow_lost"

	CancelledByPerson Code = "cancelled"
	AbortedByPerson   Code = "aborted"
	EndedByForce      Code = "ended_by_force"
)

// ofFailures are the rows of what work on a node fails of, beside those of ofRequests that are causes, and
// of who ended it.
var ofFailures = []CodeRow{
	{
		Code: BMCSilent, Can: []Do{ProbeBMC, SetAddress}, Kind: Unreachable, Cause: true, Reach: true, Meaning: "The BMC does not answer.",
		Advise: "Check the BMC's power, network and address in driver_info; if it hangs, it needs a cold reset. An operation that waits for it goes on by itself.",
		Fields: []string{"driver_info/redfish_address", "driver_info/ipmi_address"},
	},
	{
		Code: BMCWrongPassword, Can: []Do{SetPassword}, Kind: Denied, Cause: true, Reach: true, Meaning: "The BMC refuses the user name or the password.",
		Advise: "Set the right password, then retry; if the account is locked, unlock it at the BMC. Temper tries a refused password again only after a minute.",
		Fields: []string{"driver_info/redfish_username", "driver_info/redfish_password"},
	},
	{
		Code: BMCNotTrusted, Can: []Do{TrustBMC}, Kind: Untrusted, Cause: true, Reach: true, Meaning: "The certificate of the BMC does not verify.",
		Advise: "Give the BMC a certificate for the name in redfish_address, or set redfish_verify_ca to the file of its authority, together with the password.", Then: thenRetry,
		Fields: []string{"driver_info/redfish_verify_ca", "driver_info/redfish_address"},
	},
	{
		Code: BMCWrongAddress, Can: []Do{SetAddress}, Kind: Refused, Cause: true, Reach: true, Meaning: "There is no Redfish service at the BMC's address, or it does not have this system.",
		Advise: "Set redfish_address to the BMC's own address, without a path, and redfish_system_id if the BMC has several systems. The password must be given again with a new address.", Then: thenRetry,
		Fields: []string{"driver_info/redfish_address", "driver_info/redfish_system_id"},
	},
	{
		Code: BMCSettingsInvalid, Can: []Do{ValidateNode}, Kind: Invalid, Cause: true, Reach: true, Meaning: "A field of driver_info that says how to reach the BMC is missing or wrong.",
		Advise: "Set what the error names; docs/drivers.md lists the fields of each driver.", Then: thenRetry,
		Fields: []string{"driver_info"},
	},
	{
		Code: BMCRefuses, Kind: Refused, Cause: true, Meaning: "The BMC refuses a request. The error has the BMC's words.",
		Advise: "Mend what the error names. Often it is a licence, a right of the BMC's user, or firmware that lacks the function.", Then: thenRetry,
	},
	{
		Code: BMCBusy, Kind: Busy, Cause: true, Meaning: "The BMC has answered \"try again later\" for too long.",
		Advise: "The server may be in its self-test, or its firmware is being updated. Wait until that is over; bmc_busy_timeout says how long Temper waits by itself.", Then: thenRetry,
	},
	{
		Code: BMCBadAnswer, Kind: Unreachable, Cause: true, Meaning: "The BMC answers, but with an error of its own or with something that can't be read.",
		Advise: "Open redfish_address: a proxy or another device may answer there. If it is the BMC, reset or update it.", Then: thenRetry,
		Fields: []string{"driver_info/redfish_address"},
	},
	{
		Code: PowerUnchanged, Kind: Unreachable, Cause: true, Meaning: "A power request had no effect: the power state did not change in time.",
		Advise: "If the error says that the BMC has not answered the request, reset the BMC. Else look at the power supplies, the BMC's log, and power_timeout.", Then: thenRetry, Fields: []string{"power_state"},
	},
	{
		Code: PowerLost, Kind: Unreachable, Cause: true, Meaning: "The server's power changed although nobody asked Temper for that.",
		Advise: "Find out who or what switched it: a person, another program, a power policy of the BMC, or a failed power supply.", Then: thenRetry, Fields: []string{"power_state"},
	},
	{
		Code: ServerNotBooting, Kind: Refused, Cause: true, Meaning: "The BMC shows the server on, but the server does not begin to boot, also after it was switched off and on again.",
		Advise: "Look at the server's console and the BMC's log; often the server needs a minute without power. If its memory test takes long, raise boot_timeout.", Then: thenRetry, Fields: []string{"power_state"},
	},
	{
		Code: HardwareUnhealthy, Can: []Do{ShowHealth}, Kind: Refused, Cause: true, Meaning: "The BMC says that the health of the server is critical.",
		Advise: "Replace or mend the parts that are wrong. If unhealthy_nodes is withheld, the node is offered again when the BMC says something better.",
	},
	{
		Code: BIOSSettingRefused, Kind: Refused, Cause: true, Meaning: "The BMC refuses a BIOS setting. The error names it.",
		Advise: "Compare the name and the value with the list of the node's BIOS settings, which has the values that the BMC allows. Some settings need another one first.", Then: thenRetry,
	},
	{
		Code: BIOSSettingIgnored, Kind: Refused, Cause: true, Meaning: "The BMC has accepted a BIOS setting, and after the boot it has another value.",
		Advise: "Look at the BMC's log and at the server's console. Often the setting depends on another one, or the server ended its boot before it applied it.", Then: thenRetry,
	},
	{
		Code: FirmwareRefused, Kind: Refused, Cause: true, Meaning: "The BMC refuses an update of firmware. The error has its words.",
		Advise: "Look whether the BMC can fetch the URL, and whether its licence and its user's rights allow updates.", Then: thenRetry,
	},
	{
		Code: FirmwareFailed, Kind: Refused, Cause: true, Meaning: "The BMC's task for an update of firmware has failed, or has not ended in time.",
		Advise: "The error has the BMC's words. Often the image is for another machine, or needs another version first.", Then: thenRetry,
	},
	{
		Code: FirmwareImageBad, Kind: Invalid, Cause: true, Meaning: "The image of firmware that a step names can't be fetched, or has another checksum than the step says.",
		Advise: "Fetch the step's url from a conductor's host and compare the checksum. If url or checksum are wrong, ask for the step again with the right ones.", Then: thenRetry,
	},
	{
		Code: StepArgumentWrong, Kind: Invalid, Cause: true, Meaning: "An argument of a step is wrong, or names what the server does not have.",
		Advise: "The error names the argument and what is wrong with it. Ask for the step again with another value.",
	},
	{
		Code: FirmwareUnchanged, Kind: Refused, Cause: true, Holds: true, Meaning: "The BMC has accepted an update of firmware, and the version is the same as before.",
		Advise: "The image may have the installed version, or the server may need a moment without power. A retry looks at the version first, then sends the update again.",
	},
	{
		Code: BMCPasswordRefused, Kind: Refused, Cause: true, Meaning: "The BMC does not take the new password that Temper has made for its account.",
		Advise: "The error has the BMC's words. Temper keeps the password that the BMC takes; docs/secrets.md says which passwords it makes.", Then: thenRetry,
		Fields: []string{"driver_info/redfish_password"},
	},
	{
		Code: BootDeviceRefused, Kind: Refused, Cause: true, Meaning: "The BMC does not take the boot device.",
		Advise: "Check that the server can boot from a virtual CD in its boot mode, and that no setup password or boot lock is set.", Then: thenRetry,
		Fields: []string{"properties/capabilities", "boot_mode"},
	},
	{
		Code: SubscriptionNotFound, Kind: NotFound, Cause: true, Meaning: "The BMC has no event subscription with this id.",
		Advise: "List the subscriptions (get_all_subscriptions). A BMC may forget its subscriptions when it restarts or when their destination does not answer; create it anew.",
	},
	{
		Code: VirtualMediaRefused, Kind: Refused, Cause: true, Meaning: "The BMC does not take the virtual medium.",
		Advise: "Check that the BMC reaches the URL of the boot ISO, and that its virtual media are licensed and enabled. Eject a medium of somebody else.", Then: thenRetry,
		Fields: []string{"driver_info/deploy_iso"},
	},
	{
		Code: BootModeRefused, Kind: Refused, Cause: true, Meaning: "The BMC does not take the boot mode, or the state of Secure Boot.",
		Advise: "Check which boot modes the server has; an iLO changes its mode only as the BIOS setting BootMode. Secure Boot needs the boot mode uefi.", Then: thenRetry,
	},
	{
		Code: IndicatorRefused, Kind: Invalid, Cause: true, Meaning: "The server has no such light, or the BMC does not switch it.",
		Advise: "List the lights of the node and their states (GET /v1/nodes/N/management/indicators).",
	},
	{
		Code: RAIDRefused, Kind: Refused, Cause: true, Meaning: "The BMC did not make or delete a volume as it was asked.",
		Advise: "Compare target_raid_config with the drives and RAID levels that the controller has. Many controllers work only while the server is on, and need a mode with RAID.", Then: thenRetry,
	},

	{
		Code: RamdiskUnusable, Kind: Refused, Cause: true, Meaning: "The API can't make a CD of the kernel and the ramdisk that the node or a setting names.",
		Advise: "The error says what is wrong with which file. Check deploy_kernel and deploy_ramdisk, and that the API reaches them.", Then: thenRetry,
		Fields: []string{"driver_info/deploy_kernel", "driver_info/deploy_ramdisk"},
	},
	{
		Code: MediumNotRead, Can: []Do{ShowConsole}, Kind: Refused, Cause: true, Meaning: "The server was switched on, and nothing has read the CD that Temper makes for it.",
		Advise: "Check that the BMC reaches media_url, which the validation of the node shows. Look at the server's console: it may boot from something else, or test its memory for longer than boot_timeout.", Then: thenRetry,
		Fields: []string{"driver_info/external_http_url"},
	},
	{
		Code: NetworkNotAsked, Can: []Do{ShowConsole, ShowPorts}, Kind: Refused, Cause: true, Meaning: "The server was switched on, and has asked for nothing that Temper serves for its boot by network.",
		Advise: "Check that DHCP brings the server to iPXE and iPXE to temper boot, and that its MAC address is a port of the node. Look at the server's console.", Then: thenRetry,
	},
	{
		Code: AgentNeverCalled, Can: []Do{ShowConsole, ShowPorts}, Kind: Unreachable, Cause: true, Meaning: "The server was booted, and the agent did not call in time.",
		Advise: "Look at the server's console: the ramdisk must boot, get an address and reach the API. Check deploy_iso, or agent_url and agent_ca, and the MAC address of the node's port.", Then: thenRetry,
		Fields: []string{"driver_info/deploy_iso"},
	},
	{
		Code: AgentTokenTaken, Kind: Unreachable, Cause: true, Meaning: "Another machine looked itself up as this node before the agent did, and got the agent's token.",
		Advise: "Find out what has the address in the error, and keep it out with agent_networks. With media_url the token is on a CD, and no lookup returns it.", Then: thenRetry,
	},
	{
		Code: AgentSilent, Can: []Do{ShowConsole}, Kind: Unreachable, Cause: true, Meaning: "The agent called, and now answers no request.",
		Advise: "Look at the server's console. The ramdisk may have crashed or may hang, or a firewall may let the agent call Temper, but not let Temper call the agent.", Then: thenRetry,
	},
	{
		Code: AgentGone, Kind: Unreachable, Cause: true, Meaning: "The agent is gone: the server was switched off or restarted while the operation needed it.",
		Advise: "Find out who switched it.", Then: "Then retry, which boots the agent again.", Fields: []string{"power_state"},
	},
	{
		Code: AgentRebooted, Kind: Refused, Cause: true, Meaning: "The agent was rebooted while it ran a command, and the result is lost.",
		Advise: "Look at the server's console and hardware log: it may have crashed or run out of memory.", Then: thenRetry,
	},
	{
		Code: AgentBusy, Kind: Busy, Cause: true, Meaning: "The agent was busy with something else for too long.",
		Advise: "Look at the server's console: it may show what the agent is doing.", Then: thenRetry,
	},
	{
		Code: AgentNotTrusted, Kind: Untrusted, Cause: true, Meaning: "The certificate of the agent does not verify.",
		Advise: "The address that the agent called from may belong to another machine by now, or a proxy is in between. Retry, which boots the agent again.",
	},
	{
		Code: AgentRefuses, Can: []Do{ShowLogs}, Kind: Refused, Cause: true, Meaning: "The agent refuses a request, or answers with something that can't be used.",
		Advise: "The error has the agent's words. Check that the ramdisk's version fits.", Then: thenRetry,
	},
	{
		Code: AgentCommandFailed, Can: []Do{ShowLogs}, Kind: Refused, Cause: true, Meaning: "A command of the agent failed. The error has the agent's words.",
		Advise: "Mend what the error names. If it names a disk or another device, look at the server's hardware log.", Then: thenRetry,
	},
	{
		Code: InspectionFailed, Kind: Refused, Cause: true, Meaning: "The agent could not inspect the server, or its inventory can't be used.",
		Advise: "The error has the agent's words. Mend what it names, then inspect the node again.",
	},

	{
		Code: ImageDigestDiffers, Can: []Do{SetDigest}, Kind: Refused, Cause: true, Meaning: "The image that was fetched has another digest than instance_info says.",
		Advise: "If the digest in instance_info is wrong, set the right one. If it is right, the image on the server is another one or is damaged: put the right one there.", Then: thenRetry,
		Fields: []string{"instance_info/image_os_hash_value", "instance_info/image_checksum", "instance_info/image_source"},
	},
	{
		Code: ImageUnreachable, Can: []Do{SetImage}, Kind: Refused, Cause: true, Meaning: "The image or its checksum file can't be fetched.",
		Advise: "Fetch the URL from the network of the servers: the image server must run, and need no password. Set image_source if the path is wrong.", Then: thenRetry,
		Fields: []string{"instance_info/image_source", "instance_info/image_checksum"},
	},
	{
		Code: ImageServerSlow, Can: []Do{SetImage}, Kind: Refused, Cause: true, Meaning: "The image server sends too slowly, or stopped in the middle of the image.",
		Advise: "Look at the load of the image server and of the network between it and the servers, or use another one.", Then: thenRetry,
		Fields: []string{"instance_info/image_source"},
	},
	{
		Code: ImageCacheFull, Can: []Do{SetImage}, Kind: Refused, Cause: true, Meaning: "Temper has no room for the image that it is to serve to the agent.",
		Advise: "Raise image_cache_gib of temper boot, or make room on the disk of image_cache. Images that no agent reads are removed by themselves.", Then: thenRetry,
		Fields: []string{"instance_info/image_source"},
	},
	{
		Code: ImageNotTrusted, Can: []Do{SetImage}, Kind: Untrusted, Cause: true, Meaning: "The certificate of the image server does not verify.",
		Advise: "Give the image server a certificate that verifies, or use another address of it.", Then: thenRetry,
		Fields: []string{"instance_info/image_source"},
	},
	{
		Code: ImageFormatWrong, Can: []Do{SetFormat}, Kind: Invalid, Cause: true, Meaning: "The image is in a format that can't be deployed, or in another one than instance_info says.",
		Advise: "Set image_disk_format to the image's format, raw or qcow2, or remove it. Convert an image of another format with qemu-img.", Then: thenRetry,
		Fields: []string{"instance_info/image_disk_format", "instance_info/image_source"},
	},
	{
		Code: ImageWriteFailed, Can: []Do{ShowLogs}, Kind: Refused, Cause: true, Meaning: "The agent could not write the image to the disk.",
		Advise: "Look at the disk and the hardware log: a disk that fails on writing has to be replaced.", Then: thenRetry,
		Fields: []string{"properties/root_device"},
	},
	{
		Code: DiskNotErased, Can: []Do{ShowLogs}, Kind: Refused, Cause: true, Meaning: "The agent could not erase a disk.",
		Advise: "The error names the disk and the reason. Thaw, unlock or replace the disk, or set continue_if_disk_secure_erase_fails of the conductors to have it overwritten.", Then: thenRetry,
	},
	{
		Code: DiskTooSmall, Can: []Do{SetImage, ShowInventory, SetRootDevice}, Kind: Refused, Cause: true, Meaning: "The image does not fit on the disk, or not into the ramdisk's memory.",
		Advise: "Use a smaller image, or a larger disk with the root device hints. A qcow2 image that does not fit into memory can be given as a raw one, which is streamed to the disk.", Then: thenRetry,
		Fields: []string{"instance_info/image_source", "properties/root_device", "instance_info/root_device"},
	},
	{
		Code: NoDiskFits, Can: []Do{ShowInventory, SetRootDevice}, Kind: Refused, Cause: true, Meaning: "The server has no disk that fits the root device hints, or none at all.",
		Advise: "Compare the hints with the disks in the node's inventory, which has their serial numbers. Set the hints, or mend the disk or its controller.", Then: thenRetry,
		Fields: []string{"properties/root_device", "instance_info/root_device"},
	},
	{
		Code: ConfigDriveInvalid, Kind: Invalid, Cause: true, Meaning: "The config drive can't be used.",
		Advise: "Deploy again with a config drive that is an object, a base64 encoded ISO, or the URL of one.",
		Fields: []string{"instance_info/configdrive"},
	},

	{
		Code: SecretUnreadable, Kind: Internal, Cause: true, Meaning: "A stored secret can't be decrypted.",
		Advise: "Start the conductors and the orchestrators with the same keyset as the API. If the secret was given for another address, or the keys are lost, give it again.", Then: thenRetry,
		Fields: []string{"driver_info"},
	},
	{
		Code: ConductorsDied, Can: []Do{ListConductors}, Kind: Refused, Cause: true, Meaning: "Several conductors in a row died during the same step.",
		Advise: "Look at the ends of their logs, and at the memory of their hosts: an answer of this BMC or agent may crash them. Retry when the reason is known.",
	},
	{
		Code: ConductorDied, Kind: Refused, Cause: true, Meaning: "The conductor died while the node was in maintenance, and then no other conductor may continue the step.",
		Advise: "End the maintenance.", Then: thenRetry,
		Fields: []string{"maintenance"},
	},
	{
		Code: StepsTimedOut, Kind: Refused, Cause: true, Meaning: "All steps together took longer than they may.",
		Advise: "Look at the operation for the step that took so long, and at the server's console.", Then: thenRetry,
	},
	{
		Code: NobodyUnheld, Kind: Refused, Cause: true, Meaning: "A hold step waited for somebody to unhold the node, and nobody did in time.",
		Advise: "Retry the operation, and unhold the node when it may go on.",
	},
	{
		Code: WorkflowTerminated, Kind: Refused, Cause: true, Meaning: "Somebody terminated the operation's workflow in Temporal, or it ended there in another way before the operation did.",
		Advise: "Temporal shows who terminated it, and reconciliation undoes what is half done; retry if the work is still wanted. To end an operation, cancel it instead.",
	},
	{
		Code: WorkflowTimedOut, Kind: Refused, Cause: true, Meaning: "The operation's workflow timed out in Temporal.",
		Advise: "Check that orchestrators run. What was half done is undone by reconciliation.", Then: thenRetry,
	},
	{
		Code: WorkflowLost, Kind: Refused, Cause: true, Meaning: "Temporal does not know the operation's workflow any more.",
		Advise: "Temporal has lost data, was restored from an older copy, or Temper uses another namespace now. What was half done is undone by reconciliation.", Then: thenRetry,
	},

	{
		Code: CancelledByPerson, Kind: Refused, Cause: true, Meaning: "Somebody cancelled the operation.",
		Advise: "Retry the operation if the work is still wanted. Its record says who cancelled it, and why, if a name and a reason were given.",
	},
	{
		Code: AbortedByPerson, Kind: Refused, Cause: true, Meaning: "Somebody cancelled the operation after the step that ran, or while it held for a decision (abort).",
		Advise: "Retry the operation if the work is still wanted. Its record says who cancelled it, and why, if a name and a reason were given.",
	},
	{
		Code: EndedByForce, Kind: Refused, Cause: true, Meaning: "Somebody took the node from the operation by force.",
		Advise: "The node's history says who and why, and reconciliation undoes what is half done. Retry the operation if the work is still wanted.",
	},
}
