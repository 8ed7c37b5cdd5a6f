package node

// Values of image_download_source of an instance, a node or the settings, as in Ironic.
const (
	ImageFromSource = "http"  // the agent fetches the image from image_source
	ImageFromTemper = "local" // the agent fetches it from Temper, which fetches it once
)
