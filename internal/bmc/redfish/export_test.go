package redfish

// WithoutQuirk returns c for a driver that does not know the row of that name.
func WithoutQuirk(c Config, name string) Config {
	c.withoutQuirk = name
	return c
}
