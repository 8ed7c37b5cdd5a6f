"""Drives one BMC with python3-sushy and prints what it understood as JSON."""
import json
import sys
import time

import sushy

address, user, password, image = sys.argv[1:5]
root = sushy.Sushy(address, auth=sushy.auth.SessionAuth(user, password))
system = root.get_system("/redfish/v1/Systems/1")
storage = system.storage.get_members()[0]
manager = system.managers[0]
out = {
    "redfish": root.redfish_version,
    "uuid": system.uuid,
    "manufacturer": system.manufacturer,
    "power": system.power_state.value,
    "memory_gib": system.memory_summary.size_gib,
    "cpus": system.processors.summary.count,
    "cpu_models": [p.model for p in system.processors.get_members()],
    "macs": sorted(system.ethernet_interfaces.summary),
    "disks": storage.drives_sizes_bytes,
    "boot_targets": sorted(v.value for v in system.get_allowed_system_boot_source_values()),
    "resets": sorted(v.value for v in system.get_allowed_reset_system_values()),
    "manager": manager.firmware_version,
    "bios": system.bios.attributes,
}


def wait_for(state):
    for _ in range(400):
        system.invalidate()
        system.refresh()
        if system.power_state == state:
            return
        time.sleep(0.05)
    sys.exit("never %s" % state)


cd = manager.virtual_media.get_members()[0]
cd.insert_media(image)
cd.invalidate()
cd.refresh()
out["media"] = [cd.inserted, cd.image]
system.bios.set_attribute("ProcTurboMode", "Disabled")
system.set_system_boot_options(
    sushy.BOOT_SOURCE_TARGET_CD, sushy.BOOT_SOURCE_ENABLED_ONCE, sushy.BOOT_SOURCE_MODE_UEFI)
system.refresh()
out["boot_before"] = [system.boot.target.value, system.boot.enabled.value]
system.reset_system(sushy.RESET_ON)
wait_for(sushy.POWER_STATE_ON)
out["boot_after"] = [system.boot.target.value, system.boot.enabled.value]
system.bios.invalidate()
system.bios.refresh()
out["bios_after"] = system.bios.attributes["ProcTurboMode"]
cd.eject_media()
cd.invalidate()
cd.refresh()
out["ejected"] = not cd.inserted
system.reset_system(sushy.RESET_FORCE_OFF)
wait_for(sushy.POWER_STATE_OFF)
print(json.dumps(out))
