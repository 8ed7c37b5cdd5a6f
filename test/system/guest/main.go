// Command guest is the program of an operating system that tests deploy: a ramdisk has it in place of the agent, on a disk that boots by
// UEFI. It starts the software RAID that is on the disks, reads the config drive, posts what it has read to the URL in its user data, and switches the machine off.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"go.temper.dev/temper/internal/agent/softraid"
)

// configDrive are the files of a config drive, by their paths.
type configDrive map[string]string

func main() {
	fmt.Println("guest: the deployed system has booted")
	if err := run(); err != nil {
		fmt.Println("guest:", err)
		time.Sleep(time.Minute) // a person may read it
	}
	unix.Sync()
	_ = unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF) // the machine is gone, or its watchdog ends it
}

func run() error {
	if err := startRAID(); err != nil {
		return err
	}
	drive, err := find()
	if err != nil {
		return err
	}
	body, err := json.Marshal(drive)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for { // the network comes up meanwhile
		err := post(ctx, strings.TrimSpace(drive["openstack/latest/user_data"]), body)
		if err == nil || ctx.Err() != nil {
			return err
		}
		time.Sleep(time.Second)
	}
}

// startRAID starts the arrays of Temper on the disks, and has the kernel look for partitions on them.
func startRAID() error {
	arrays, err := softraid.Host{Root: "/"}.Arrays(context.Background())
	for _, a := range arrays {
		fmt.Printf("guest: %s has %d disks\n", a.Name, len(a.Members))
		f, err := os.Open(a.Name)
		if err != nil {
			return err
		}
		_ = unix.IoctlSetInt(int(f.Fd()), unix.BLKRRPART, 0) // it has been read then, or is in use
		_ = f.Close()
	}
	return err
}

func post(ctx context.Context, url string, body []byte) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	return answer.Body.Close()
}

// find reads the config drive, which is the partition that is a CD with the label config-2.
func find() (configDrive, error) {
	parts, err := filepath.Glob("/sys/class/block/*/partition")
	if err != nil {
		return nil, err
	}
	for _, p := range parts {
		device := "/dev/" + filepath.Base(filepath.Dir(p))
		if labelOf(device) == "config-2" {
			return read(device)
		}
	}
	return nil, fmt.Errorf("none of the partitions %v is a config drive", parts)
}

// labelOf is the label of a CD (ECMA-119 8.4.7); "" = the device is none.
func labelOf(device string) string {
	f, err := os.Open(device)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	b := make([]byte, 72)
	if _, err := f.ReadAt(b, 16*2048); err != nil || string(b[1:6]) != "CD001" {
		return ""
	}
	return strings.TrimRight(string(b[40:72]), " \x00")
}

func read(device string) (configDrive, error) {
	const at = "/run/config"
	if err := os.MkdirAll(at, 0o755); err != nil {
		return nil, err
	}
	if err := unix.Mount(device, at, "iso9660", unix.MS_RDONLY, ""); err != nil {
		return nil, fmt.Errorf("mount the config drive: %w", err)
	}
	drive := configDrive{}
	err := filepath.WalkDir(at, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		drive[strings.TrimPrefix(path, at+"/")] = string(b)
		return err
	})
	return drive, err
}
