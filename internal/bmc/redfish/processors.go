package redfish

import (
	"context"
	"slices"
	"strings"

	"github.com/stmcginnis/gofish/schemas"

	"go.temper.dev/temper/internal/bmc"
)

type processor struct {
	ID                    looseString `json:"Id"`
	Name                  looseString
	Socket                looseString
	ProcessorType         looseString
	ProcessorArchitecture loose[schemas.ProcessorArchitecture]
	InstructionSet        loose[schemas.InstructionSet]
	Manufacturer          looseString
	Model                 looseString
	SerialNumber          looseString
	FirmwareVersion       looseString
	TotalCores            looseNumber
	TotalThreads          looseNumber
	MaxSpeedMHz           looseNumber
	MemorySummary         loose[struct{ TotalMemorySizeMiB looseNumber }]
	Status                loose[status]
}

// Linux's names of architectures, which Ironic has in properties.cpu_arch.
var (
	archByInstructionSet = map[schemas.InstructionSet]string{
		schemas.X8664InstructionSet: "x86_64", schemas.X86InstructionSet: "i686",
		schemas.ARMA64InstructionSet: "aarch64", schemas.ARMA32InstructionSet: "armv7l",
		schemas.PowerISAInstructionSet: "ppc64le", schemas.IA64InstructionSet: "ia64",
		schemas.RV64InstructionSet: "riscv64", schemas.RV32InstructionSet: "riscv32",
		schemas.MIPS64InstructionSet: "mips64", schemas.MIPS32InstructionSet: "mips",
	}
	archByProcessor = map[schemas.ProcessorArchitecture]string{
		schemas.X86ProcessorArchitecture: "x86_64", schemas.ARMProcessorArchitecture: "aarch64",
		schemas.PowerProcessorArchitecture: "ppc64le", schemas.IA64ProcessorArchitecture: "ia64",
		schemas.RISCVProcessorArchitecture: "riscv64", schemas.MIPSProcessorArchitecture: "mips64",
	}
)

// readProcessors sets the CPUs and those GPUs that are listed among them. The number of logical processors, else cores, of all
// sockets is used if the summary did not have it, and the summary's model only if no processor has one, because some BMCs put
// only the manufacturer there. Model and architecture are those of the first processor that has them.
func (in *inspection) readProcessors(ctx context.Context) error {
	inv, sum := &in.inv, in.sys.ProcessorSummary.v
	var threads, cores looseNumber
	err := each(ctx, in.session, in.sys.Processors, func(p processor) {
		switch {
		case p.Status.v.absent():
			return
		case p.accelerates():
			in.addGPU(p)
			return
		case p.ProcessorType != "" && p.ProcessorType != looseString(schemas.CPUProcessorType):
			return
		}
		inv.Processors = append(inv.Processors, p.cpu())
		threads += p.TotalThreads
		cores += p.TotalCores
		if inv.CPUModel == "" {
			inv.CPUModel = p.Model.stored()
		}
		if inv.Architecture == "" {
			inv.Architecture = archByInstructionSet[p.InstructionSet.v]
		}
		if inv.Architecture == "" {
			inv.Architecture = archByProcessor[p.ProcessorArchitecture.v]
		}
	})
	if inv.CPUModel == "" {
		inv.CPUModel = sum.Model.stored()
	}
	for _, n := range []looseNumber{threads, sum.CoreCount, cores} {
		if inv.CPUs == 0 {
			inv.CPUs = int(n)
		}
	}
	return err
}

func (p processor) cpu() bmc.Processor {
	return bmc.Processor{
		Socket: firstNonBlank(p.Socket.short(), p.ID.short()), Model: p.Model.short(), Serial: p.SerialNumber.short(),
		Cores: int(p.TotalCores), Threads: int(p.TotalThreads), MHz: int(p.MaxSpeedMHz),
	}
}

// accelerates reports whether the processor is a GPU or another accelerator.
func (p processor) accelerates() bool {
	return p.ProcessorType == looseString(schemas.GPUProcessorType) || p.ProcessorType == looseString(schemas.AcceleratorProcessorType)
}

func (in *inspection) addGPU(p processor) {
	in.inv.GPUs = append(in.inv.GPUs, bmc.GPU{
		Name: firstNonBlank(p.ID.short(), p.Name.short()), Model: p.Model.short(), Manufacturer: p.Manufacturer.short(), Serial: p.SerialNumber.short(),
		Firmware: p.FirmwareVersion.short(), MemoryMiB: int64(p.MemorySummary.v.TotalMemorySizeMiB),
	})
}

// readGPUs adds the GPUs that are not among the system's processors: those of a GPU board, which is another system of the same BMC,
// and if there are none, the PCI devices that are accelerators by their class.
func (in *inspection) readGPUs(ctx context.Context) error {
	if in.quirks.gpuBoard {
		if err := in.readBoards(ctx); err != nil {
			return err
		}
	}
	if len(in.inv.GPUs) > 0 || slices.Contains(in.inv.Incomplete, bmc.PartGPUs) {
		return nil
	}
	for _, d := range in.byClass {
		in.inv.GPUs = append(in.inv.GPUs, bmc.GPU{Name: d.Name, Model: d.Model, Manufacturer: d.Manufacturer, Serial: d.Serial, Firmware: d.Firmware})
	}
	return nil
}

// hgxPrefix begins the Id of NVIDIA's GPU boards.
const hgxPrefix = "HGX_"

func (in *inspection) readBoards(ctx context.Context) error {
	root, err := in.endpoint.serviceRoot(ctx)
	if err != nil {
		return err
	}
	systems, err := in.tryMembers(ctx, bmc.PartGPUs, root.Systems)
	if err != nil {
		return err
	}
	for _, path := range systems {
		if path == in.path || !strings.HasPrefix(path[strings.LastIndexByte(path, '/')+1:], hgxPrefix) {
			continue
		}
		var board system
		ok, err := tryRead(ctx, in, bmc.PartGPUs, path, &board)
		if err != nil {
			return err
		}
		if !ok {
			in.unread(bmc.PartGPUs)
			continue
		}
		processors, err := in.tryMembers(ctx, bmc.PartGPUs, board.Processors)
		if err != nil {
			return err
		}
		err = tryEach(ctx, in, bmc.PartGPUs, processors, func(p processor) {
			if p.accelerates() && !p.Status.v.absent() {
				in.addGPU(p)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}
