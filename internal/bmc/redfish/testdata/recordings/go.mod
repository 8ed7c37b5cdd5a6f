// The modules whose published answers of BMCs the tests of the driver read. Nothing is imported from them.
module go.temper.dev/temper/internal/bmc/redfish/testdata/recordings

go 1.26.0

require github.com/bmc-toolbox/bmclib/v2 v2.3.5
